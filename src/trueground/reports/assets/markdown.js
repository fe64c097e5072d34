/* The Markdown of an answer or a passage as DOM nodes: headings, lists, tables, quotes, code, bold, italic, links.

   Only what is clearly markup is read as such; all else stays text, HTML too. Images are named and never loaded.
   `leaf(from, to)` makes the nodes of a stretch of the text, counted in code points, with the marks that lie in it:
   claims and evidence keep their places. Work grows with the length of the text, whatever it holds. */
TG.markdown = (() => {
  const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/u;
  const HEADING = /^ {0,3}#{1,6}[ \t]+(?=\S)/u;
  const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/u;
  const ITEM = /^([ \t]*)([-*+•]|\d{1,9}[.)])[ \t]+(?=\S)/u;
  const QUOTE = /^ {0,3}> ?/u;
  const DELIMITERS = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/u;
  const ESCAPED = new Set("\\`*_{}[]()#+-.!|~>");
  const MOST_NESTED = 20;  // marks within one another
  const MOST_URL = 2_000;  // code points of a link's address
  const MOST_LEVELS = 5;  // of lists

  function element(tag, attributes, children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /* ---- within a paragraph ---- */

  const isSpace = (point) => point === undefined || /\s/u.test(point);
  const isWord = (point) => point !== undefined && /[A-Za-z0-9]/u.test(point);

  /* Where runs of backticks of each length begin, in order. */
  function backticks(points, from, to) {
    const runs = new Map();
    for (let at = from; at < to; at++) {
      if (points[at] !== "`") continue;
      const begin = at;
      while (at < to && points[at] === "`") at++;
      const length = at - begin;
      if (!runs.has(length)) runs.set(length, { places: [], next: 0 });
      runs.get(length).places.push(begin);
    }
    return runs;
  }

  /* The address in `](address "title")`, of which `at` is the first place; null where there is none. */
  function addressAt(points, at, to) {
    let depth = 0;
    for (let k = at; k < to && k < at + MOST_URL && points[k] !== "\n"; k++) {
      if (points[k] === "(") depth++;
      else if (points[k] === ")" && depth-- === 0) return { url: points.slice(at, k).join("").trim().split(/\s/u)[0], end: k + 1 };
    }
    return null;
  }

  function link(url, children, isImage) {
    if (isImage) return element("span", { class: "image", title: url || null }, ["image: ", ...children]);
    let found = null;
    try { found = new URL(url); } catch { /* an address without a scheme leads nowhere from here */ }
    if (!["http:", "https:"].includes(found?.protocol)) return element("span", { class: "inert", title: url || null }, children);
    return element("a", { href: found.href, title: found.href, rel: "noopener noreferrer nofollow", target: "_blank" }, children);
  }

  const TAGS = { "**": "strong", __: "strong", "*": "em", _: "em" };

  /* A tree of stretches [from, to] and nodes { tag … } between two places. */
  function readInline(points, from, to) {
    const root = { kind: null, parts: [] };
    const open = [root];
    const codes = backticks(points, from, to);
    let begin = from;  // of the text that is not in the tree yet
    const top = () => open.at(-1);
    const flush = (end) => { if (end > begin) top().parts.push([begin, end]); };
    /* What was no markup after all is text. */
    const flatten = () => {
      const frame = open.pop();
      top().parts.push([frame.at, frame.after], ...frame.parts);
    };
    const close = (place, end, made) => {
      flush(end);
      while (open.length - 1 > place) flatten();
      const { parts } = open.pop();
      top().parts.push({ ...made, parts });
    };
    const push = (kind, at, after) => {
      flush(at);
      open.push({ kind, at, after, parts: [] });
      begin = after;
    };
    const placeOf = (kind) => open.findLastIndex((frame) => frame.kind === kind);

    function emphasis(at) {
      const sign = points[at];
      const double = points[at + 1] === sign && at + 1 < to && !(top().kind === sign && points[at + 2] === sign);
      const kind = double ? sign + sign : sign;
      const after = at + kind.length;
      const place = placeOf(kind);
      const within = place > 0 && open[place].after < at;
      if (within && !isSpace(points[at - 1]) && !isWord(points[after])) {
        close(place, at, { tag: TAGS[kind] });
        begin = after;
      } else if (after < to && !isSpace(points[after]) && !(at > from && isWord(points[at - 1])) && open.length < MOST_NESTED) push(kind, at, after);
      return after;
    }

    function code(at) {
      let after = at;
      while (after < to && points[after] === "`") after++;
      const runs = codes.get(after - at);
      while (runs.next < runs.places.length && runs.places[runs.next] < after) runs.next++;
      if (runs.next === runs.places.length) return after;
      const end = runs.places[runs.next];
      flush(at);
      top().parts.push({ tag: "code", parts: [[after, end]] });
      return begin = end + after - at;
    }

    function bracket(at) {
      const place = open.findLastIndex((frame) => frame.kind === "[" || frame.kind === "![");
      const address = place > 0 && points[at + 1] === "(" ? addressAt(points, at + 2, to) : null;
      if (address) {
        close(place, at, { tag: "link", url: address.url, isImage: open[place].kind === "![" });
        return begin = address.end;
      }
      if (place > 0 && place === open.length - 1) { flush(at); flatten(); begin = at; }
      return at + 1;
    }

    for (let at = from; at < to;) {
      const point = points[at];
      if (point === "\\" && at + 1 < to && ESCAPED.has(points[at + 1])) { flush(at); begin = at + 1; at += 2; }
      else if (point === "`") at = code(at);
      else if (point === "*" || point === "_") at = emphasis(at);
      else if (point === "[" && open.length < MOST_NESTED) { push("[", at, at + 1); at++; }
      else if (point === "!" && points[at + 1] === "[" && open.length < MOST_NESTED) { push("![", at, at + 2); at += 2; }
      else if (point === "]") at = bracket(at);
      else if (point === "<" && /^<br ?\/?>/iu.test(points.slice(at, at + 6).join(""))) {
        flush(at);
        top().parts.push({ tag: "br", parts: [] });
        begin = at = points.indexOf(">", at) + 1;
      } else at++;
    }
    flush(to);
    while (open.length > 1) flatten();
    return root.parts;
  }

  /* The nodes of a tree. Stretches that touch are one, so that a mark over them is. */
  function materialize(parts, leaf) {
    const joined = [];
    for (const part of parts) {
      const last = joined.at(-1);
      if (Array.isArray(part) && Array.isArray(last) && last[1] === part[0]) joined[joined.length - 1] = [last[0], part[1]];
      else joined.push(part);
    }
    return joined.flatMap((part) => {
      if (Array.isArray(part)) return leaf(...part);
      const children = materialize(part.parts, leaf);
      return part.tag === "link" ? link(part.url, children, part.isImage) : element(part.tag, {}, children);
    });
  }

  /* ---- blocks ---- */

  function linesOf(points) {
    const lines = [];
    let from = 0;
    for (let at = 0; at <= points.length; at++) {
      if (at < points.length && points[at] !== "\n") continue;
      const to = at > from && points[at - 1] === "\r" ? at - 1 : at;
      const text = points.slice(from, to).join("");
      lines.push({ from, to, text, blank: !text.trim() });
      from = at + 1;
    }
    return lines;
  }

  /* Where the cells of a row begin and end, without the spaces around them. */
  function cellsOf(points, { from, to }) {
    const cells = [];
    let [begin, end] = [from, to];
    while (begin < end && isSpace(points[begin])) begin++;
    while (end > begin && isSpace(points[end - 1])) end--;
    if (points[begin] === "|") begin++;
    if (end > begin && points[end - 1] === "|" && points[end - 2] !== "\\") end--;
    for (let at = begin; at <= end; at++) {
      if (at < end && (points[at] !== "|" || points[at - 1] === "\\")) continue;
      let [low, high] = [begin, at];
      while (low < high && isSpace(points[low])) low++;
      while (high > low && isSpace(points[high - 1])) high--;
      cells.push([low, high]);
      begin = at + 1;
    }
    return cells;
  }

  const isTable = (points, lines, k) => lines[k].text.includes("|") && lines[k + 1]?.text.includes("|") && DELIMITERS.test(lines[k + 1].text)
    && cellsOf(points, lines[k]).length === cellsOf(points, lines[k + 1]).length;
  const begins = (points, lines, k) => [FENCE, HEADING, RULE, ITEM, QUOTE].some((one) => one.test(lines[k].text)) || isTable(points, lines, k);

  return (text, leaf) => {
    const points = Array.from(text);
    const lines = linesOf(points);
    const inline = (from, to) => materialize(readInline(points, from, to), leaf);
    const skip = (line, pattern) => line.from + Array.from(pattern.exec(line.text)?.[0] ?? "").length;
    const blocks = [];
    let k = 0;

    /* The lines from this one on that a block goes on with. */
    function rest(first) {
      let last = first;
      while (last + 1 < lines.length && !lines[last + 1].blank && !begins(points, lines, last + 1)) last++;
      return last;
    }

    function fence() {
      const [, marks] = FENCE.exec(lines[k].text);
      let last = k + 1;
      while (last < lines.length && !(lines[last].text.trim().startsWith(marks) && !lines[last].text.trim().slice(marks.length).replaceAll(marks[0], ""))) last++;
      const inside = lines.slice(k + 1, last);
      blocks.push(element("pre", {}, [element("code", {}, inside.length ? leaf(inside[0].from, inside.at(-1).to) : [])]));
      k = last + 1;
    }

    function table() {
      const row = (line, tag) => element("tr", {}, cellsOf(points, line).map(([from, to]) => element(tag, tag === "th" ? { scope: "col" } : {}, inline(from, to))));
      const head = row(lines[k], "th");
      const rows = [];
      for (k += 2; k < lines.length && !lines[k].blank && lines[k].text.includes("|"); k++) rows.push(row(lines[k], "td"));
      const made = element("table", {}, [element("thead", {}, [head]), element("tbody", {}, rows)]);
      blocks.push(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, [made]));
    }

    /* The numbers of items stay text: they may be what a claim is about. */
    function list() {
      const items = [];
      while (k < lines.length && ITEM.test(lines[k].text) && !RULE.test(lines[k].text)) {
        const [, indent, marker] = ITEM.exec(lines[k].text);
        const level = Math.min(MOST_LEVELS, Math.floor(indent.replaceAll("\t", "    ").length / 2));
        const last = rest(k);
        const begin = skip(lines[k], ITEM);
        const numbered = /\d/u.test(marker);
        const from = numbered ? lines[k].from + Array.from(indent).length : begin;
        items.push(element("li", { class: `level-${level}${numbered ? " numbered" : ""}` }, inline(from, lines[last].to)));
        k = last + 1;
        if (lines[k]?.blank && lines[k + 1] && ITEM.test(lines[k + 1].text)) k++;
      }
      blocks.push(element("ul", { class: "items" }, items));
    }

    function quote() {
      const quoted = [];
      for (; k < lines.length && QUOTE.test(lines[k].text); k++) quoted.push(element("p", {}, inline(skip(lines[k], QUOTE), lines[k].to)));
      blocks.push(element("blockquote", {}, quoted));
    }

    while (k < lines.length) {
      const line = lines[k];
      if (line.blank) k++;
      else if (FENCE.test(line.text)) fence();
      else if (HEADING.test(line.text)) { blocks.push(element("h4", {}, inline(skip(line, HEADING), line.to))); k++; }
      else if (RULE.test(line.text)) { blocks.push(element("hr", {}, [])); k++; }
      else if (isTable(points, lines, k)) table();
      else if (QUOTE.test(line.text)) quote();
      else if (ITEM.test(line.text)) list();
      else {
        const last = rest(k);
        blocks.push(element("p", {}, inline(line.from, lines[last].to)));
        k = last + 1;
      }
    }
    return blocks;
  };
})();

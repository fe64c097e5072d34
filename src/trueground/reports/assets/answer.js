/* One opened answer: its claims and citations beside the passages; a click leads from one to the other. */
TG.drawAnswer = (() => {
  const VERDICTS = {
    true: { name: "supported", words: "supported" },
    false: { name: "unsupported", words: "not supported" },
    null: { name: "unknown", words: "not checked" },
  };
  const FACTS = {
    true: { name: "supported", words: "stated" },
    false: { name: "unsupported", words: "missing" },
  };

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : value);
      }
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /* Offsets count code points, as Python does; JavaScript strings count UTF-16 units. */
  function pieces(text, spans) {
    const points = Array.from(text);
    const placed = spans.filter((span) => Number.isInteger(span.start) && Number.isInteger(span.end));
    const cuts = [0, points.length, ...placed.flatMap((span) => [span.start, span.end])]
      .filter((cut) => cut >= 0 && cut <= points.length);
    const edges = [...new Set(cuts)].sort((a, b) => a - b);
    return edges.slice(1).map((end, k) => ({
      start: edges[k], end, text: points.slice(edges[k], end).join(""),
      owners: placed.filter((span) => span.start <= edges[k] && span.end >= end).map((span) => span.owner),
    }));
  }

  /* The text as Markdown; `draw` makes the node of each piece, or of what a node of the Markdown has of it. */
  function renderMarkdown(text, parts, draw) {
    const points = Array.from(text);
    const leaf = (from, to) => {
      let [low, high] = [0, parts.length];  // the first piece that ends behind `from`
      while (low < high) {
        const middle = (low + high) >> 1;
        if (parts[middle].end > from) high = middle;
        else low = middle + 1;
      }
      const nodes = [];
      for (; low < parts.length && parts[low].start < to; low++) {
        const [start, end] = [Math.max(from, parts[low].start), Math.min(to, parts[low].end)];
        nodes.push(draw({ ...parts[low], text: points.slice(start, end).join("") }));
      }
      return nodes;
    };
    return TG.markdown(text, leaf);
  }

  const verdictOf = (claim) => VERDICTS[claim.supported] ?? VERDICTS[null];
  const factVerdictOf = (fact) => FACTS[fact.supported] ?? VERDICTS[null];
  const DOUBT = {};  // owns the words for which a claim is not supported
  const asWindow = (owner) => ({ start: owner.window?.[0], end: owner.window?.[1], owner });

  /* Of several claims in one place, the one that most needs a look gives the color. */
  function worstVerdict(claims) {
    const names = claims.map((claim) => verdictOf(claim).name);
    return ["unsupported", "unknown", "supported"].find((name) => names.includes(name));
  }

  function scrollToMark(mark, clicked) {
    const folded = mark?.closest("details.passage");
    if (folded && clicked) folded.open = true;
    const panel = mark?.closest(".passages");
    if (panel && panel.scrollHeight > panel.clientHeight) {
      const offset = mark.getBoundingClientRect().top - panel.getBoundingClientRect().top;
      panel.scrollTop += offset - panel.clientHeight / 3;
    }
    if (clicked) mark?.scrollIntoView({ block: "nearest" });
  }

  /* Citations count in the answer after NFC, claims in the answer as it came. */
  function placesAfterNfc(raw) {
    if (raw === null || raw.normalize("NFC") === raw) return (k) => k;
    const before = Array.from(raw);
    return (k) => Number.isInteger(k) ? Array.from(before.slice(0, k).join("").normalize("NFC")).length : k;
  }

  const sameOwners = (a, b) => a.length === b.length && a.every((owner) => b.includes(owner));

  /* An opened item as one judge saw it: its claims and facts, and each element that points at some
     of them. */
  function makeBoard(detail, view) {
    const raw = detail.response ?? null;
    const told = detail.citations ? cited.prepare(detail.citations, view) : null;
    const board = {
      answer: told ? raw?.normalize("NFC") ?? null : raw, told,
      place: told ? placesAfterNfc(raw) : (k) => k,
      claims: view.claims, facts: view.facts, references: view.references, whole: view.response,
      others: detail.views.filter((other) => other !== view),
      contexts: detail.contexts ?? [], pointers: [], selected: [], pinned: false,
    };
    board.select = (owners, clicked) => {
      if (!clicked && board.pinned) return;
      board.pinned = clicked && !(board.pinned && sameOwners(owners, board.selected));
      board.selected = owners;
      const active = board.pointers.filter(({ element, owned, best = [] }) => {
        element.classList.toggle("nearest", best.some((owner) => owners.includes(owner)));
        return element.classList.toggle("active", owned.some((owner) => owners.includes(owner)));
      });
      const targets = active.filter(({ target }) => target).map(({ element }) => element);
      scrollToMark(targets.find((element) => element.matches(".nearest")) ?? targets[0], clicked);
    };
    return board;
  }

  /* Mark where an answer has its closest passage, and bring it into view within the passages: for the
     first claim without support, else the first that has a place. */
  function showClosest(board) {
    const placed = [...board.claims, ...board.whole].filter((owner) => Number.isInteger(owner.text_index));
    const owner = placed.find(({ supported }) => supported === false) ?? placed[0];
    if (owner) board.select([owner], false);
  }

  function listen(element, board, owners) {
    element.addEventListener("click", () => board.select(owners, true));
    element.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") board.select(owners, false);
    });
  }

  /* Text with a mark wherever a span lies. A click on a claim selects; a window is where it leads. */
  function markAnswer(board) {
    const claims = board.claims.map((claim) => [board.place(claim.start), board.place(claim.end), claim]);
    const spans = TG.everyPlace(board.answer, claims).map(([start, end, owner]) => ({ start, end, owner }));
    spans.push(...[...board.facts, ...board.references].map(asWindow)
      .map(({ start, end, owner }) => ({ start: board.place(start), end: board.place(end), owner })));
    if (board.told) spans.push(...cited.spans(board.told, board.answer));
    const points = Array.from(board.answer);
    const doubts = TG.everyPlace(board.answer, claims).flatMap(([start, end, claim]) =>
      TG.doubtsIn(points.slice(start, end).join(""), claim.doubts).map(([from, to]) => ({ start: start + from, end: start + to, owner: DOUBT })));
    return renderMarkdown(board.answer, pieces(board.answer, [...spans, ...doubts]), ({ text, owners: all }) => {
      const owners = all.filter((owner) => owner !== DOUBT);
      if (!owners.length) return text;
      const cites = owners.filter(({ cite }) => cite);
      if (cites.length) return cited.mark(board, text, cites);
      const claims = owners.filter((owner) => board.claims.includes(owner));
      const weight = owners.length < all.length ? " doubt" : claims.some(({ doubts: [one] = [] }) => one) ? " light" : "";
      const element = make("mark", { class: claims.length ? `claim ${worstVerdict(claims)}${weight}` : null,
        title: claims.length ? claims.map((claim) => verdictOf(claim).words).join(", ") : null }, text);
      if (claims.length) listen(element, board, claims);
      board.pointers.push({ element, owned: owners, target: claims.length < owners.length });
      return element;
    });
  }

  const wordsOfText = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

  /* The sentence of a window that shares most with what it was read for, long words more than short ones. */
  function bestSentence(text, { owner, start, end }) {
    const wanted = wordsOfText(owner.text ?? "");
    let at = start;
    const sentences = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(Array.from(text).slice(start, end).join(""))].map(({ segment }) => {
      const shared = [...wordsOfText(segment)].filter((word) => wanted.has(word)).reduce((sum, word) => sum + (/\p{N}/u.test(word) ? 6 : word.length), 0);
      const found = { start: at, end: at + Array.from(segment.trimEnd()).length, shared };
      at += Array.from(segment).length;
      return found;
    });
    const best = sentences.reduce((one, other) => other.shared > one.shared ? other : one, { shared: 0 });
    return sentences.length < 2 ? [{ start, end, owner: { best: owner } }] : best.shared ? [{ ...best, owner: { best: owner } }] : [];
  }

  function markPassage(board, text, k) {
    const spans = [...board.claims, ...board.whole].filter((owner) => owner.text_index === k).map(asWindow);
    const best = spans.filter(({ start, end }) => Number.isInteger(start) && Number.isInteger(end)).flatMap((span) => bestSentence(text, span));
    return renderMarkdown(text, pieces(text, [...spans, ...best]), (piece) => {
      const owned = piece.owners.filter((owner) => !owner.best);
      if (!owned.length) return piece.text;
      const element = make("mark", {}, piece.text);
      board.pointers.push({ element, owned, best: piece.owners.flatMap((owner) => owner.best ?? []), target: true });
      return element;
    });
  }

  /* What the other judges say of the same claim or fact, where that is something else. */
  function disagreement(board, kind, own) {
    return board.others.flatMap((other) => {
      const all = kind === "whole" ? other.response : other[kind];
      const theirs = all.find(({ text, start }) => text === own.text && start === own.start);
      if (!theirs || theirs.supported === own.supported) return [];
      return [`${other.name}: ${wordsOf(kind, theirs)}`];
    });
  }

  const wordsOf = (kind, owner) => (kind === "facts" || kind === "references" ? factVerdictOf(owner) : verdictOf(owner)).words;
  const decimals = (name, value) => typeof value === "number" ? `${name}${value.toFixed(2)}` : null;

  /* The text of a claim or fact, with a mark on the words that its reasons name. */
  function markDoubts(owner) {
    const text = owner.text ?? "The answer as a whole";
    const spans = TG.doubtsIn(text, owner.doubts).map(([start, end]) => ({ start, end, owner }));
    return pieces(text, spans).map((piece) =>
      piece.owners.length ? make("mark", { class: "claim unsupported doubt" }, piece.text) : piece.text);
  }

  function verdictRow(board, kind, owner) {
    const { name } = verdictOf(owner);
    const failed = owner.status && owner.status !== "scored" ? wordsOfStatus(owner.status) : null;
    const passage = Number.isInteger(owner.text_index)
      ? `${owner.supported ? "" : "closest: "}passage ${owner.text_index + 1}` : null;
    const numbers = [failed, decimals("", owner.probability), decimals("score ", owner.score), passage];
    const differs = disagreement(board, kind, owner);
    const button = make("button", { type: "button", class: "verdict" },
      make("span", { class: "text" }, ...markDoubts(owner)),
      make("span", { class: "judged" }, make("span", { class: `badge ${name}` }, wordsOf(kind, owner)),
        make("span", { class: "quiet" }, numbers.filter((part) => part).join(" · ")),
        ...differs.map((words) => make("span", { class: "tag" }, words))));
    listen(button, board, [owner]);
    board.pointers.push({ element: button, owned: [owner], target: false });
    const reply = owner.reply ? make("details", { class: "reply" }, make("summary", {}, "The judge’s reply"),
      make("pre", {}, owner.reply)) : null;
    return make("li", {}, button,
      ...(owner.reasons ?? []).map((reason) => make("p", { class: "reason" }, reason)), reply);
  }

  const section = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

  function listSection(title, values) {
    if (!values?.length) return null;
    return section(title, make("ul", { class: "texts" }, ...values.map((value) => make("li", { class: "text" }, value))));
  }

  const cited = citationViews({ make, section, listen, verdictOf, subgraph: subgraphs({ make, listen }) });

  const rows = (board, kind, owners) =>
    make("ol", { class: "verdicts" }, ...owners.map((owner) => verdictRow(board, kind, owner)));
  const supportedOf = (owners) => owners.filter((owner) => owner.supported === true).length;

  function claimsSection(board) {
    const { claims, whole } = board;
    return [whole.length ? section("Whole answer", rows(board, "whole", whole)) : null,
      claims.length ? section(`Claims: ${supportedOf(claims)} of ${claims.length} supported`, rows(board, "claims", claims)) : null];
  }

  /* Missing facts first: they are what a reader looks for. */
  function factsSection(board, kind, name) {
    const facts = board[kind];
    if (!facts.length) return null;
    const groups = [["Missing from the answer", false], ["Not checked", null], ["Stated in the answer", true]];
    return section(`${name}: ${supportedOf(facts)} of ${facts.length} stated`, ...groups.flatMap(([title, verdict]) => {
      const own = facts.filter((fact) => (fact.supported ?? null) === verdict);
      return own.length ? [make("h4", {}, `${title} (${own.length})`), rows(board, kind, own)] : [];
    }));
  }

  /* Which judge's verdicts are shown; the choice stays from item to item. */
  let chosenJudge = null;

  function judgeSwitch(detail, view, redraw) {
    if (detail.views.length < 2) return null;
    return make("fieldset", { class: "judges noprint" }, make("legend", {}, "Verdicts of"),
      ...detail.views.map((other) => {
        const button = make("button", { type: "button", "aria-pressed": String(other === view) }, other.name);
        button.addEventListener("click", () => { chosenJudge = other.name; redraw(); });
        return button;
      }));
  }

  function answerSection(board, detail) {
    if (board.answer === null) return null;
    const text = board.answer ? markAnswer(board) : [make("em", { class: "quiet" }, "The answer is empty.")];
    const legend = Object.values(VERDICTS).map(({ name, words }) => make("mark", { class: `claim ${name}` }, words));
    return section("Answer", make("div", { class: "text response", dir: "auto" }, ...text),
      board.claims.length ? make("p", { class: "legend quiet" }, ...legend, board.claims.some(({ doubts }) => doubts) ? make("mark", { class: "claim unsupported doubt" }, "words not in the context") : null, " click a claim to see the closest passage") : null,
      detail.phrase ? make("p", { class: "quiet" }, `Declines to answer: “${detail.phrase}”`) : null);
  }

  /* Each metric in words; those without a value under a fold, those with one reason together. */
  function scoresSection(row) {
    const { metrics, names } = about();
    const rest = new Map();
    const lines = metrics.flatMap((metric, k) => {
      const score = scoreText(metric, row);
      if (score !== null) return [make("tr", {}, make("th", { scope: "row" }, names[k], " ", make("code", {}, metric)), make("td", { class: "num" }, score))];
      const why = reasonText(metric, row);
      rest.set(why, [...rest.get(why) ?? [], metric]);
      return [];
    });
    return section("Scores", lines.length ? make("table", { class: "scores" }, make("tbody", {}, ...lines)) : null,
      rest.size ? make("details", {}, make("summary", {}, `${metrics.length - lines.length} without a value`),
        ...[...rest].map(([why, own]) => make("p", { class: "quiet" }, `${why}: `, make("code", {}, own.join(", "))))) : null);
  }

  function foldedSection(title, pairs) {
    if (!pairs?.length) return null;
    return make("details", {}, make("summary", {}, title), ...pairs.flatMap(([name, text]) =>
      [make("h4", {}, make("code", {}, name)), make("pre", {}, text)]));
  }

  function passageBox(board, context, k) {
    const name = [`Passage ${k + 1}`, context.title, context.id, context.source]
      .filter((part) => part !== null && part !== undefined).join(" · ");
    const gold = typeof context.gold === "boolean"
      ? make("span", { class: "tag" }, context.gold ? "gold" : "not gold") : null;
    const box = make("details", { class: "passage", open: true }, make("summary", {}, name, " ", gold),
      make("div", { class: "text", dir: "auto" }, ...markPassage(board, context.text, k)));
    const owned = (board.told?.numbered ?? []).flatMap(({ passages }) => passages).filter(({ number }) => number === k + 1);
    if (owned.length) board.pointers.push({ element: box, owned, target: true });
    return box;
  }

  function passagesColumn(board) {
    if (!board.contexts.length) return null;
    return make("aside", { class: "passages", tabindex: "0", "aria-label": "Passages" },
      make("h3", {}, "Passages"), ...board.contexts.map((context, k) => passageBox(board, context, k)));
  }

  function historySection(history) {
    if (!history?.length) return null;
    return section("Earlier turns", make("ol", { class: "turns" }, ...history.map((turn) =>
      make("li", { class: "text" }, turn.role ? make("strong", {}, `${turn.role} `) : null, turn.content))));
  }

  const citationSections = (board) => board.told
    ? [cited.sentencesSection(board, board.told), cited.numberedSection(board, board.told),
      cited.missingSection(board.told),
      cited.graphsSection(board, board.told)] : [];

  function itemNav({ before, after }) {
    const step = (id, words) => id === null ? make("span", { class: "quiet" }, words) : make("a", { href: linkTo(id) }, words);
    return make("nav", { class: "itemnav noprint", "aria-label": "Item" },
      make("a", { href: listHash, class: "back" }, "All answers"), make("span", { class: "grow" }),
      make("span", { class: "quiet hint" }, "keys: ← → Esc"),
      step(before, "Previous"), step(after, "Next"));
  }

  const NO_VIEW = { name: "", claims: [], facts: [], references: [], response: [], alignment: [], missing: [], passages: [] };

  function drawColumns(row, detail) {
    const view = detail.views.find(({ name }) => name === chosenJudge) ?? detail.views[0] ?? NO_VIEW;
    const board = makeBoard(detail, view);
    const columns = make("div", { class: "columns" });
    const redraw = () => {
      columns.replaceWith(drawColumns(row, detail));
      document.querySelector(".judges [aria-pressed=true]")?.focus({ preventScroll: true });
    };
    columns.append(...[make("div", {}, historySection(detail.history),
      judgeSwitch(detail, view, redraw), answerSection(board, detail),
      ...citationSections(board), ...claimsSection(board)),
    passagesColumn(board), make("div", {},
      factsSection(board, "facts", "Gold facts") ?? listSection("Gold facts", detail.gold_facts),
      factsSection(board, "references", "Reference answers") ?? listSection("Reference answers", detail.references), scoresSection(row),
      foldedSection("Other evidence", detail.evidence), foldedSection("Other fields", detail.fields))].filter((part) => part !== null));
    queueMicrotask(() => showClosest(board));  // once it is on the page, and so has places
    return columns;
  }

  function drawItem(found, detail) {
    const { row } = found;
    const line = make("p", { class: "quiet id" }, `${row.id} · line ${count(row.n + 1)} `,
      row.verdict ? make("span", { class: `badge ${VERDICT_TONES[row.verdict]}` }, `${VERDICT_SIGNS[row.verdict]} ${VERDICT_WORDS[row.verdict]}`) : null);
    return [itemNav(found), line, make("h1", { tabindex: "-1", dir: "auto" }, detail.question || `Answer ${row.id}`), drawColumns(row, detail)];
  }

  const missingItem = (id, found) => [itemNav(found), make("h1", { tabindex: "-1" }, "Not on this page"),
    make("p", {}, `No answer with the id “${id}” is shown here.`)];

  /* `found` is what a source's `open` gives. */
  return (id, found, detail) => found.row === null ? missingItem(id, found) : drawItem(found, detail);
})();

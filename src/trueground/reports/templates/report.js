/* The list of items and one opened item. Every text of a record is set as text, never as markup. */
"use strict";
(() => {
  const PAGE_SIZE = 50;
  const COLUMNS = 4;
  const VERDICTS = {
    true: { name: "supported", words: "supported" },
    false: { name: "unsupported", words: "not supported" },
    null: { name: "unchecked", words: "not checked" },
  };
  const FACTS = {
    true: { name: "supported", words: "stated" },
    false: { name: "unsupported", words: "missing" },
  };
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("index").textContent);
  const total = index.ids.length;
  const rowOf = new Map(index.ids.map((id, i) => [id, i]));
  const collator = new Intl.Collator("en", { numeric: true });
  const statusWords = new Map(index.statuses);

  /* ---- small helpers ---- */

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

  const whole = new Map(index.metrics.map((metric) => [
    metric, index.scores[metric].every((value) => value === null || Number.isInteger(value)),
  ]));

  function scoreText(metric, i) {
    const value = index.scores[metric][i];
    return value === null ? null : value.toFixed(whole.get(metric) ? 0 : 4);
  }

  const statusOf = (metric, i) => index.statuses[index.status[metric][i]]?.[0] ?? null;
  const reasonText = (metric, i) => statusWords.get(statusOf(metric, i)) ?? "no score";
  const linkTo = (i) => "#item-" + encodeURIComponent(index.ids[i]);
  const count = (n) => n.toLocaleString("en");
  const titleOf = (i) => index.questions[i] || index.responses[i] || index.ids[i];

  /* ---- the list: filter, sort, draw ---- */

  const state = {};

  function resetState() {
    Object.assign(state, {
      words: [], sort: "row", down: false, metric: index.headline, low: NaN, high: NaN,
      status: "", by: {}, page: 0,
    });
  }

  const haystacks = new Array(total);
  const haystack = (i) => haystacks[i] ??=
    [index.ids[i], index.questions[i], index.responses[i]].join("\n").toLowerCase();

  function matches(i) {
    if (!state.words.every((word) => haystack(i).includes(word))) return false;
    if (state.status && statusOf(state.metric, i) !== state.status) return false;
    if (!Number.isNaN(state.low) || !Number.isNaN(state.high)) {
      const value = index.scores[state.metric][i];
      if (value === null || value < state.low || value > state.high) return false;
    }
    return Object.entries(state.by).every(([field, value]) => index.by[field][i] === value);
  }

  function sorted() {
    const order = Array.from(index.ids.keys());
    const sign = state.down ? -1 : 1;
    if (state.sort === "row") return state.down ? order.reverse() : order;
    if (state.sort === "id") {
      return order.sort((a, b) => sign * collator.compare(index.ids[a], index.ids[b]));
    }
    const values = index.scores[state.sort.slice("metric:".length)];
    return order.sort((a, b) => {
      if (values[a] === null || values[b] === null) return (values[a] === null) - (values[b] === null);
      return sign * (values[a] - values[b]) || a - b;
    });
  }

  let listed = [];

  function refresh(page = 0) {
    listed = sorted().filter(matches);
    state.page = Math.min(page, Math.max(0, Math.ceil(listed.length / PAGE_SIZE) - 1));
    drawTable();
  }

  function shownMetrics() {
    const sortMetric = state.sort.startsWith("metric:") ? state.sort.slice("metric:".length) : null;
    const wanted = [index.headline, sortMetric, state.metric, ...index.metrics];
    return [...new Set(wanted.filter((metric) => metric !== null))].slice(0, COLUMNS);
  }

  function headCell(label, key, numeric) {
    const active = state.sort === key;
    const button = make("button", { type: "button", class: "plain" }, label);
    button.addEventListener("click", () => {
      // The worst stand first.
      state.down = active ? !state.down : index.lower.some((name) => key === `metric:${name}`);
      state.sort = key;
      byId("sort").value = key;
      byId("direction").value = state.down ? "down" : "up";
      refresh();
    });
    const direction = active ? (state.down ? "descending" : "ascending") : null;
    return make("th", { scope: "col", class: numeric ? "num" : null, "aria-sort": direction }, button);
  }

  function scoreCell(metric, i) {
    const text = scoreText(metric, i);
    const label = make("span", { class: "label" }, metric);
    if (text === null) return make("td", { class: "num none" }, label, reasonText(metric, i));
    const value = index.scores[metric][i];
    const meter = make("span", { class: "meter" }, make("span"));
    meter.firstChild.style.width = `${100 * Math.min(Math.max(value, 0), 1)}%`;
    return make("td", { class: "num" }, label, text, value <= 1 && value >= 0 ? meter : null);
  }

  function listRow(i, metrics) {
    const link = make("a", { href: linkTo(i) }, titleOf(i));
    const answer = index.responses[i];
    const shownAnswer = index.questions[i] && answer !== null
      ? make("p", { class: "answer" }, answer || "(empty answer)") : null;
    const id = make("p", { class: "quiet id" }, index.ids[i]);
    return make("tr", {}, make("td", { class: "what" }, link, shownAnswer, id),
      ...metrics.map((metric) => scoreCell(metric, i)));
  }

  function drawTable() {
    const metrics = shownMetrics();
    const start = state.page * PAGE_SIZE;
    const page = listed.slice(start, start + PAGE_SIZE);
    const head = make("tr", {}, headCell("Item", "row", false),
      ...metrics.map((metric) => headCell(metric, `metric:${metric}`, true)));
    byId("table").tHead.replaceChildren(head);
    byId("table").tBodies[0].replaceChildren(...page.map((i) => listRow(i, metrics)));
    byId("count").textContent = listed.length === total
      ? `${count(total)} items` : `${count(listed.length)} of ${count(total)} items match`;
    byId("page").textContent = page.length
      ? `${count(start + 1)}–${count(start + page.length)} of ${count(listed.length)}` : "nothing matches";
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = start + PAGE_SIZE >= listed.length;
  }

  /* ---- controls ---- */

  const option = (value, words) => make("option", { value }, words);

  function onChange(id, event, set) {
    byId(id).addEventListener(event, () => {
      set(byId(id).value);
      refresh();
    });
  }

  function addByFilter(field) {
    const values = [...new Set(index.by[field])].sort((a, b) => collator.compare(a ?? "", b ?? ""));
    if (values.length < 2) return;
    const select = make("select", {}, option("", "all"),
      ...values.map((value, k) => option(String(k + 1), value ?? "(none)")));
    select.addEventListener("change", () => {
      if (select.value === "") delete state.by[field];
      else state.by[field] = values[Number(select.value) - 1];
      refresh();
    });
    byId("by").append(make("label", {}, `${field} `, select));
  }

  function setUpControls() {
    byId("sort").append(option("row", "input order"), option("id", "id"),
      ...index.metrics.map((metric) => option(`metric:${metric}`, metric)));
    byId("metric").append(...index.metrics.map((metric) => option(metric, metric)));
    if (index.headline) byId("metric").value = index.headline;
    byId("status").append(option("", "any"), ...index.statuses.map(([name, words]) => option(name, words)));
    Object.keys(index.by).forEach(addByFilter);
    onChange("sort", "change", (value) => { state.sort = value; });
    onChange("direction", "change", (value) => { state.down = value === "down"; });
    onChange("metric", "change", (value) => { state.metric = value; });
    onChange("low", "input", (value) => { state.low = value === "" ? NaN : Number(value); });
    onChange("high", "input", (value) => { state.high = value === "" ? NaN : Number(value); });
    onChange("status", "change", (value) => { state.status = value; });
    onChange("text", "input", (value) => {
      state.words = value.toLowerCase().split(/\s+/).filter((word) => word);
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("filters").addEventListener("reset", () => setTimeout(() => {
      resetState();
      if (index.headline) byId("metric").value = index.headline;
      refresh();
    }));
    byId("previous").addEventListener("click", () => turnPage(-1));
    byId("next").addEventListener("click", () => turnPage(1));
  }

  function turnPage(step) {
    state.page += step;
    drawTable();
    byId("list").scrollIntoView();
  }

  function setUpView() {
    byId("breakdown-metric")?.addEventListener("change", (event) => {
      for (const figure of document.querySelectorAll(".breakdown")) {
        figure.hidden = figure.dataset.metric !== event.target.value;
      }
    });
    const themes = ["auto", "light", "dark"];
    byId("theme").addEventListener("click", () => {
      const now = document.documentElement.dataset.theme ?? "auto";
      const next = themes[(themes.indexOf(now) + 1) % themes.length];
      document.documentElement.dataset.theme = next;
      byId("theme").textContent = `Theme: ${next}`;
    });
  }

  /* ---- one item ---- */

  let block = { number: -1, items: [] };

  function detailOf(i) {
    const number = Math.floor(i / index.block);
    if (block.number !== number) {
      block = { number, items: JSON.parse(byId(`block-${number}`).textContent) };
    }
    return block.items[i % index.block];
  }

  /* Offsets count code points, as Python does; JavaScript strings count UTF-16 units. */
  function pieces(text, spans) {
    const points = Array.from(text);
    const placed = spans.filter((span) => Number.isInteger(span.start) && Number.isInteger(span.end));
    const cuts = [0, points.length, ...placed.flatMap((span) => [span.start, span.end])]
      .filter((cut) => cut >= 0 && cut <= points.length);
    const edges = [...new Set(cuts)].sort((a, b) => a - b);
    return edges.slice(1).map((end, k) => ({
      text: points.slice(edges[k], end).join(""),
      owners: placed.filter((span) => span.start <= edges[k] && span.end >= end).map((span) => span.owner),
    }));
  }

  const verdictOf = (claim) => VERDICTS[claim.supported] ?? VERDICTS[null];
  const factVerdictOf = (fact) => FACTS[fact.supported] ?? VERDICTS[null];
  const asWindow = (owner) => ({ start: owner.window?.[0], end: owner.window?.[1], owner });

  /* Of several claims in one place, the one that most needs a look gives the colour. */
  function worstVerdict(claims) {
    const names = claims.map((claim) => verdictOf(claim).name);
    return ["unsupported", "unchecked", "supported"].find((name) => names.includes(name));
  }

  function scrollToMark(mark, clicked) {
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
  function makeBoard(i, detail, view) {
    const raw = index.responses[i];
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
      const active = board.pointers.filter(({ element, owned }) =>
        element.classList.toggle("active", owned.some((owner) => owners.includes(owner))));
      scrollToMark(active.find(({ target }) => target)?.element, clicked);
    };
    return board;
  }

  function listen(element, board, owners) {
    element.addEventListener("click", () => board.select(owners, true));
    element.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") board.select(owners, false);
    });
  }

  /* Text with a mark wherever a span lies. A click on a claim selects; a window is where it leads. */
  function markAnswer(board) {
    const spans = [...board.claims.map((claim) => ({ start: claim.start, end: claim.end, owner: claim })),
      ...[...board.facts, ...board.references].map(asWindow)]
      .map(({ start, end, owner }) => ({ start: board.place(start), end: board.place(end), owner }));
    if (board.told) spans.push(...cited.spans(board.told, board.answer));
    return pieces(board.answer, spans).map(({ text, owners }) => {
      if (!owners.length) return text;
      const cites = owners.filter(({ cite }) => cite);
      if (cites.length) return cited.mark(board, text, cites);
      const claims = owners.filter((owner) => board.claims.includes(owner));
      const element = make("mark", { class: claims.length ? `claim ${worstVerdict(claims)}` : null,
        title: claims.length ? claims.map((claim) => verdictOf(claim).words).join(", ") : null }, text);
      if (claims.length) listen(element, board, claims);
      board.pointers.push({ element, owned: owners, target: claims.length < owners.length });
      return element;
    });
  }

  function markPassage(board, text, k) {
    const spans = [...board.claims, ...board.whole].filter((owner) => owner.text_index === k).map(asWindow);
    return pieces(text, spans).map((piece) => {
      if (!piece.owners.length) return piece.text;
      const element = make("mark", {}, piece.text);
      board.pointers.push({ element, owned: piece.owners, target: true });
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

  function verdictRow(board, kind, owner) {
    const { name } = verdictOf(owner);
    const failed = owner.status && owner.status !== "scored" ? statusWords.get(owner.status) : null;
    const passage = Number.isInteger(owner.text_index)
      ? `${owner.supported ? "" : "closest: "}passage ${owner.text_index + 1}` : null;
    const numbers = [failed, decimals("", owner.probability), decimals("score ", owner.score), passage];
    const differs = disagreement(board, kind, owner);
    const button = make("button", { type: "button", class: "verdict" },
      make("span", { class: "text" }, owner.text ?? "The answer as a whole"),
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
    return section("Answer", make("p", { class: "text response" }, ...text),
      board.claims.length ? make("p", { class: "legend quiet" }, ...legend) : null,
      detail.phrase ? make("p", { class: "quiet" }, `Declines to answer: “${detail.phrase}”`) : null);
  }

  function scoresSection(i) {
    return section("Scores", make("table", { class: "scores" }, make("tbody", {}, ...index.metrics.map((metric) =>
      make("tr", {}, make("th", { scope: "row" }, make("code", {}, metric)),
        make("td", { class: "num" }, scoreText(metric, i) ?? "–"),
        make("td", { class: "quiet" }, reasonText(metric, i)))))));
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
    const box = make("article", { class: "passage" }, make("h4", {}, name, " ", gold),
      make("p", { class: "text" }, ...markPassage(board, context.text, k)));
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

  function itemNav(i) {
    const place = listed.indexOf(i);
    const step = (k, words) => k >= 0 && k < listed.length && place >= 0
      ? make("a", { href: linkTo(listed[k]) }, words) : make("span", { class: "quiet" }, words);
    return make("nav", { class: "itemnav noprint", "aria-label": "Item" },
      make("a", { href: "#items", class: "back" }, "All items"), make("span", { class: "grow" }),
      step(place - 1, "Previous"), step(place + 1, "Next"));
  }

  const NO_VIEW = { name: "", claims: [], facts: [], references: [], response: [], alignment: [], missing: [], passages: [] };

  function drawColumns(i, detail) {
    const view = detail.views.find(({ name }) => name === chosenJudge) ?? detail.views[0] ?? NO_VIEW;
    const board = makeBoard(i, detail, view);
    const columns = make("div", { class: "columns" });
    const redraw = () => {
      columns.replaceWith(drawColumns(i, detail));
      document.querySelector(".judges [aria-pressed=true]")?.focus({ preventScroll: true });
    };
    columns.append(...[make("div", { class: "left" }, historySection(detail.history),
      judgeSwitch(detail, view, redraw), answerSection(board, detail),
      ...citationSections(board), ...claimsSection(board),
      factsSection(board, "facts", "Gold facts") ?? listSection("Gold facts", detail.gold_facts),
      factsSection(board, "references", "Reference answers") ?? listSection("Reference answers", detail.references), scoresSection(i),
      foldedSection("Other evidence", detail.evidence), foldedSection("Other fields", detail.fields)),
    passagesColumn(board)].filter((part) => part !== null));
    return columns;
  }

  function drawItem(i) {
    return [itemNav(i), make("p", { class: "quiet id" }, `${index.ids[i]} · line ${count(index.rows[i] + 1)}`),
      make("h1", { tabindex: "-1" }, titleOf(i)), drawColumns(i, detailOf(i))];
  }

  const missingItem = (id) => [itemNav(-1), make("h1", { tabindex: "-1" }, "Not on this page"),
    make("p", {}, `No item with the id “${id}” is shown here.`)];

  /* ---- which of the two views: the address says ---- */

  let left = { scroll: 0, id: null };

  function route() {
    const match = /^#item-(.*)$/s.exec(location.hash);
    if (!byId("overview").hidden) left.scroll = window.scrollY;
    byId("overview").hidden = match !== null;
    byId("item").hidden = match === null;
    if (match === null) {
      if (left.id !== null) returnToList();
      return;
    }
    let id = match[1];
    try { id = decodeURIComponent(id); } catch { /* a hand-written address: take it as it is */ }
    const i = rowOf.get(id);
    left.id = id;
    byId("item").replaceChildren(...(i === undefined ? missingItem(id) : drawItem(i)));
    byId("item").querySelector("h1").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  function returnToList() {
    const link = [...document.querySelectorAll("#table a")].find((a) => a.hash === linkTo(rowOf.get(left.id)));
    window.scrollTo(0, left.scroll);
    link?.focus();
    left.id = null;
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("item").hidden) location.hash = "#items";
  });
  resetState();
  setUpControls();
  setUpView();
  refresh();
  window.addEventListener("hashchange", route);
  route();
})();

/* The answers of a run: the worst of them, and the list that is searched, filtered, exported. */
const read = (name) => {
  const block = document.getElementById(name);
  return block && JSON.parse(block.textContent);
};
const LIST = "#items";
const VERDICT_WORDS = { grounded: "grounded", partly: "partly grounded", not: "not grounded", declined: "declined", unscored: "not judged" };
const VERDICT_TONES = { grounded: "supported", partly: "partly", not: "unsupported", declined: "unknown", unscored: "unknown" };
const VERDICT_SIGNS = { grounded: "✓", partly: "◐", not: "✗", declined: "–", unscored: "?" };

/* All parts of the index as one. */
function readIndex() {
  const about = read("about");
  if (!about) return null;
  const joined = { rows: [], ids: [], questions: [], responses: [], verdicts: [], claims: [], kinds: [], scores: {}, status: {}, by: {} };
  for (let part = 0; part < about.parts; part++) {
    const found = read(`index-${part}`);
    for (const name of ["rows", "ids", "questions", "responses", "verdicts", "claims", "kinds"]) joined[name].push(...found[name]);
    for (const kind of ["scores", "status", "by"]) {
      for (const [name, values] of Object.entries(found[kind])) (joined[kind][name] ??= []).push(...values);
    }
  }
  return { ...about, ...joined };
}

const index = readIndex();
const total = index?.ids.length ?? 0;
const rowOf = new Map(index?.ids.map((id, i) => [id, i]));
const statusWords = new Map(index?.statuses);
const collator = new Intl.Collator("en", { numeric: true });
const inside = index?.inside ? new Map(index.inside.map((i, k) => [i, k])) : null;
const wholeMetric = new Map(index?.metrics.map((metric) => [metric, index.scores[metric]?.every((value) => value === null || Number.isInteger(value))]));

const scoreText = (metric, i) => {
  const value = index.scores[metric]?.[i] ?? null;
  return value === null ? null : value.toFixed(wholeMetric.get(metric) ? 0 : 4);
};
const statusOf = (metric, i) => index.statuses[index.status[metric]?.[i]]?.[0] ?? null;
const reasonText = (metric, i) => statusWords.get(statusOf(metric, i)) ?? "no score";
const linkTo = (i) => "#item-" + encodeURIComponent(index.ids[i]);
const titleOf = (i) => index.questions[i] || index.responses[i] || index.ids[i];
const toneOf = (supported) => ({ 1: "supported", 0: "unsupported" }[supported] ?? "unknown");

/* ---- details: in the page, or in a file beside it ---- */

const files = new Map();
const waiting = new Map();
let folderThere = index?.file ? null : true;
let lastBlock = { number: -1, items: [] };

TG.here = () => { folderThere = true; };
TG.loaded = (number, items) => {
  files.set(number, items);
  if (files.size > 8) files.delete(files.keys().next().value);
};

function loadScript(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", () => { script.remove(); resolve(); });
    script.addEventListener("error", () => { script.remove(); reject(new Error(source)); });
    document.head.append(script);
  });
}

function insideBlock(k) {
  const number = Math.floor(k / index.block);
  if (lastBlock.number !== number) lastBlock = { number, items: read(`block-${number}`) };
  return lastBlock.items[k % index.block];
}

/* The details of an answer, or a promise of them. */
TG.detailOf = (i) => {
  if (!inside) return insideBlock(i);
  if (inside.has(i)) return insideBlock(inside.get(i));
  const number = Math.floor(i / index.file);
  const pick = () => files.get(number)[i % index.file];
  if (files.has(number)) return pick();
  if (!waiting.has(number)) waiting.set(number, loadScript(`report_items/${number}.js`).finally(() => waiting.delete(number)));
  return waiting.get(number).then(pick);
};

/* ---- the state of the list stands in the address ---- */

const NOTHING = { q: "", verdict: "", kind: "", status: "", metric: "", low: "", high: "", sort: "worst", page: 0, by: {} };

function stateOf(hash) {
  const query = hash.startsWith(`${LIST}?`) ? new URLSearchParams(hash.slice(LIST.length + 1)) : new URLSearchParams();
  const state = { ...NOTHING, by: {} };
  for (const [name, value] of query) {
    if (name.startsWith("by.")) state.by[name.slice(3)] = value;
    else if (name === "page") state.page = Math.max(0, Number(value) - 1) || 0;
    else if (name in NOTHING) state[name] = value;
  }
  return state;
}

function hashOf(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "by") Object.entries(value).forEach(([field, one]) => one !== "" && query.set(`by.${field}`, one));
    else if (name === "page") { if (value) query.set("page", value + 1); }
    else if (value !== NOTHING[name]) query.set(name, value);
  }
  const text = query.toString();
  return text ? `${LIST}?${text}` : LIST;
}

let listHash = LIST;
const setState = (state) => {
  history.replaceState(null, "", hashOf(state));
  dispatchEvent(new Event("tg-list"));
};
TG.filter = (text) => {
  const [name, value] = text.split("=");
  const now = stateOf(location.hash);
  setState({ ...NOTHING, by: {}, [name]: now[name] === value ? "" : value });
  document.getElementById("items")?.scrollIntoView();
};

/* ---- which answers, in which order ---- */

const haystacks = new Array(total);
const haystack = (i) => haystacks[i] ??= [index.ids[i], index.questions[i], index.responses[i]].join("\n").toLowerCase();

function matches(state) {
  const words = state.q.toLowerCase().split(/\s+/u).filter((word) => word);
  const metric = state.metric || index.headline;
  const [low, high] = [state.low === "" ? NaN : Number(state.low), state.high === "" ? NaN : Number(state.high)];
  const verdict = state.verdict ? index.verdictNames.indexOf(state.verdict) : null;
  const kind = state.kind ? index.kindNames.indexOf(state.kind) : null;
  const by = Object.entries(state.by).filter(([, value]) => value !== "");
  return (i) => (folderThere !== false || !inside || inside.has(i))
    && (verdict === null || index.verdicts[i] === verdict)
    && (kind === null || index.kinds[i].includes(kind))
    && (!state.status || statusOf(metric, i) === state.status)
    && ((Number.isNaN(low) && Number.isNaN(high)) || (index.scores[metric][i] !== null && !(index.scores[metric][i] < low) && !(index.scores[metric][i] > high)))
    && by.every(([field, value]) => (index.by[field]?.[i] ?? "(none)") === value)
    && words.every((word) => haystack(i).includes(word));
}

const orders = new Map();
/* Worst first: not grounded, partly, grounded; in each the headline's worst value; those without last. */
const RANKS = { not: 0, partly: 1, grounded: 2 };
function orderOf(sort) {
  if (orders.has(sort)) return orders.get(sort);
  const order = Array.from(index.ids.keys());
  const down = sort.startsWith("-");
  const name = sort === "worst" ? index.headline : sort.replace(/^[+-]/u, "");
  if (name === "id") order.sort((a, b) => (down ? -1 : 1) * collator.compare(index.ids[a], index.ids[b]));
  else if (name && index.scores[name]) {
    const values = index.scores[name];
    const sign = (sort === "worst" ? index.lower.includes(name) : down) ? -1 : 1;
    const second = sort === "worst" ? index.scores.support_min : null;
    const ranks = sort === "worst" ? index.verdicts.map((code) => RANKS[index.verdictNames[code]] ?? 3) : null;
    order.sort((a, b) => {
      if (values[a] === null || values[b] === null) return (values[a] === null) - (values[b] === null) || a - b;
      return (ranks ? ranks[a] - ranks[b] : 0) || sign * (values[a] - values[b])
        || (second ? (second[a] ?? 2) - (second[b] ?? 2) : 0) || a - b;
    });
  } else if (down) order.reverse();
  orders.set(sort, order);
  return order;
}

TG.listed = () => {
  const state = stateOf(listHash);
  return orderOf(state.sort).filter(matches(state));
};

/* ---- one answer in the list ---- */

/* Spans [start, end, …] and, since a claim that is said twice counts once, the further places of their words. */
TG.everyPlace = (text, spans) => {
  const points = Array.from(text);
  const found = spans.filter(([start, end]) => Number.isInteger(start) && Number.isInteger(end) && start < end);
  for (const [start, end, ...rest] of [...found]) {
    const words = points.slice(start, end).join("");
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const from = points.length === text.length ? at : Array.from(text.slice(0, at)).length;
      const to = from + end - start;
      const inWord = /[\p{L}\p{N}]{2}/u.test((points[from - 1] ?? "") + points[from]) || /[\p{L}\p{N}]{2}/u.test(points[to - 1] + (points[to] ?? ""));
      if (!inWord && !found.some((span) => span[0] < to && span[1] > from)) found.push([from, to, ...rest]);
    }
  }
  return found;
};

/* The answer with its claims marked, cut to about `most` characters around the first doubt. */
function markedAnswer(i, most) {
  const text = index.responses[i];
  if (text === null || text === undefined) return null;
  if (!text) return html`<em class="quiet">(empty answer)</em>`;
  const points = Array.from(text);
  const spans = TG.everyPlace(text, index.claims[i]).sort((a, b) => a[0] - b[0]);
  const doubt = spans.find(([, , supported]) => supported === 0);
  const from = doubt && doubt[1] > most ? Math.max(0, doubt[0] - 40) : 0;
  const to = Math.min(points.length, from + most);
  const parts = [from ? "…" : ""];
  let at = from;
  for (const [start, end, supported] of spans) {
    if (end <= at || start >= to) continue;
    parts.push(points.slice(at, Math.max(at, start)).join(""));
    parts.push(html`<mark key=${start} class=${`claim ${toneOf(supported)}`}>${points.slice(Math.max(at, start), Math.min(end, to)).join("")}</mark>`);
    at = Math.min(end, to);
  }
  parts.push(points.slice(at, to).join(""), to < points.length ? "…" : "");
  return parts;
}

function Strip({ claims }) {
  if (!claims.length) return null;
  const names = claims.map(([, , supported]) => toneOf(supported));
  const counts = ["supported", "unsupported", "unknown"].map((name) => [name, names.filter((one) => one === name).length]).filter(([, n]) => n);
  const words = counts.map(([name, n]) => `${n} ${name === "unsupported" ? "not supported" : name === "unknown" ? "not checked" : name}`).join(", ");
  return html`<span class="strip" role="img" aria-label=${`claims: ${words}`} title=${`claims: ${words}`}>${names.slice(0, 40).map((name, k) => html`<span key=${k} class=${name}></span>`)}</span>`;
}

function Verdict({ i }) {
  const name = index.verdictNames?.[index.verdicts[i]];
  return name ? html`<span class=${`badge ${VERDICT_TONES[name]}`}>${VERDICT_SIGNS[name]} ${VERDICT_WORDS[name]}</span>` : null;
}

function AnswerRow({ i, metrics }) {
  return html`<li class="answer-row"><a dir="auto" href=${linkTo(i)}>${titleOf(i)}</a>
    ${index.questions[i] ? html`<p class="answer" dir="auto">${markedAnswer(i, 240)}</p>` : null}
    <p class="facts"><${Verdict} i=${i} /><${Strip} claims=${index.claims[i]} />
    ${metrics.map((metric) => html`<span key=${metric} class="tag">${metric} ${scoreText(metric, i) ?? reasonText(metric, i)}</span>`)}
    ${index.kinds[i].map((kind) => html`<span key=${kind} class="tag">${index.kindWords[kind]}</span>`)}
    <span class="quiet id">${index.ids[i]}</span></p></li>`;
}

/* ---- export ---- */

function exported(rows) {
  const fields = Object.keys(index.by);
  return rows.map((i) => ({ id: index.ids[i], question: index.questions[i], response: index.responses[i], verdict: index.verdictNames[index.verdicts[i]] ?? null,
    reasons: index.kinds[i].map((kind) => index.kindWords[kind]),
    ...Object.fromEntries(fields.map((field) => [field, index.by[field][i]])),
    scores: Object.fromEntries(index.metrics.map((metric) => [metric, index.scores[metric][i]])) }));
}

function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : Array.isArray(value) ? value.join("; ") : String(value);
    return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const flat = exported(rows).map(({ scores, ...rest }) => ({ ...rest, ...scores }));
  const head = Object.keys(flat[0] ?? { id: "" });
  return [head, ...flat.map((one) => head.map((name) => one[name]))].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* ---- the list ---- */

function shownMetrics(state) {
  const sorted = state.sort.replace(/^[+-]/u, "");
  return [...new Set([index.headline, state.metric, index.metrics.includes(sorted) ? sorted : null].filter((one) => one))].slice(0, 3);
}

function AnswerList() {
  const [, again] = useState(0);
  useEffect(() => {
    const redraw = () => again((n) => n + 1);
    const follow = () => { if (location.hash.startsWith(LIST)) { listHash = location.hash; redraw(); } };
    addEventListener("tg-list", follow);
    addEventListener("hashchange", follow);
    addEventListener("tg-folder", redraw);
    redraw();  // what was told before the list could hear of it
    follow();
    return () => { removeEventListener("tg-list", follow); removeEventListener("hashchange", follow); removeEventListener("tg-folder", redraw); };
  }, []);
  const state = stateOf(listHash);
  const listed = useMemo(() => TG.listed(), [listHash, folderThere]);
  const pages = Math.max(1, Math.ceil(listed.length / PAGE_SIZE));
  const page = Math.min(state.page, pages - 1);
  const set = (change) => setState({ ...state, page: 0, ...change });
  const turn = (to) => { setState({ ...state, page: to }); document.getElementById("items")?.scrollIntoView(); };
  const on = (name) => (event) => set({ [name]: event.target.value });
  const shown = listed.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  const metrics = shownMetrics(state);
  const fields = Object.keys(index.by).map((field) => [field, [...new Set(index.by[field].map((value) => value ?? "(none)"))].sort(collator.compare)]).filter(([, values]) => values.length > 1 && values.length <= 500);
  const kinds = index.kindNames.filter((_, k) => index.kinds.some((own) => own.includes(k)));
  return html`<div class="answers"><form id="filters" class="filters noprint" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label class="grow">Search <input type="search" id="text" placeholder="id, question or answer" autocomplete="off" value=${state.q} onInput=${on("q")} /></label>
    ${index.verdicts.some((one) => one !== null) ? html`<label>Verdict <select id="verdict" value=${state.verdict} onChange=${on("verdict")}><option value="">all</option>${index.verdictNames.map((name) => html`<option key=${name} value=${name}>${VERDICT_WORDS[name] ?? name}</option>`)}</select></label>` : null}
    ${kinds.length ? html`<label>Reason <select id="kind" value=${state.kind} onChange=${on("kind")}><option value="">any</option>${kinds.map((kind) => html`<option key=${kind} value=${kind}>${index.kindWords[index.kindNames.indexOf(kind)]}</option>`)}</select></label>` : null}
    <label>Sort by <select id="sort" value=${state.sort} onChange=${on("sort")}><option value="worst">worst first</option><option value="+row">input order</option><option value="+id">id</option>
      ${index.metrics.flatMap((metric) => [html`<option key=${`+${metric}`} value=${`+${metric}`}>${metric}, lowest first</option>`, html`<option key=${`-${metric}`} value=${`-${metric}`}>${metric}, highest first</option>`])}</select></label>
    ${fields.map(([field, values]) => html`<label key=${field}>${field} <select class="by" value=${state.by[field] ?? ""} onChange=${(event) => set({ by: { ...state.by, [field]: event.target.value } })}><option value="">all</option>${values.map((value) => html`<option key=${value} value=${value}>${value}</option>`)}</select></label>`)}
    <details class="more" open=${Boolean(state.metric || state.low || state.high || state.status)}><summary>Scores</summary><div class="filters">
      <label>Metric <select id="metric" value=${state.metric || index.headline || ""} onChange=${on("metric")}>${index.metrics.map((metric) => html`<option key=${metric} value=${metric}>${metric}</option>`)}</select></label>
      <label>from <input type="number" id="low" step="any" inputmode="decimal" value=${state.low} onInput=${on("low")} /></label>
      <label>to <input type="number" id="high" step="any" inputmode="decimal" value=${state.high} onInput=${on("high")} /></label>
      <label>Status <select id="status" value=${state.status} onChange=${on("status")}><option value="">any</option>${index.statuses.map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}</select></label></div></details>
    <button type="button" id="reset" onClick=${() => setState({ ...NOTHING, by: {} })}>Reset</button>
    <button type="button" id="save-csv" onClick=${() => save("answers.csv", "text/csv", csv(listed))}>CSV</button>
    <button type="button" id="save-jsonl" onClick=${() => save("answers.jsonl", "application/jsonl", exported(listed).map((one) => JSON.stringify(one)).join("\n") + "\n")}>JSONL</button></form>
    ${index.statement && folderThere === false ? html`<p class="note" role="note">The folder report_items is not beside this page: ${index.statement}</p>` : null}
    <p class="quiet" id="count" role="status">${listed.length === total ? `${count(total)} answers` : `${count(listed.length)} of ${count(total)} answers match`}</p>
    <ol class="answer-list" id="list">${shown.map((i) => html`<${AnswerRow} key=${i} i=${i} metrics=${metrics} />`)}</ol>
    <${Pager} page=${page} pages=${pages} turn=${turn} /></div>`;
}

/* The worst answers, with what is wrong in them. */
function Worst({ most }) {
  const name = index.headline;
  const rows = name ? orderOf("worst").filter((i) => index.scores[name][i] !== null && index.verdictNames[index.verdicts[i]] !== "grounded").slice(0, most) : [];
  if (!rows.length) return null;
  return html`<section aria-label="The worst answers" id="worst"><h2>The ${rows.length === 1 ? "" : `${rows.length} `}worst answers</h2>
    <p class="quiet noprint">${index.verdicts.some((one) => one !== null) ? `Those called not grounded first, then partly; in each by ${name}.` : `By ${name}, ${index.lower.includes(name) ? "highest" : "lowest"} first.`} Open one to see each claim beside the passages: a click on a claim leads to its place.</p>
    <ol class="answer-list">${rows.map((i) => html`<${AnswerRow} key=${i} i=${i} metrics=${[name]} />`)}</ol></section>`;
}

TG.blocks.answers = ({ worst }) => !index ? null : worst ? html`<${Worst} most=${worst} />` : html`<${AnswerList} />`;

/* ---- an opened answer ---- */

function Opened({ id }) {
  const place = useRef(null);
  const [error, setError] = useState(null);
  const i = rowOf.get(id);
  useEffect(() => {
    let gone = false;
    const show = (detail) => {
      if (gone || !place.current) return;
      place.current.replaceChildren(...TG.drawAnswer(i, detail, id));
      place.current.querySelector("h1").focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    setError(null);
    if (i === undefined) show(null);
    else {
      const found = TG.detailOf(i);
      if (found instanceof Promise) found.then(show, () => setError("The details of this answer lie in report_items beside this page, and that folder cannot be read here."));
      else show(found);
    }
    return () => { gone = true; };
  }, [id]);
  return html`<main id="item">${error ? html`<p><a href=${listHash}>All answers</a></p><p class="warning" role="note">${error}</p>` : null}<div ref=${place}></div></main>`;
}

let leftAt = 0;
let leftId = null;
TG.opened = (hash) => {
  const match = /^#item-(.*)$/su.exec(hash);
  if (!index || !match) {
    if (leftId !== null) requestAnimationFrame(returnToList);
    return null;
  }
  let id = match[1];
  try { id = decodeURIComponent(id); } catch { /* a hand-written address: take it as it is */ }
  if (leftId === null) leftAt = scrollY;
  leftId = id;
  return html`<${Opened} id=${id} />`;
};

function returnToList() {
  const link = [...document.querySelectorAll(".answer-row > a")].find((a) => rowOf.has(leftId) && a.hash === linkTo(rowOf.get(leftId)));
  leftId = null;
  scrollTo({ top: leftAt, behavior: "instant" });
  link?.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  if (document.getElementById("item") === null || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea")) return;
  if (event.key === "Escape") location.hash = listHash;
  const step = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
  const listed = step ? TG.listed() : [];
  const next = listed[listed.indexOf(rowOf.get(leftId)) + step];
  if (step && next !== undefined) location.hash = linkTo(next);
});

TG.start = () => {
  if (!index?.file) return;
  loadScript("report_items/here.js").then(() => {}, () => { folderThere = false; dispatchEvent(new Event("tg-folder")); });
};

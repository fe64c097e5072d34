/* The answers of a run: the list, the worst first, that is searched, filtered, exported. They come
   from `TG.source` (source.js). */
const LIST = "#items";
const VERDICT_WORDS = { grounded: "grounded", partly_grounded: "partly grounded", not_grounded: "not grounded", abstained: "declined to answer", unscored: "not judged" };
const VERDICT_TONES = { grounded: "supported", partly_grounded: "partly", not_grounded: "unsupported", abstained: "unknown", unscored: "unknown" };
const VERDICT_SIGNS = { grounded: "✓", partly_grounded: "◐", not_grounded: "✗", abstained: "–", unscored: "?" };

/* What the list is drawn with; a server may tell more of it as a run goes on. */
const about = () => TG.source.about;

const scoreText = (metric, row) => {
  const value = row.scores[metric] ?? null;
  return value === null ? null : value.toFixed(about().whole.includes(metric) ? 0 : 4);
};
const reasonText = (metric, row) => about().statuses[row.status[metric]]?.[1] ?? "no score";
const wordsOfStatus = (status) => about().statuses.find(([name]) => name === status)?.[1];
const linkTo = (id) => "#item-" + encodeURIComponent(id);
const toneOf = (supported) => ({ 1: "supported", 0: "unsupported" }[supported] ?? "unknown");

/* A value that a source gives, at once or later; until then the last one. */
function useFound(ask, inputs) {
  const [, again] = useState(0);
  const last = useRef({});
  last.current = useMemo(() => {
    const asked = ask();
    if (!(asked instanceof Promise)) return { value: asked };
    const box = { value: last.current.value, waiting: true };
    const come = (value) => { Object.assign(box, value, { waiting: false }); again((n) => n + 1); };
    asked.then((value) => come({ value }), (error) => error.name !== "AbortError" && come({ error: error.message }));
    return box;
  }, inputs);
  return last.current;
}

/* ---- the state of the list stands in the address ---- */

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

/* ---- one answer in the list ---- */

/* Where these words stand in the text, counted in code points; not within other words. */
function placesOf(text, words) {
  const points = Array.from(text);
  const length = Array.from(words).length;
  const found = [];
  for (let at = words ? text.indexOf(words) : -1; at >= 0; at = text.indexOf(words, at + words.length)) {
    const from = points.length === text.length ? at : Array.from(text.slice(0, at)).length;
    const to = from + length;
    const inWord = /[\p{L}\p{N}]{2}/u.test((points[from - 1] ?? "") + points[from]) || /[\p{L}\p{N}]{2}/u.test(points[to - 1] + (points[to] ?? ""));
    if (!inWord) found.push([from, to]);
  }
  return found;
}

/* Spans [start, end, …] and, since a claim that is said twice counts once, the further places of their words. */
TG.everyPlace = (text, spans) => {
  const points = Array.from(text);
  const found = spans.filter(([start, end]) => Number.isInteger(start) && Number.isInteger(end) && start < end);
  for (const [start, end, ...rest] of [...found]) {
    for (const [from, to] of placesOf(text, points.slice(start, end).join(""))) {
      if (!found.some((span) => span[0] < to && span[1] > from)) found.push([from, to, ...rest]);
    }
  }
  return found;
};

/* Where the words in doubt stand in the text of a claim, in order and apart from each other. */
TG.doubtsIn = (text, words) => (words ?? []).flatMap((one) => placesOf(text, one)).sort((a, b) => a[0] - b[0] || b[1] - a[1])
  .reduce((kept, span) => kept.length && span[0] < kept.at(-1)[1] ? kept : [...kept, span], []);

/* A claim within an answer, lightly marked where some of its words are in doubt, and these strongly. */
function markedClaim(text, supported, doubts, key) {
  const points = Array.from(text);
  const inside = [];
  let at = 0;
  for (const [from, to] of TG.doubtsIn(text, doubts)) {
    inside.push(points.slice(at, from).join(""), html`<b key=${from} class="doubt">${points.slice(from, to).join("")}</b>`);
    at = to;
  }
  return html`<mark key=${key} class=${`claim ${toneOf(supported)}${at ? " light" : ""}`}>${inside}${points.slice(at).join("")}</mark>`;
}

const SEEN = 150;  // characters that two lines have room for

/* The answer with its claims marked, cut to about `most` characters around the first doubt. */
function markedAnswer(row, most) {
  const text = row.response;
  if (text === null || text === undefined) return null;
  if (!text) return html`<em class="quiet">(empty answer)</em>`;
  const points = Array.from(text);
  const spans = TG.everyPlace(text, row.claims).sort((a, b) => a[0] - b[0]);
  const [first, end, , words] = spans.find(([, , supported]) => supported === 0) ?? [0, 0];
  const [within, length] = TG.doubtsIn(points.slice(first, end).join(""), words)[0] ?? [0, Math.min(end - first, SEEN / 2)];
  const from = first + length > SEEN ? Math.max(0, points.indexOf(" ", first + within - SEEN / 3) + 1) : 0;
  const to = Math.min(points.length, from + most);
  const parts = [from ? "…" : ""];
  let at = from;
  for (const [start, end, supported, doubts] of spans) {
    if (end <= at || start >= to) continue;
    parts.push(points.slice(at, Math.max(at, start)).join(""));
    parts.push(markedClaim(points.slice(Math.max(at, start), Math.min(end, to)).join(""), supported, doubts, start));
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

function Verdict({ name }) {
  return name ? html`<span class=${`badge ${VERDICT_TONES[name]}`}>${VERDICT_SIGNS[name]} ${VERDICT_WORDS[name]}</span>` : null;
}

function AnswerRow({ row, metrics }) {
  return html`<li class="answer-row"><a dir="auto" class=${row.question ? null : "said"} href=${linkTo(row.id)}>${row.question || (row.response ? markedAnswer(row, 240) : row.id)}</a>
    ${row.question ? html`<p class="answer" dir="auto">${markedAnswer(row, 240)}</p>` : null}
    <p class="facts"><${Verdict} name=${row.verdict} /><${Strip} claims=${row.claims} />
    ${metrics.map((metric) => html`<span key=${metric} class="tag">${metric} ${scoreText(metric, row) ?? reasonText(metric, row)}</span>`)}
    ${row.kinds.map((kind) => html`<span key=${kind} class="tag">${about().kindWords[kind]}</span>`)}
    <span class="quiet id">${row.id}</span></p></li>`;
}

/* ---- the list ---- */

function shownMetrics(state) {
  const sorted = state.sort.replace(/^[+-]/u, "");
  return [...new Set([about().headline, state.metric, about().metrics.includes(sorted) ? sorted : null].filter((one) => one))].slice(0, 3);
}

function AnswerList() {
  const [told, again] = useState(0);
  useLayoutEffect(() => {
    const redraw = () => again((n) => n + 1);
    const follow = () => { if (location.hash.startsWith(LIST)) { listHash = location.hash; redraw(); } };
    addEventListener("tg-list", follow);
    addEventListener("hashchange", follow);
    addEventListener("tg-source", redraw);
    redraw();  // what was told before the list could hear of it
    follow();
    return () => { removeEventListener("tg-list", follow); removeEventListener("hashchange", follow); removeEventListener("tg-source", redraw); };
  }, []);
  const { headline, metrics, statuses, verdictNames, kindNames, kindWords, judged, kindsThere } = about();
  const state = stateOf(listHash);
  const { value: listed, error } = useFound(() => TG.source.list(state, state.page), [listHash, told]);
  /* A list that comes later makes the page longer: only then can it be scrolled to. */
  useEffect(() => { if (listed && location.hash.startsWith(LIST)) document.getElementById("items")?.scrollIntoView({ behavior: "instant" }); }, [Boolean(listed)]);
  const set = (change) => setState({ ...state, page: 0, ...change });
  const turn = (to) => { setState({ ...state, page: to }); document.getElementById("items")?.scrollIntoView(); };
  const on = (name) => (event) => set({ [name]: event.target.value });
  const shown = shownMetrics(state);
  const fields = about().fields.filter(([, values]) => values.length > 1 && values.length <= 500);
  return html`<div class="answers"><form id="filters" class="filters noprint" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label class="grow">Search <input type="search" id="text" placeholder="id, question or answer" autocomplete="off" value=${state.q} onInput=${on("q")} /></label>
    ${judged ? html`<label>Verdict <select id="verdict" value=${state.verdict} onChange=${on("verdict")}><option value="">all</option>${verdictNames.map((name) => html`<option key=${name} value=${name}>${VERDICT_WORDS[name] ?? name}</option>`)}</select></label>` : null}
    ${kindsThere.length ? html`<label>Reason <select id="kind" value=${state.kind} onChange=${on("kind")}><option value="">any</option>${kindsThere.map((kind) => html`<option key=${kind} value=${kind}>${kindWords[kindNames.indexOf(kind)]}</option>`)}</select></label>` : null}
    <label>Sort by <select id="sort" value=${state.sort} onChange=${on("sort")}><option value="worst">worst first</option><option value="+row">input order</option><option value="+id">id</option>
      ${metrics.flatMap((metric) => [html`<option key=${`+${metric}`} value=${`+${metric}`}>${metric}, lowest first</option>`, html`<option key=${`-${metric}`} value=${`-${metric}`}>${metric}, highest first</option>`])}</select></label>
    ${fields.map(([field, values]) => html`<label key=${field}>${field} <select class="by" value=${state.by[field] ?? ""} onChange=${(event) => set({ by: { ...state.by, [field]: event.target.value } })}><option value="">all</option>${values.map((value) => html`<option key=${value} value=${value}>${value}</option>`)}</select></label>`)}
    <details class="more" open=${Boolean(state.metric || state.low || state.high || state.status)}><summary>Scores</summary><div class="filters">
      <label>Metric <select id="metric" value=${state.metric || headline || ""} onChange=${on("metric")}>${metrics.map((metric) => html`<option key=${metric} value=${metric}>${metric}</option>`)}</select></label>
      <label>from <input type="number" id="low" step="any" inputmode="decimal" value=${state.low} onInput=${on("low")} /></label>
      <label>to <input type="number" id="high" step="any" inputmode="decimal" value=${state.high} onInput=${on("high")} /></label>
      <label>Status <select id="status" value=${state.status} onChange=${on("status")}><option value="">any</option>${statuses.map(([name, words]) => html`<option key=${name} value=${name}>${words}</option>`)}</select></label></div></details>
    <button type="button" id="reset" onClick=${() => setState({ ...NOTHING, by: {} })}>Reset</button>
    <button type="button" id="save-csv" onClick=${() => TG.source.save(state, "csv")}>CSV</button>
    <button type="button" id="save-jsonl" onClick=${() => TG.source.save(state, "jsonl")}>JSONL</button></form>
    ${TG.source.note ? html`<p class="note" role="note">${TG.source.note}</p>` : null}
    ${error ? html`<p class="warning" role="note">${error}</p>` : null}
    ${state.sort === "worst" && headline ? html`<p class="quiet noprint">${judged ? `Those called not grounded first, then those partly grounded; in each by ${headline}.` : `By ${headline}, ${about().lower.includes(headline) ? "highest" : "lowest"} first.`} Open an answer to see its claims and passages. Click a claim to see its passage.</p>` : null}
    ${listed ? html`<p class="quiet" id="count" role="status">${listed.count === listed.total ? `${count(listed.total)} answers` : `${count(listed.count)} of ${count(listed.total)} answers match`}</p>
    <ol class="answer-list" id="list">${listed.rows.map((row) => html`<${AnswerRow} key=${row.n} row=${row} metrics=${shown} />`)}</ol>
    <${Pager} page=${listed.page} pages=${listed.pages} turn=${turn} />` : null}</div>`;
}

TG.blocks.answers = () => TG.source ? html`<${AnswerList} />` : null;

/* ---- an opened answer ---- */

/* The answers before and after the one that is open. */
let around = { before: null, after: null };

/* Calls `take` with a value that is there, or once it is; `refuse` with the error. */
const once = (value, take, refuse) => value instanceof Promise ? void value.then(take).catch(refuse) : take(value);

function Opened({ id }) {
  const place = useRef(null);
  const [error, setError] = useState(null);
  useLayoutEffect(() => {
    let gone = false;
    const fail = (reason) => { if (!gone) setError(reason.message); };
    setError(null);
    around = { before: null, after: null };
    once(TG.source.open(id, stateOf(listHash)), (found) => {
      if (gone) return;
      around = found;
      once(found.detail, (detail) => {
        if (gone || !place.current) return;
        place.current.replaceChildren(...TG.drawAnswer(id, found, detail));
        place.current.querySelector("h1").focus({ preventScroll: true });
        scrollTo({ top: 0, behavior: "instant" });
      }, fail);
    }, fail);
    return () => { gone = true; };
  }, [id]);
  return html`<main id="item">${error ? html`<p><a href=${listHash}>All answers</a></p><p class="warning" role="note">${error}</p>` : null}<div ref=${place}></div></main>`;
}

let leftAt = 0;
let leftId = null;
TG.opened = (hash) => {
  const match = /^#item-(.*)$/su.exec(hash);
  if (!TG.source || !match) {
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
  const link = [...document.querySelectorAll(".answer-row > a")].find((a) => a.hash === linkTo(leftId));
  leftId = null;
  scrollTo({ top: leftAt, behavior: "instant" });
  link?.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
  if (document.getElementById("item") === null || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea")) return;
  if (event.key === "Escape") location.hash = listHash;
  const next = { j: around.after, ArrowRight: around.after, k: around.before, ArrowLeft: around.before }[event.key] ?? null;
  if (next !== null) location.hash = linkTo(next);
});

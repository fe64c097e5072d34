/* Where a page finds its answers: a source lists, finds and opens them. This one reads the page's own
   blocks, and the files beside it; a server's is another, with the same functions (`TG.source`):

     about   what the list is drawn with; total  how many answers there are
     list(state, page)  {total, count, page, pages, rows}, or a promise of it
     open(id, state)    {row, before, after, detail}, or a promise of it; `detail` may be a promise
     save(state, kind)  hands all that is listed to the reader, as "csv" or "jsonl"

   A row is {n, id, question, response, verdict, claims, kinds, scores, status, by}. */
const read = (name) => {
  const block = document.getElementById(name);
  return block && JSON.parse(block.type === "application/zstd" ? unpack(block.textContent) : block.textContent);
};

/* The text of a compressed block. */
function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  return new TextDecoder().decode(fzstd.decompress(packed));
}
const NOTHING = { q: "", verdict: "", kind: "", status: "", metric: "", low: "", high: "", sort: "worst", page: 0, by: {} };
const collator = new Intl.Collator("en", { numeric: true });

function loadScript(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", () => { script.remove(); resolve(); });
    script.addEventListener("error", () => { script.remove(); reject(new Error(source)); });
    document.head.append(script);
  });
}

function saveText(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* The text as no spreadsheet runs it, as records/spreadsheets.py has it. */
const BLANK = String.raw`\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"`;
const BEGINS = String.raw`[=+\-@＝＋－＠']`;
const FORMULA = new RegExp(String.raw`^(?:[${BLANK}]*${BEGINS}|[\t\r\n])`, "u");
const INNER = new RegExp(String.raw`([;|\t-\r\x1c-\x1f\x85\u2028\u2029][${BLANK}]*)(?=${BEGINS})`, "gu");
const guardFormulas = (text) => (FORMULA.test(text) ? "'" : "") + text.replace(INNER, "$1'");

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

/* The answers that stand in the page; null where it has none. */
TG.pageSource = () => {
  const index = readIndex();
  if (!index) return null;
  const total = index.ids.length;
  const rowOf = new Map(index.ids.map((id, i) => [id, i]));
  const inside = index.inside ? new Map(index.inside.map((i, k) => [i, k])) : null;
  let folderThere = index.file ? null : true;

  const pick = (columns, i) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[i]]));
  const rowAt = (i) => ({
    n: index.rows[i], id: index.ids[i], question: index.questions[i], response: index.responses[i],
    verdict: index.verdictNames[index.verdicts[i]] ?? null, claims: index.claims[i], kinds: index.kinds[i],
    scores: pick(index.scores, i), status: pick(index.status, i), by: pick(index.by, i),
  });

  /* ---- details: in the page, or in a file beside it ---- */

  const files = new Map();
  const waiting = new Map();
  let lastBlock = { number: -1, items: [] };
  TG.here = () => { folderThere = true; };
  TG.loaded = (number, items) => {
    files.set(number, items);
    if (files.size > 8) files.delete(files.keys().next().value);
  };

  function insideBlock(k) {
    const number = Math.floor(k / index.block);
    if (lastBlock.number !== number) lastBlock = { number, items: read(`block-${number}`) };
    return lastBlock.items[k % index.block];
  }

  /* The details of an answer, or a promise of them. */
  function detailOf(i) {
    if (!inside) return insideBlock(i);
    if (inside.has(i)) return insideBlock(inside.get(i));
    const number = Math.floor(i / index.file);
    const found = () => files.get(number)[i % index.file];
    if (files.has(number)) return found();
    if (!waiting.has(number)) waiting.set(number, loadScript(`report_items/${number}.js`).finally(() => waiting.delete(number)));
    return waiting.get(number).then(found, () => {
      throw new Error("The details of this answer are in the folder report_items, which is missing or can't be read. Keep it in the folder of this page.");
    });
  }

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
      && (!state.status || index.statuses[index.status[metric]?.[i]]?.[0] === state.status)
      && ((Number.isNaN(low) && Number.isNaN(high)) || (index.scores[metric][i] !== null && !(index.scores[metric][i] < low) && !(index.scores[metric][i] > high)))
      && by.every(([field, value]) => (index.by[field]?.[i] ?? "(none)") === value)
      && words.every((word) => haystack(i).includes(word));
  }

  const orders = new Map();
  /* Worst first: not grounded, partly grounded, grounded; in each the headline's worst value; those without last. */
  const RANKS = { not_grounded: 0, partly_grounded: 1, grounded: 2 };
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

  let last = { key: null, listed: [] };
  function listed(state) {
    const key = JSON.stringify([{ ...state, page: 0 }, folderThere]);
    if (last.key !== key) last = { key, listed: orderOf(state.sort).filter(matches(state)) };
    return last.listed;
  }

  /* ---- export ---- */

  /* The claims of an answer that are not supported, and why, as runs/worst.py has them. */
  function unsupportedOf(i, detail) {
    const declines = index.verdictNames[index.verdicts[i]] === "abstained";  // that it declines is no claim
    const claims = declines ? [] : (detail.views[0]?.claims ?? []).filter(({ supported }) => supported === false);
    return { unsupported: claims.map(({ text }) => text), reasons: claims.map(({ reasons }) => (reasons ?? []).join("; ")) };
  }

  /* The rows with their details, of which few are in memory at a time: those are read in their own order. */
  async function exported(rows) {
    const taken = new Set(["id", "question", "response", "verdict", "score", "unsupported", "reasons", "scores", ...index.metrics]);
    const fields = Object.keys(index.by).map((field) => [taken.has(field) ? `by.${field}` : field, index.by[field]]);  // a field of the user's may be called as one of ours
    const told = new Map();
    for (const i of rows.toSorted((a, b) => a - b)) {
      const detail = await detailOf(i);
      told.set(i, { id: index.ids[i], question: detail.question ?? index.questions[i], response: detail.response ?? index.responses[i],
        verdict: index.verdictNames[index.verdicts[i]] ?? null, score: index.scores[index.headline]?.[i] ?? null, ...unsupportedOf(i, detail),
        ...Object.fromEntries(fields.map(([name, values]) => [name, values[i]])),
        scores: Object.fromEntries(index.metrics.map((metric) => [metric, index.scores[metric][i]])) });
    }
    return rows.map((i) => told.get(i));
  }

  function csv(told) {
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : typeof value === "number" ? String(value) : guardFormulas(Array.isArray(value) ? value.join("\n") : value);
      return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const flat = told.map(({ scores, ...rest }) => ({ ...rest, ...scores }));
    const head = Object.keys(flat[0] ?? { id: "" });
    return [head, ...flat.map((one) => head.map((name) => one[name]))].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  }

  if (index.file) loadScript("report_items/here.js").then(() => {}, () => { folderThere = false; dispatchEvent(new Event("tg-source")); });
  const valuesOf = (field) => [...new Set(index.by[field].map((value) => value ?? "(none)"))].sort(collator.compare);
  const about = {
    ...index, scores: undefined, judged: index.verdicts.some((one) => one !== null),
    fields: Object.keys(index.by).map((field) => [field, valuesOf(field)]),
    kindsThere: index.kindNames.filter((_, k) => index.kinds.some((own) => own.includes(k))),
    whole: index.metrics.filter((metric) => index.scores[metric]?.every((value) => value === null || Number.isInteger(value))),
  };
  return {
    about, total,
    get note() { return index.statement && folderThere === false ? `The folder report_items is missing next to this page: ${index.statement}` : null; },
    list(state, page) {
      const found = listed(state);
      const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
      const here = Math.min(page, pages - 1);
      return { total, count: found.length, page: here, pages, rows: found.slice(here * PAGE_SIZE, (here + 1) * PAGE_SIZE).map(rowAt) };
    },
    open(id, state) {
      const i = rowOf.get(id);
      if (i === undefined) return { row: null, before: null, after: null, detail: null };
      const among = listed(state);
      const place = among.indexOf(i);
      const near = (k) => place >= 0 && k in among ? index.ids[among[k]] : null;
      return { row: rowAt(i), before: near(place - 1), after: near(place + 1), detail: detailOf(i) };
    },
    async save(state, kind) {
      const told = await exported(listed(state));
      if (kind === "csv") saveText("answers.csv", "text/csv", csv(told));
      else saveText("answers.jsonl", "application/jsonl", told.map((one) => JSON.stringify(one)).join("\n") + "\n");
    },
  };
};

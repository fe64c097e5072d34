/* Every kind of block, drawn from the page's JSON. Texts are set as texts, never as markup. */
"use strict";
const { html, render, Component, useState, useEffect, useLayoutEffect, useRef, useMemo } = htmPreact;
const TG = { blocks: {} };

/* ---- texts and numbers ---- */

const count = (n) => n.toLocaleString("en");
const SIGNS = { supported: "✓", partly: "◐", unsupported: "✗", unknown: "–" };

function spanOf(span, key) {
  if (typeof span === "string") return span;
  const { text, style, href, title } = span;
  if (href) return html`<a key=${key} href=${TG.safe(href)} title=${title}>${text}</a>`;
  const tags = { strong: "strong", code: "code", mark: "mark", added: "ins", removed: "del" };
  const Tag = tags[style] ?? "span";
  const badge = SIGNS[style] ? html`<span class="sign" aria-hidden="true">${SIGNS[style]} </span>` : null;
  return html`<${Tag} key=${key} class=${style} title=${title}>${badge}${text}</${Tag}>`;
}

/* Links lead to places on the page, to files beside it, or to the web: never to a script. */
TG.safe = (href) => /^\s*(?:javascript|data|vbscript):/iu.test(href) ? null : href;
const rich = (text) => Array.isArray(text) ? text.map(spanOf) : text;
const plain = (text) => Array.isArray(text) ? text.map((one) => typeof one === "string" ? one : one.text).join("") : text ?? "";

function numberText(value, column = {}) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1e15) return value.toExponential(4);
  const sign = column.signed && value > 0 ? "+" : "";
  if (column.percent) return `${sign}${(100 * value).toFixed(column.digits ?? 1)}${column.signed ? "" : " %"}`;
  if (column.digits !== undefined) return sign + value.toLocaleString("en", { minimumFractionDigits: column.digits, maximumFractionDigits: column.digits });
  return sign + (Number.isInteger(value) ? count(value) : value.toFixed(4));
}

const valueOf = (cell) => cell && typeof cell === "object" && !Array.isArray(cell) ? cell.rank ?? cell.value ?? null : cell;
const clamp = (value) => Math.min(Math.max(value, 0), 1);

/* ---- blocks ---- */

const draw = (blocks) => (blocks ?? []).map((block, k) => {
  const Drawn = TG.blocks[block.type];
  return Drawn ? html`<${Drawn} key=${k} ...${block} />` : null;
});

Object.assign(TG.blocks, {
  text: ({ text, tone = "plain" }) => tone === "command"
    ? html`<pre class="command">${rich(text)}</pre>`
    : html`<p class=${tone} role=${tone === "warning" || tone === "note" ? "note" : null}>${rich(text)}</p>`,

  bullets: ({ items }) => html`<ul>${items.map((item, k) => html`<li key=${k}>${rich(item)}</li>`)}</ul>`,

  section: ({ title, blocks, id, fold }) => fold
    ? html`<section id=${id} aria-label=${plain(title)}><details open class="part"><summary><h2>${rich(title)}</h2></summary>${draw(blocks)}</details></section>`
    : html`<section id=${id} aria-label=${plain(title)}><h2>${rich(title)}</h2>${draw(blocks)}</section>`,

  fold: ({ title, blocks, open }) => html`<${Fold} title=${title} open=${open}>${() => draw(blocks)}<//>`,

  grid: ({ blocks, least = 18 }) => html`<div class="grid" style=${{ "--least": `${least}rem` }}>${blocks.map((block, k) => html`<div key=${k}>${draw([block])}</div>`)}</div>`,

  choice: ({ label, options, chosen = 0 }) => {
    const [place, setPlace] = useState(chosen);
    return html`<div class="choice"><label class="noprint">${label} <select value=${place} onChange=${(event) => setPlace(Number(event.target.value))}>
      ${options.map(([name], k) => html`<option key=${k} value=${k}>${name}</option>`)}</select></label>${draw(options[place]?.[1])}</div>`;
  },

  tiles: ({ tiles, small }) => html`<div class=${small ? "tiles small" : "tiles"}>${tiles.map((tile, k) => html`<${Tile} key=${k} ...${tile} />`)}</div>`,
});

/* What is folded is drawn when it is first opened, and for printing stays as it is. */
function Fold({ title, open, children }) {
  const [seen, setSeen] = useState(Boolean(open));
  return html`<details open=${open} onToggle=${(event) => event.target.open && setSeen(true)}>
    <summary>${rich(title)}</summary><div class="folded">${seen ? children() : null}</div></details>`;
}

function Tile({ label, value, note, tone, filter }) {
  const inside = html`<span class="value">${value}</span><span class="label">${SIGNS[tone] ? `${SIGNS[tone]} ` : ""}${label}</span><span class="quiet">${note}</span>`;
  if (!filter) return html`<div class=${`tile ${tone ?? ""}`}>${inside}</div>`;
  return html`<button type="button" class=${`tile ${tone ?? ""}`} onClick=${() => TG.filter(filter)}>${inside}</button>`;
}

/* ---- tables ---- */

function Whisker({ cell, column }) {
  const { low = 0, high = 1 } = column;
  const at = (value) => `${100 * clamp((value - low) / (high - low || 1))}%`;
  if (cell.value === null || cell.value === undefined) return null;
  const bar = cell.low === undefined || cell.high === undefined ? null
    : html`<span class="range" style=${{ left: at(cell.low), width: `${100 * (clamp((cell.high - low) / (high - low || 1)) - clamp((cell.low - low) / (high - low || 1)))}%` }}></span>`;
  const zero = low < 0 && high > 0 ? html`<span class="zero" style=${{ left: at(0) }}></span>` : null;
  return html`<span class="whisker" aria-hidden="true">${zero}${bar}<span class="dot" style=${{ left: at(cell.value) }}></span></span>`;
}

function CellOf({ cell, column, best }) {
  const label = plain(column.label);
  if (column.kind === "estimate") {
    const one = cell && typeof cell === "object" && !Array.isArray(cell) ? cell : { value: cell };
    if (typeof one.value === "string" || Array.isArray(cell)) return html`<td data-label=${label} class="quiet">${rich(cell)}</td>`;
    const ends = one.low === undefined || one.low === null ? null : html`<span class="quiet ends">${numberText(one.low, column)} to ${numberText(one.high, column)}</span>`;
    return html`<td data-label=${label} class="estimate"><span class=${best ? "best" : null}>${numberText(one.value, column)}</span> ${ends}<${Whisker} cell=${one} column=${column} />${one.note ? html`<span class="quiet note">${one.note}</span>` : null}</td>`;
  }
  if (typeof cell === "number" || (column.kind === "number" && (cell === null || cell === undefined))) {
    return html`<td data-label=${label} class=${`num ${best ? "best" : ""}`}>${numberText(cell, column)}</td>`;
  }
  if (typeof cell === "boolean") return html`<td data-label=${label}>${cell ? "yes" : "no"}</td>`;
  if (cell && typeof cell === "object" && !Array.isArray(cell)) return html`<td data-label=${label} class="num">${numberText(cell.value, column)}</td>`;
  return html`<td data-label=${label} class=${column.kind === "number" ? "num" : null}>${column.kind === "code" ? html`<code>${rich(cell)}</code>` : rich(cell)}</td>`;
}

/* The place of the best value among rows that may be ranked. */
function bestOf(column, rows, k) {
  if (!column.better) return null;
  const values = rows.filter((row) => row.tone !== "apart" && row.tone !== "group").map((row) => row.cells[k]).filter((cell) => !cell?.apart).map(valueOf).filter((value) => typeof value === "number");
  if (values.length < 2) return null;
  return column.better === "high" ? Math.max(...values) : Math.min(...values);
}

/* Two rows that were chosen, and where they lead; the upper one is set against the lower. */
function Pair({ pair, rows, chosen, clear }) {
  const keys = rows.map((row) => row.key);
  const [b, a] = [...chosen].sort((x, y) => keys.indexOf(x) - keys.indexOf(y));
  const name = (key) => plain(rows[keys.indexOf(key)].cells[0]);
  const why = a && pair.refused?.[`${a} ${b}`];
  const href = a && pair.href.replace("{a}", encodeURIComponent(a)).replace("{b}", encodeURIComponent(b));
  return html`<p class="pair noprint" role="status">${!a ? `${pair.words}: choose ${b ? "one more" : "two"}.`
    : why ? html`<bdi>${name(b)}</bdi> and <bdi>${name(a)}</bdi>: ${why}` : html`<a class="go" href=${href}>${pair.words}: <bdi>${name(b)}</bdi> against <bdi>${name(a)}</bdi></a>`}
    ${b ? html` <button type="button" onClick=${clear}>Clear</button>` : null}</p>`;
}

/* Whether all of the words stand in the texts of a row. */
function hasWords(row, words) {
  const text = [...row.cells.map((cell) => plain(cell?.note ?? cell)), row.title].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

TG.blocks.table = ({ columns, rows: every, caption, sortable, pair, search }) => {
  const [order, setOrder] = useState(null);
  const [sought, setSought] = useState("");
  const words = sought.toLowerCase().split(/\s+/u).filter((word) => word);
  const rows = useMemo(() => words.length ? every.filter((row) => hasWords(row, words)) : every, [every, sought]);
  const [chosen, setChosen] = useState([]);
  const choose = (key) => setChosen(chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key].slice(-2));
  const there = chosen.filter((key) => every.some((row) => row.key === key));
  const best = columns.map((column, k) => bestOf(column, rows, k));
  const shown = useMemo(() => {
    if (!order) return rows;
    const key = (row) => valueOf(row.cells[order.k]);
    const free = rows.filter((row) => row.tone !== "group" && row.tone !== "total");
    const rest = rows.filter((row) => row.tone === "total");
    const sign = order.down ? -1 : 1;
    return [...free.sort((a, b) => {
      if ((a.tone === "apart") !== (b.tone === "apart")) return a.tone === "apart" ? 1 : -1;
      const [left, right] = [key(a), key(b)];
      if (typeof left !== "number" || typeof right !== "number") return (typeof left !== "number") - (typeof right !== "number") || String(plain(left)).localeCompare(String(plain(right)), "en", { numeric: true }) * sign;
      return sign * (left - right);
    }), ...rest];
  }, [order, rows]);
  const head = (column, k) => {
    const numeric = column.kind === "number" || column.kind === "estimate";
    const label = column.kind === "code" ? rich(column.label) : rich(column.label);
    const active = order?.k === k;
    const turn = () => setOrder({ k, down: active ? !order.down : numeric && column.better !== "low" });
    return html`<th key=${k} scope="col" class=${column.kind === "number" ? "num" : null} title=${column.note} aria-sort=${active ? (order.down ? "descending" : "ascending") : null}>
      ${sortable ? html`<button type="button" class="plain" onClick=${turn}>${label}</button>` : label}</th>`;
  };
  return html`<figure class="table">${caption ? html`<figcaption>${rich(caption)}</figcaption>` : null}
    ${search ? html`<form class="filters noprint" role="search" onSubmit=${(event) => event.preventDefault()}><label class="grow">Search <input type="search" value=${sought} onInput=${(event) => setSought(event.target.value)} /></label>
      <p class="quiet" role="status">${words.length ? `${count(rows.length)} of ${count(every.length)}` : ""}</p></form>` : null}
    ${pair ? html`<${Pair} pair=${pair} rows=${every} chosen=${there} clear=${() => setChosen([])} />` : null}
    <div class="scroll" tabindex="0" role="region" aria-label=${plain(caption) || "table"}><table><thead><tr>${columns.map(head)}</tr></thead><tbody>
    ${shown.map((row, i) => row.tone === "group"
      ? html`<tr key=${i} class="group"><th scope="rowgroup" colspan=${columns.length}>${rich(row.cells[0])}</th></tr>`
      : html`<tr key=${row.key ?? i} class=${row.tone} title=${row.title}>${row.cells.map((cell, k) => k === 0
        ? html`<th scope="row">${pair && row.key ? html`<input type="checkbox" aria-label=${`choose ${plain(cell)}`} checked=${chosen.includes(row.key)} onChange=${() => choose(row.key)} /> ` : null}${columns[0].kind === "code" ? html`<code>${rich(cell)}</code>` : typeof cell === "number" ? numberText(cell, columns[0]) : rich(cell)}${row.title ? html`<span class="quiet note">${row.title}</span>` : null}</th>`
        : html`<${CellOf} key=${k} cell=${cell} column=${columns[k]} best=${best[k] !== null && row.tone !== "apart" && !cell?.apart && valueOf(cell) === best[k]} />`)}</tr>`)}
    </tbody></table></div></figure>`;
};

/* ---- lists that are searched, filtered and sorted ---- */

const PAGE_SIZE = 50;

function Pager({ page, pages, turn }) {
  if (pages < 2) return null;
  return html`<nav class="pager noprint" aria-label="Pages of the list">
    <button type="button" disabled=${page === 0} onClick=${() => turn(page - 1)}>Previous</button>
    <span class="quiet">page ${count(page + 1)} of ${count(pages)}</span>
    <button type="button" disabled=${page + 1 >= pages} onClick=${() => turn(page + 1)}>Next</button></nav>`;
}

function EntryOf({ entry }) {
  const tags = Object.entries(entry.tags ?? {});
  const head = html`<span class="what">${rich(entry.title)}</span>
    ${entry.note ? html`<span class="entry-note quiet">${rich(entry.note)}</span>` : null}
    <span class="facts">${Object.entries(entry.values ?? {}).map(([name, value]) => html`<span key=${name} class="tag">${name} ${numberText(value, { signed: name === "change" })}</span>`)}
    ${tags.map(([name, value]) => html`<span key=${name} class="tag">${name}: ${value}</span>`)}</span>`;
  return entry.blocks?.length
    ? html`<details class="entry" open=${entry.open}><summary>${head}</summary><div class="folded">${draw(entry.blocks)}</div></details>`
    : html`<div class="entry">${head}</div>`;
}

TG.blocks.entries = ({ entries, noun = "item", search = true }) => {
  const [words, setWords] = useState("");
  const [tags, setTags] = useState({});
  const [sort, setSort] = useState("");
  const [page, setPage] = useState(0);
  const haystacks = useMemo(() => entries.map((entry) => JSON.stringify([plain(entry.title), plain(entry.note), entry.blocks]).toLowerCase()), [entries]);
  const names = [...new Set(entries.flatMap((entry) => Object.keys(entry.tags ?? {})))];
  const measures = [...new Set(entries.flatMap((entry) => Object.keys(entry.values ?? {})))];
  const wanted = words.toLowerCase().split(/\s+/u).filter((word) => word);
  let shown = entries.filter((entry, i) => wanted.every((word) => haystacks[i].includes(word))
    && Object.entries(tags).every(([name, value]) => value === "" || entry.tags?.[name] === value));
  if (sort) {
    const [sign, name] = [sort[0] === "-" ? -1 : 1, sort.slice(1)];
    shown = [...shown].sort((a, b) => {
      const [left, right] = [a.values?.[name] ?? null, b.values?.[name] ?? null];
      return left === null || right === null ? (left === null) - (right === null) : sign * (left - right);
    });
  }
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_SIZE));
  const here = Math.min(page, pages - 1);
  const set = (change) => (event) => { change(event.target.value); setPage(0); };
  return html`<div class="entries">${entries.length > 3 ? html`<form class="filters noprint" onSubmit=${(event) => event.preventDefault()}>
      ${search ? html`<label class="grow">Search <input type="search" value=${words} onInput=${set(setWords)} /></label>` : null}
      ${names.map((name) => {
        const values = [...new Set(entries.map((entry) => entry.tags?.[name]).filter((value) => value !== undefined))].sort();
        return values.length < 2 ? null : html`<label key=${name}>${name} <select value=${tags[name] ?? ""} onChange=${set((value) => setTags({ ...tags, [name]: value }))}>
          <option value="">all</option>${values.map((value) => html`<option key=${value} value=${value}>${value}</option>`)}</select></label>`;
      })}
      ${measures.length ? html`<label>Sort by <select value=${sort} onChange=${set(setSort)}><option value="">order of the list</option>
        ${measures.flatMap((name) => [html`<option key=${`+${name}`} value=${`+${name}`}>${name}, lowest first</option>`, html`<option key=${`-${name}`} value=${`-${name}`}>${name}, highest first</option>`])}</select></label>` : null}
    </form><p class="quiet" role="status">${shown.length === entries.length ? count(entries.length) : `${count(shown.length)} of ${count(entries.length)}`} ${noun}${entries.length === 1 ? "" : "s"}</p>` : null}
    ${shown.slice(here * PAGE_SIZE, (here + 1) * PAGE_SIZE).map((entry) => html`<${EntryOf} key=${entries.indexOf(entry)} entry=${entry} />`)}
    <${Pager} page=${here} pages=${pages} turn=${setPage} /></div>`;
};

/* Texts of people and models: set as texts, never as markup. Places count code points, as Python does. */
const { html, useEffect, useRef } = htmPreact;

/* A text cut where marks begin and end: [{text, start, end, marks}]. */
export function cut(text, marks) {
  const points = Array.from(text);
  const placed = marks.filter(({ start, end }) => Number.isInteger(start) && Number.isInteger(end) && start < end);
  const edges = [...new Set([0, points.length, ...placed.flatMap(({ start, end }) => [start, end])])]
    .filter((edge) => edge >= 0 && edge <= points.length).sort((a, b) => a - b);
  return edges.slice(1).map((end, k) => ({
    text: points.slice(edges[k], end).join(""), start: edges[k], end,
    marks: placed.filter((mark) => mark.start <= edges[k] && mark.end >= end),
  }));
}

/* A text with marks, each {start, end, name}; a mark named "hint" is scrolled to. */
export function Marked({ text, marks = [] }) {
  const hint = useRef(null);
  const at = marks.find((mark) => mark.name === "hint")?.start;
  useEffect(() => { if (at !== undefined) hint.current?.scrollIntoView({ block: "center", inline: "nearest" }); }, [at, marks]);
  return html`<p class="text" dir="auto">${cut(text, marks).map((piece, k) => {
    const names = piece.marks.map((mark) => mark.name);
    return names.length ? html`<mark key=${k} class=${names.join(" ")} ref=${names.includes("hint") ? hint : null}>${piece.text}</mark>` : piece.text;
  })}</p>`;
}

const styled = (line) => line.split(/(`[^`]+`|\*\*[^*]+\*\*)/u).map((part, k) => part.startsWith("`") && part.length > 2 ? html`<code key=${k}>${part.slice(1, -1)}</code>`
  : part.startsWith("**") && part.length > 4 ? html`<strong key=${k}>${part.slice(2, -2)}</strong>` : part);

/* The little Markdown of instructions: paragraphs, lists, headings, `code`, **bold**. */
export function Markdown({ text }) {
  const blocks = [];
  let open = null;
  for (const line of text.split("\n")) {
    const heading = line.match(/^#+ (.*)/u), item = line.match(/^[-*] (.*)/u);
    if (!line.trim()) open = null;
    else if (heading) { blocks.push({ tag: "h3", lines: [heading[1]] }); open = null; }
    else if (item) {
      if (blocks.at(-1)?.tag !== "ul") blocks.push({ tag: "ul", items: [] });
      open = { lines: [item[1]] };
      blocks.at(-1).items.push(open);
    } else if (open) open.lines.push(line.trim());
    else { open = { tag: "p", lines: [line] }; blocks.push(open); }
  }
  return blocks.map(({ tag, lines, items }, k) => tag === "ul"
    ? html`<ul key=${k}>${items.map((item, i) => html`<li key=${i}>${styled(item.lines.join(" "))}</li>`)}</ul>`
    : tag === "h3" ? html`<h3 key=${k}>${styled(lines[0])}</h3>` : html`<p key=${k}>${styled(lines.join(" "))}</p>`);
}

/* A window over the page; Escape closes it. */
export function Dialog({ title, close, children }) {
  const place = useRef(null), last = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    last.current.focus({ preventScroll: true });  // what is long is read from its beginning
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${place} aria-label=${title} onClose=${close}>
    <h2>${title}</h2>${children}
    <form method="dialog"><button ref=${last}>Close</button></form></dialog>`;
}

/* A field's value, or all of a label's, in words. */
export const inWords = (value) => Array.isArray(value) ? value.map((one) => one.type ? `“${one.text ?? `${one.start}–${one.end}`}” ${one.type}` : one).join(", ") || "none" : value ?? "–";
export const allInWords = (values) => Object.entries(values).map(([name, value]) => `${name}: ${inWords(value)}`).join("; ");

export function inTime(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.round(seconds);
  return whole < 100 ? `${whole} s` : whole < 6000 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.round(whole / 3600)} h`;
}

export const onDay = (at) => new Date(typeof at === "number" ? 1000 * at : at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

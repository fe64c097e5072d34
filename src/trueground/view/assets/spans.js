/* Mark words of an answer by mouse, touch and keyboard. A span is {start, end, type} in code points. */
const { html, useEffect, useMemo, useRef } = htmPreact;

/* The text in words and what stands between them: [{text, start, end, stop}]; keys walk from stop to stop. */
export function segment(text) {
  let start = 0;
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map((one) => {
    const end = start + Array.from(one.segment).length;
    const found = { text: one.segment, start, end, stop: one.isWordLike || /[^\s\p{P}]/u.test(one.segment) };
    start = end;
    return found;
  });
}

/* A selection is {anchor, head}: places in the segments. */
const ends = ({ anchor, head }) => [Math.min(anchor, head), Math.max(anchor, head)];

export function rangeOf(segments, selection) {
  const [first, last] = ends(selection);
  return { start: segments[first].start, end: segments[last].end };
}

export const overlap = (a, b) => a.start < b.end && b.start < a.end;

/* The spans with those words of that type, in place of whatever was marked there. */
export const mark = (spans, range, type) => [...erase(spans, range), { ...range, type }].sort((a, b) => a.start - b.start);
export const erase = (spans, range) => (spans ?? []).filter((span) => !overlap(span, range));

/* The selection after an arrow key; null where the key means something else. */
export function walk(event, segments, selection, box) {
  const stops = segments.flatMap((one, k) => one.stop ? [k] : []);
  if (!stops.length) return null;
  const at = selection?.head ?? null;
  const forward = getComputedStyle(box).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
  const backward = forward === "ArrowRight" ? "ArrowLeft" : "ArrowRight";
  let head = null;
  if (event.key === "Home") head = stops[0];
  else if (event.key === "End") head = stops.at(-1);
  else if (event.key === forward) head = at === null ? stops[0] : stops.find((k) => k > at) ?? at;
  else if (event.key === backward) head = at === null ? stops.at(-1) : stops.findLast((k) => k < at) ?? at;
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") head = at === null ? stops[0] : lineAway(box, at, stops, event.key === "ArrowDown");
  if (head === null) return null;
  return { anchor: event.shiftKey && selection ? selection.anchor : head, head };
}

/* The nearest word on the next line, or the one before. */
function lineAway(box, at, stops, down) {
  const boxOf = (k) => box.querySelector(`[data-w="${k}"]`).getBoundingClientRect();
  const from = boxOf(at);
  const there = stops.map((k) => ({ k, ...place(boxOf(k)) })).filter(({ y }) => down ? y > from.bottom : y < from.top);
  if (!there.length) return at;
  const line = down ? Math.min(...there.map(({ y }) => y)) : Math.max(...there.map(({ y }) => y));
  const x = place(from).x;
  return there.filter(({ y }) => Math.abs(y - line) < 4).sort((a, b) => Math.abs(a.x - x) - Math.abs(b.x - x))[0].k;
}

const place = (rect) => ({ x: (rect.left + rect.right) / 2, y: (rect.top + rect.bottom) / 2 });

export function Marking({ segments, spans, types, selection, select, box, busy }) {
  const state = useRef(null);
  state.current = { selection, select, busy };
  const wordAt = (node) => {
    const word = (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.("[data-w]");
    return word && box.current?.contains(word) ? Number(word.dataset.w) : null;
  };
  useEffect(() => {  // dragging, by mouse or by the handles of a touch screen
    const follow = () => {
      const chosen = getSelection();
      if (chosen.isCollapsed || state.current.busy) return;
      const [anchor, head] = [wordAt(chosen.anchorNode), wordAt(chosen.focusNode)];
      if (anchor !== null && head !== null) state.current.select(trim(segments, { anchor, head }));
    };
    document.addEventListener("selectionchange", follow);
    return () => document.removeEventListener("selectionchange", follow);
  }, [segments]);
  const press = (event) => {
    const dragged = !getSelection().isCollapsed;
    if (dragged && event.pointerType === "mouse") getSelection().removeAllRanges();
    const at = wordAt(event.target);
    if (dragged || at === null || busy) return;
    const touch = event.pointerType !== "mouse";
    if (selection && (event.shiftKey || (touch && selection.tapped))) { select({ anchor: selection.anchor, head: at }); return; }
    const whole = (spans ?? []).find((span) => overlap(span, segments[at]));
    const inside = whole ? segments.flatMap((one, k) => overlap(one, whole) ? [k] : []) : [at];
    select({ anchor: inside[0], head: inside.at(-1), tapped: touch && !whole });
  };
  useEffect(() => { if (selection) box.current.querySelector(`[data-w="${selection.head}"]`)?.scrollIntoView({ block: "nearest" }); }, [selection]);
  const [first, last] = selection ? ends(selection) : [-1, -1];
  return html`<p class="text marking" dir="auto" ref=${box} onPointerUp=${press}>${segments.map((one, k) => {
    const span = (spans ?? []).find((each) => overlap(each, one));
    const number = span ? types.indexOf(span.type) + 1 : 0;
    const names = [span ? `span t${number}` : "", k >= first && k <= last ? "chosen" : ""].join(" ").trim();
    return html`<span key=${k} data-w=${k} class=${names || null} data-n=${span && one.end >= span.end ? number : null}>${one.text}</span>`;
  })}</p>`;
}

/* A drag that begins or ends between words takes only whole words. */
function trim(segments, selection) {
  let [first, last] = ends(selection);
  while (first < last && !segments[first].text.trim()) first += 1;
  while (first < last && !segments[last].text.trim()) last -= 1;
  return selection.anchor <= selection.head ? { anchor: first, head: last } : { anchor: last, head: first };
}

export const useSegments = (text) => useMemo(() => segment(text), [text]);
export const wordsOf = (text, { start, end }) => Array.from(text).slice(start, end).join("");

/* What is marked, in words, each with a way to take it back. */
export function MarkList({ text, spans, types, remove, busy }) {
  if (!spans?.length) return null;
  return html`<ul class="marked">${spans.map((span) => html`<li key=${`${span.start}-${span.end}`}>
    <span class=${`span t${types.indexOf(span.type) + 1}`} dir="auto">${wordsOf(text, span)}</span> <span class="quiet">${span.type}</span>
    <button type="button" class="plain" disabled=${busy} aria-label=${`remove the mark of “${wordsOf(text, span)}”`} onClick=${() => remove(span)}>✕</button></li>`)}</ul>`;
}

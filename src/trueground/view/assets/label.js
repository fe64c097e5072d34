/* One task on the screen: what is read, what is filled in, and the keys for all of it. */
import { isUsed, keep, read } from "./api.js";
import { Field, answered, asked, chosen, missing, optionsOf, placeOf, wantedOf } from "./fields.js";
import { Texts } from "./shown.js";
import { MarkList, Marking, erase, mark, overlap, rangeOf, useSegments, walk, wordsOf } from "./spans.js";
import { Dialog, Markdown, inTime } from "./texts.js";

const { html, useEffect, useLayoutEffect, useRef, useState } = htmPreact;

const KEYS = [
  ["1 … 9", "choose an option of the current field, and go to the next field"],
  ["0", "choose none; nothing to mark"],
  ["↑ ↓", "previous or next field; if there is one field: scroll the texts, like Space"],
  ["Enter", "save and open the next task"],
  ["f F", "next or previous likely sentence of the passages"],
  ["u", "undo the last choice; if there is none, open the previous task"],
  ["s", "skip the task"],
  ["x", "unclear: explain it in a comment, then press Enter to save"],
  ["c", "comment; Escape closes it"],
  ["i", "instructions"],
  ["?", "show these keys"],
];
const SPAN_KEYS = [
  ["← → ↑ ↓", "move over the words of the answer; with Shift, select several words"],
  ["1 … 9", "mark the selected words as that type"],
  ["Backspace", "remove a mark"],
];
const SCROLLS = { PageDown: (page) => 0.85 * page, PageUp: (page) => -0.85 * page, " ": (page) => 0.85 * page, ArrowDown: () => 60, ArrowUp: () => -60 };
const IDLE_MS = 60000;  // who does nothing for so long is not at work
const SECOND_DIGIT_MS = 900;

/* Seconds that the page was seen and used. */
function useClock(task, before) {
  const seconds = useRef(before);
  const [shown, setShown] = useState(before);
  useEffect(() => {
    seconds.current = before;
    setShown(before);
    let last = Date.now();
    const tick = () => {
      const now = Date.now();
      if (isUsed(IDLE_MS) && !document.querySelector("dialog[open]")) seconds.current += Math.min(now - last, 2000) / 1000;
      last = now;
      setShown(Math.floor(seconds.current));
    };
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [task]);
  return [seconds, shown];
}

/* The key as a Latin keyboard has it: where a layout has something else there, digits and letters go by their place. */
function keyOf({ key, code, shiftKey }) {
  if (/^Digit\d$/u.test(code) && !shiftKey && !/^[a-z]$/iu.test(key)) return code.at(-1);
  if (/^Key[A-Z]$/u.test(code) && /^[^\x00-\x7f]$/u.test(key)) return shiftKey ? code.at(-1) : code.at(-1).toLowerCase();
  return key;
}

/* What was typed and not saved yet, or else the label as it was saved, or else nothing. */
function begin(place, task, label) {
  const kept = read(place);
  if (kept && kept.id === task.id) return kept;
  return { id: task.id, values: label?.values ?? {}, comment: label?.comment ?? "", unclear: label?.state === "unclear", seconds: label?.seconds ?? 0, log: [] };
}

/* `save` gets {state, values, comment, seconds} and returns a promise; Refusals stand at the fields.
   `back` opens the task saved before. `aside` is shown above the fields; with `final` there is no skipping. */
export function Labeler({ task, kind, label, save, back, aside, final }) {
  const place = `${final ? "decision" : "draft"}:${task.task}`;  // as in api.js
  const [draft, setDraft] = useState(() => begin(place, task, label));
  const [current, setCurrent] = useState(kind.fields[0].name);
  const [errors, setErrors] = useState({});
  const [said, setSaid] = useState("");
  const [hint, setHint] = useState(null);
  const [selection, setSelection] = useState(null);
  const [dialog, setDialog] = useState(null);
  const [commenting, setCommenting] = useState(Boolean(draft.comment) || draft.unclear);
  const [busy, setBusy] = useState(false);
  const [seconds, shownSeconds] = useClock(task.task, draft.seconds);
  const saving = useRef(false);  // at once, where `busy` is drawn a moment later
  const head = useRef(null), box = useRef(null), sources = useRef(null), comment = useRef(null), digits = useRef({ typed: "", timer: 0 });
  const spansField = kind.fields.find((field) => field.form === "spans");
  const marked = spansField?.text_of ?? null;
  const segments = useSegments(marked ? task.shown[marked] : "");
  const fields = asked(kind, draft.values);
  const field = fields.find((one) => one.name === current) ?? fields[0];
  const options = optionsOf(task, field);

  useLayoutEffect(() => { scrollTo(0, 0); head.current.focus({ preventScroll: true }); }, []);

  const put = (change, log = [...draft.log, { values: draft.values, unclear: draft.unclear }]) => {
    const next = { ...draft, ...change, log, seconds: seconds.current };
    setDraft(next);
    keep(place, next);
    setErrors({});
    setSaid("");
    return next;
  };
  const set = (name, value, log) => put({ values: { ...draft.values, [name]: value }, unclear: false }, log);
  const turn = (name) => {
    setCurrent(name);
    digits.current.typed = "";
    if (!kind.fields.find((one) => one.name === name).form.startsWith("text")) head.current.focus({ preventScroll: true });
  };
  const step = (by, of = fields) => { const at = of.findIndex((one) => one.name === field.name) + by; if (of[at]) turn(of[at].name); };

  const pick = (one, at) => {
    const names = optionsOf(task, one);
    if (one.form === "spans") {
      if (!selection) { setSaid("First select words of the answer: drag over them, or use the arrow keys."); return; }
      set(one.name, mark(draft.values[one.name], rangeOf(segments, selection), names[at]));
      setSelection({ anchor: selection.head, head: selection.head });
      return;
    }
    const next = set(one.name, chosen(one, names, draft.values[one.name], at));
    if (one.form !== "choices") step(1, asked(kind, next.values));
  };
  const unmark = (range) => {
    const spans = draft.values[spansField.name] ?? [], left = erase(spans, range);
    if (left.length < spans.length) set(spansField.name, left);
    else setSaid("Nothing is marked there.");
  };
  const none = (one) => { const next = set(one.name, []); setSelection(null); if (one.form === "choices") step(1, asked(kind, next.values)); };
  const digit = (key) => {
    if (key === "0" && !digits.current.typed) { if (field.form === "choices" || field.form === "spans") none(field); return; }
    digits.current.typed += key;
    const { place: at, wait } = placeOf(digits.current.typed, options.length);
    clearTimeout(digits.current.timer);
    if (at === null) { setSaid(`Option ${digits.current.typed} does not exist.`); digits.current.typed = ""; return; }
    if (!wait) { takeDigits.current(); return; }
    setSaid(`${digits.current.typed} …`);
    digits.current.timer = setTimeout(() => takeDigits.current(), SECOND_DIGIT_MS);
  };
  const takeDigits = useRef(null);
  takeDigits.current = () => {
    const { typed } = digits.current;
    digits.current.typed = "";
    if (typed) pick(field, Number(typed) - 1);
  };
  useEffect(() => () => clearTimeout(digits.current.timer), []);

  const undo = () => {
    if (!draft.log.length) { back?.(); return; }
    put(draft.log.at(-1), draft.log.slice(0, -1));
    setSaid("Undone.");
  };
  const openComment = () => { setCommenting(true); requestAnimationFrame(() => comment.current?.focus()); };
  const unclear = () => { put({ unclear: !draft.unclear }); if (!draft.unclear) openComment(); };
  const point = (by) => {
    const many = task.hints?.length ?? 0;
    if (!many) { setSaid("Found no likely sentence in the passages."); return; }
    const at = ((hint?.at ?? (by < 0 ? 0 : -1)) + by + many) % many;
    setHint({ ...task.hints[at], at });  // the same one, too, is scrolled to again
    setSaid(`Likely sentence ${at + 1} of ${many}.`);
  };
  const submit = async (state) => {
    if (saving.current) return;
    const words = draft.comment.trim();
    if (state === "done") {
      const lacking = missing(kind, draft.values);
      if (lacking.length) {
        turn(lacking[0].name);
        setErrors(Object.fromEntries(lacking.map((one) => [one.name, `Not filled in: ${wantedOf(one, optionsOf(task, one))}.`])));
        return;
      }
    } else if (state === "unclear" && !words) {
      openComment();
      setSaid("Write briefly what is unclear, then press Enter to save.");
      return;
    }
    saving.current = true;
    setBusy(true);
    try {
      await save({ state, values: state === "done" ? answered(kind, draft.values) : {}, comment: words, seconds: Math.round(10 * seconds.current) / 10 });
    } catch (error) {
      saving.current = false;
      setBusy(false);
      setErrors(error.fields ?? {});
      setSaid(error.message);
    }
  };
  const finish = () => submit(draft.unclear ? "unclear" : "done");

  const onKey = (event) => {
    const { target } = event, key = keyOf(event);
    let walked = null;
    if (event.defaultPrevented || event.isComposing || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (target.closest?.("textarea, input, select")) {
      const lines = target.tagName === "TEXTAREA" && target !== comment.current;
      if (key === "Enter" && !event.shiftKey && (event.ctrlKey || !lines)) finish();
      else if (key === "Escape") { if (target === comment.current && !draft.comment && !draft.unclear) setCommenting(false); head.current.focus({ preventScroll: true }); }
      else return;
      event.preventDefault();
      return;
    }
    if (event.ctrlKey) return;
    const plain = { f: () => point(1), F: () => point(-1), u: undo, c: openComment, i: () => setDialog("instructions"), "?": () => setDialog("keys") };
    if (!final) Object.assign(plain, { s: () => submit("skipped"), x: unclear });
    if (key === "Enter") {
      if (target.closest?.("a, summary, button:not(.option)")) return;
      if (event.repeat) return;
      if (digits.current.typed) takeDigits.current();
      else finish();
    } else if (busy) return;
    else if (/^[0-9]$/u.test(key)) { if (!event.repeat) digit(key); }
    else if (box.current && field.form === "spans" && (walked = walk(event, segments, selection, box.current))) {
      setSelection(walked);
      const range = rangeOf(segments, walked), under = draft.values[field.name]?.find((span) => overlap(span, range));
      setSaid(`“${wordsOf(task.shown[marked], range)}”${under ? `, marked as ${under.type}` : ""}`);
    }
    else if (field.form === "spans" && selection && (key === "Backspace" || key === "Delete")) unmark(rangeOf(segments, selection));
    else if (field.form === "spans" && key === "Escape") setSelection(null);
    else if (key === "ArrowDown" && fields.length > 1) step(1);
    else if (key === "ArrowUp" && fields.length > 1) step(-1);
    else if (SCROLLS[key] && !(key === " " && target.closest?.("button"))) sources.current.scrollBy(0, SCROLLS[key](sources.current.clientHeight) * (event.shiftKey ? -1 : 1));
    else if (plain[key]) { if (!event.repeat || key === "f" || key === "F") plain[key](); }
    else return;
    event.preventDefault();
  };
  const latest = useRef(onKey);
  latest.current = onKey;
  useLayoutEffect(() => {  // before the task is seen: no key of the quick is lost
    const follow = (event) => latest.current(event);
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  }, []);

  const tool = (name, key, click, on) => html`<button type="button" disabled=${busy} aria-pressed=${on} onClick=${click}>${name} <kbd aria-hidden="true">${key}</kbd></button>`;
  const toTask = (click) => () => { click(); head.current.focus({ preventScroll: true }); };  // where keys work
  const taken = (name, number) => fields.some((one) => one.numbers_of === name && draft.values[one.name]?.includes(number));
  const marking = spansField && html`<${Marking} ...${{ segments, selection, box, busy }} spans=${draft.values[spansField.name]} types=${optionsOf(task, spansField)}
    select=${(one) => { setSelection(one); setCurrent(spansField.name); }} />`;
  return html`<div class="bench" aria-busy=${busy} data-turn=${`${task.task}-${task.turn ?? 0}`}>
    <h1 class="hidden" tabindex="-1" ref=${head}>${kind.name}: ${kind.doc}</h1>
    <${Texts} ...${{ task, kind, taken, marked, marking, sources }} hint=${hint} />
    <form class="answers-form" onSubmit=${(event) => event.preventDefault()}>
      ${aside}
      ${fields.map((one) => html`<${Field} key=${one.name} field=${one} options=${optionsOf(task, one)} value=${draft.values[one.name]} current=${one === field && !draft.unclear} error=${errors[one.name]} busy=${busy}
        pick=${(at) => pick(one, at)} none=${() => none(one)} write=${(value) => set(one.name, value, draft.log)} focus=${() => setCurrent(one.name)} />`)}
      ${spansField ? html`<${MarkList} text=${task.shown[marked]} spans=${draft.values[spansField.name]} types=${optionsOf(task, spansField)} busy=${busy} remove=${unmark} />` : null}
      ${commenting ? html`<label class="comment">${draft.unclear ? "What is unclear?" : "Comment"} <textarea rows="2" dir="auto" ref=${comment} disabled=${busy} value=${draft.comment} onInput=${(event) => put({ comment: event.target.value }, draft.log)}></textarea></label>` : null}
      <div class="foot"><div class="now quiet"><p class="said-now" role="status">${busy ? "Saving …" : said}</p><span aria-hidden="true">${inTime(shownSeconds)}</span></div>
      <div class="tools">
        <button type="button" class="primary" disabled=${busy} onClick=${() => { finish(); }}>${draft.unclear ? "Save as unclear" : "Save"} <kbd aria-hidden="true">⏎</kbd></button>
        ${final ? null : [tool("Skip", "s", toTask(() => submit("skipped"))), tool("Unclear", "x", unclear, draft.unclear)]}
        ${tool("Undo", "u", toTask(undo))}
        ${task.hints?.length ? tool("Likely sentence", "f", toTask(() => point(1))) : null}
        ${tool("Comment", "c", openComment)}${tool("Instructions", "i", () => setDialog("instructions"))}<span class="by-keys">${tool("Keys", "?", () => setDialog("keys"))}</span>
      </div></div>
    </form>
    ${dialog === "keys" ? html`<${Dialog} title="Keys" close=${() => setDialog(null)}><table class="keys"><tbody>${[...KEYS, ...(spansField ? SPAN_KEYS : [])].map(([name, words]) => html`<tr key=${words}><th scope="row"><kbd>${name}</kbd></th><td>${words}</td></tr>`)}</tbody></table><//>` : null}
    ${dialog === "instructions" ? html`<${Dialog} title=${`${kind.name}: ${kind.doc}`} close=${() => setDialog(null)}><${Markdown} text=${kind.instructions} /><//>` : null}
  </div>`;
}

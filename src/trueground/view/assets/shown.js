/* What is read of a task: the texts to judge by, and what is judged. */
import { Marked } from "./texts.js";

const { html, useMemo } = htmPreact;

const SOURCES = new Set(["context", "contexts", "passage", "passages", "text", "references", "citation", "paragraph", "knowledge"]);

/* Texts to judge by stand on the left, what is judged on the right; of two versions the old one on the left. */
function isSource(kind, shown, name) {
  if (Object.keys(shown).some((one) => one.startsWith("new_"))) return !name.startsWith("new_");
  return SOURCES.has(name) || (Array.isArray(shown[name]) && kind.fields.every((field) => field.numbers_of !== name));
}

const isNothing = (value) => value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);

/* A text, or a passage with its title; marks count in the text. */
function Shown({ value, marks }) {
  if (typeof value === "string") return html`<${Marked} text=${value} marks=${marks} />`;
  if (typeof value?.text === "string") {
    return html`${value.title ? html`<p class="text"><b dir="auto">${value.title}</b></p>` : null}<${Marked} text=${value.text} marks=${marks} />`;
  }
  const lines = value && typeof value === "object" ? Object.entries(value).map(([name, one]) => `${name}: ${one}`) : [String(value)];
  return html`<${Marked} text=${lines.join("\n")} />`;
}

/* Both columns. `hint` is marked and scrolled to; `taken` says which numbers of a list are chosen;
   `marking` stands in place of the text `marked`. */
export function Texts({ task, kind, hint, taken, marked, marking, sources }) {
  const { shown, part } = task;
  const hints = useMemo(() => hint ? [{ ...hint, name: "hint" }] : [], [hint]);
  const parts = useMemo(() => part && Number.isInteger(part.start) ? [{ ...part, name: "part" }] : [], [part]);
  const whole = Object.keys(shown).find((name) => part && shown[name] === part.text);
  const marksOf = (name, place) => [...(hint?.show === name && (hint.part ?? null) === place ? hints : []), ...(whole === name ? parts : [])];
  const one = (name) => html`<section key=${name} class="shown" aria-label=${kind.shows[name]}><h3>${kind.shows[name]}</h3>
    ${name === marked ? marking : Array.isArray(shown[name])
      ? html`<ol>${shown[name].map((value, k) => html`<li key=${k} class=${taken(name, String(k + 1)) ? "taken" : null}><${Shown} value=${value} marks=${marksOf(name, k)} /></li>`)}</ol>`
      : html`<${Shown} value=${shown[name]} marks=${marksOf(name, null)} />`}</section>`;
  const names = Object.keys(kind.shows).filter((name) => !isNothing(shown[name]));
  return html`<div class="judged-texts">${names.filter((name) => !isSource(kind, shown, name)).map(one)}
      ${part && !whole ? html`<section class="shown" aria-label="the whole answer"><h3>the whole answer${parts.length ? ", with what is asked about marked" : ""}</h3>
        <${Marked} text=${part.text} marks=${parts} /></section>` : null}</div>
    <div class="sources" ref=${sources}>${names.filter((name) => isSource(kind, shown, name)).map(one)}</div>`;
}

/* What is filled in: the fields of a task, which of them are asked, and how they are drawn. */
const { html, useEffect, useRef } = htmPreact;

const SCALE = ["1", "2", "3", "4", "5"];
export const optionsOf = (task, field) => field.form === "scale" ? SCALE : task.options[field.name] ?? field.options;
const isEmpty = (value) => value === null || value === undefined || (typeof value === "string" && !value.trim());

/* The values of the fields that are asked, in their order: a field may hang on one before it. */
export function answered(kind, values) {
  const kept = {};
  for (const field of asked(kind, values)) {
    const value = field.form === "texts" && values[field.name] ? values[field.name].filter((one) => one.trim()) : values[field.name];
    if (!isEmpty(value) && !(field.form === "texts" && !value.length)) kept[field.name] = typeof value === "string" ? value.trim() : value;
  }
  return kept;
}

export function asked(kind, values) {
  const seen = {};
  return kind.fields.filter((field) => {
    const is = !field.when || seen[field.when[0]] === field.when[1];
    if (is) seen[field.name] = values[field.name];
    return is;
  });
}

export function missing(kind, values) {
  const kept = answered(kind, values);
  return asked(kind, values).filter((field) => field.needed && !(field.name in kept));
}

export function wantedOf(field, options) {
  if (field.form === "spans") return "mark words, or press 0 if there is nothing to mark";
  if (field.form === "choices") return "choose options, or press 0 for none";
  if (field.form === "text" || field.form === "texts") return "write something";
  return `choose with ${options.length > 1 ? `1 to ${options.length}` : "1"}`;
}

/* The value after an option is chosen or given back. */
export function chosen(field, options, value, place) {
  const option = options[place];
  if (field.form === "scale") return Number(option);
  if (field.form === "choice") return option;
  const set = value ?? [];
  return set.includes(option) ? set.filter((one) => one !== option) : options.filter((one) => one === option || set.includes(one));
}

/* Digits → the place of an option; of more than nine the first digit may wait for a second. */
export function placeOf(typed, many) {
  const number = Number(typed);
  if (number < 1 || number > many) return { place: null, wait: false };
  return { place: number - 1, wait: 10 * number <= many };
}

/* Whether the options are no more than their own numbers. */
const areNumbers = (options) => options.every((option, k) => option === String(k + 1));

export function Field({ field, options, value, current, error, busy, pick, none, write, focus }) {
  const place = useRef(null);
  useEffect(() => {
    if (!current) return;
    place.current.scrollIntoView({ block: "nearest" });
    const typed = place.current.querySelector("input, textarea");
    if (typed && document.activeElement !== typed) typed.focus({ preventScroll: true });
  }, [current]);
  const several = field.form === "choices" || field.form === "spans";
  const bare = areNumbers(options);
  const has = (option) => field.form === "choices" ? (value ?? []).includes(option) : field.form === "scale" ? value === Number(option) : value === option;
  const button = (name, digit, pressed, click) => html`<button type="button" key=${name} class="option" disabled=${busy} aria-pressed=${pressed} onClick=${click}>
    ${bare && digit === name ? null : html`<kbd aria-hidden="true">${digit}</kbd>`}<span dir="auto">${name}</span></button>`;
  const inside = field.form === "text"
    ? html`<input type="text" dir="auto" aria-label=${field.doc} disabled=${busy} value=${value ?? ""} onInput=${(event) => write(event.target.value)} />`
    : field.form === "texts"
      ? html`<textarea rows="3" dir="auto" aria-label=${`${field.doc}, one per line`} disabled=${busy} onInput=${(event) => write(event.target.value.split("\n"))} value=${(value ?? []).join("\n")}></textarea>
        <span class="quiet">one per line; Ctrl+Enter saves</span>`
      : html`<div class="options">${options.map((option, k) => button(option, String(k + 1), field.form === "spans" ? null : has(option), () => pick(k)))}
        ${several ? button(field.form === "spans" ? "nothing to mark" : "none", "0", Array.isArray(value) && !value.length, none) : null}</div>`;
  return html`<fieldset class=${current ? "field current" : "field"} ref=${place} aria-invalid=${Boolean(error)} onFocusIn=${focus}>
    <legend><b>${field.name}</b> <span class="quiet">${field.doc}</span></legend>${inside}
    ${error ? html`<p class="wrong" role="alert">${error}</p>` : null}</fieldset>`;
}

/* Talk to the server. A label waits here, and over a reload, until the server says that it has it. */

export class Refusal extends Error {
  constructor(status, data) {
    super(data.error ?? `the server answers with ${status}`);
    this.status = status;
    this.fields = data.fields ?? {};
  }
}

const PATIENCE_MS = 20000;  // of one request
const LEAD_PATIENCE_MS = 600000;  // agreement of many people is counted in minutes
const LONGEST_WAIT_MS = 15000;  // between two tries
let me = null;
let prefix = "trueground:";
const unsent = new Map();  // key → label
const listeners = new Set();
const state = { trouble: "" };

/* ---- requests ---- */

export const outage = (error) => error.status === 0 || error.status >= 500;

async function request(path, body) {
  const slow = path.startsWith("/api/lead/") && path !== "/api/lead/decide";
  const options = { signal: AbortSignal.timeout(slow ? LEAD_PATIENCE_MS : PATIENCE_MS) };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json", "X-CSRF-Token": me?.csrf ?? "" };
    options.body = JSON.stringify(body);
  }
  let reply, data;
  try {
    reply = await fetch(path, options);
    data = await reply.json();
  } catch (error) {
    if (reply && !reply.ok) throw new Refusal(reply.status, {});
    throw new Refusal(0, { error: "the server cannot be reached" });
  }
  if (!reply.ok) throw new Refusal(reply.status, data);
  return data;
}

/* GET without a body, else POST. Raises Refusal; its status is 0 where nobody answers. */
export async function ask(path, body) {
  try {
    return await request(path, body);
  } catch (error) {
    if (error.status === 403 && me && body !== undefined) {  // entered anew in another tab?
      const now = await request("/api/me");
      if (now.id !== me.id) error = new Refusal(401, { error: `this browser is now used by ${now.name}; load the page again` });
      else if (now.csrf !== me.csrf) { me = now; return ask(path, body); }
    }
    if (error.status === 401 && me) tell("ended");
    throw error;
  }
}

/* ---- what is kept in this browser, for one person of one project ---- */

export function know(person) {
  me = person;
  prefix = `trueground:${me.project.id}:${me.id}:`;
  for (const name of Object.keys(localStorage)) {
    if (!name.startsWith(`${prefix}unsent:`)) continue;
    const label = parsed(name);
    if (label) unsent.set(name.slice(prefix.length + 7), label);
    else localStorage.removeItem(name);
  }
}

/* What a browser has damaged is as if it were not there. */
function parsed(name) {
  try { return JSON.parse(localStorage.getItem(name) ?? "null"); } catch { return null; }
}

export const read = (name) => parsed(prefix + name);
export const drop = (name) => localStorage.removeItem(prefix + name);
export function keep(name, value) {
  try {
    localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch { /* full or forbidden: the label still waits in this page, which warns when it is left */ }
}

/* Whoever leaves takes along what was typed; what waits to be sent stays. */
export function leaveNothing() {
  for (const name of Object.keys(localStorage)) if (name.startsWith(prefix) && !name.startsWith(`${prefix}unsent:`)) localStorage.removeItem(name);
}

/* Labels of anybody that this browser still has to send. */
export const countWaiting = () => Object.keys(localStorage).filter((name) => /^trueground:.*:unsent:/u.test(name)).length;

export function onOtherTab(saved) {
  const follow = (event) => {
    if (event.key?.startsWith(`${prefix}unsent:`) && event.newValue === null) unsent.delete(event.key.slice(prefix.length + 7));
    if (event.key === `${prefix}saved` && event.newValue) saved(JSON.parse(event.newValue).task);
  };
  addEventListener("storage", follow);
  return () => removeEventListener("storage", follow);
}

/* ---- whether somebody is at work ---- */

let used = Date.now();
for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchmove"]) {
  addEventListener(name, () => { used = Date.now(); }, { passive: true, capture: true });
}

/* Whether the page is seen, and was used not longer ago. */
export const isUsed = (ms) => document.visibilityState === "visible" && Date.now() - used < ms;

/* ---- labels on their way ---- */

export function onTrouble(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(trouble) {
  state.trouble = trouble;
  for (const listener of listeners) listener(trouble);
}

/* Until the network is back, the time is over, or the person asks for it. */
const waited = (ms) => new Promise((done) => {
  const over = () => { clearTimeout(timer); removeEventListener("online", over); removeEventListener("try-now", over); done(); };
  const timer = setTimeout(over, ms);
  addEventListener("online", over);
  addEventListener("try-now", over);
});

/* Send a label under a key of its own until the server has it: the same key is never counted twice.
   Refusal where the server will not take it; what was typed is then still in the draft. */
export function save(label, path = "/api/label") {
  for (const [old, one] of unsent) if (one.path === path && one.label.task === label.task) forget(old);  // a session ended: it was refused
  const key = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  unsent.set(key, { path, label });
  keep(`unsent:${key}`, { path, label });
  return deliver(key);
}

/* Where what is typed is kept until it is saved: a lead may label a task and decide on it as well. */
export const draftOf = (path) => path === "/api/label" ? "draft" : "decision";

async function deliver(key) {
  const { path, label } = unsent.get(key);
  for (let wait = 1000; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    try {
      const reply = await ask(path, { ...label, key });
      forget(key);
      drop(`${draftOf(path)}:${label.task}`);
      keep("saved", { task: label.task, key });
      if (state.trouble) tell("");
      return reply;
    } catch (error) {
      if (!outage(error)) {
        if (error.status !== 401) { forget(key); if (state.trouble) tell(""); }
        throw error;
      }
      tell("waiting");
      await waited(wait);
    }
  }
}

function forget(key) {
  unsent.delete(key);
  drop(`unsent:${key}`);
}

/* What waited when the page was left. Returns the refusals, in words; `acknowledged` gets each reply. */
export async function deliverOld(acknowledged) {
  const refused = [];
  for (const key of [...unsent.keys()]) {
    try {
      if (unsent.has(key)) acknowledged(await deliver(key));  // another tab may have been first
    } catch (error) {
      if (error.status === 401) throw error;
      refused.push(error.message);
    }
  }
  return refused;
}

addEventListener("beforeunload", (event) => { if (unsent.size) event.preventDefault(); });

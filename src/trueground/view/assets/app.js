/* The application: who is here, which page is shown, the queue of tasks, and what was labeled. */
import { ask, countWaiting, deliverOld, isUsed, keep, know, leaveNothing, onOtherTab, onTrouble, outage, read, save } from "./api.js";
import { Labeler } from "./label.js";
import { LEAD_PAGES } from "./lead.js";
import { Dialog, Markdown, allInWords, inTime, onDay } from "./texts.js";

const { html, render, useCallback, useEffect, useLayoutEffect, useRef, useState } = htmPreact;
const LOOK_AGAIN_MS = 15000;  // while others hold the last tasks
const TRY_AGAIN_MS = 3000;
const RENEW_MS = 60000;
const AWAY_MS = 300000;  // whoever does nothing for so long does not hold a task any more
const MOST_BACK = 200;

/* ---- the tasks, one after another ---- */

function Queue({ me, number, setProgress }) {
  const [task, setTask] = useState(null);
  const [why, setWhy] = useState(null);
  const [trouble, setTrouble] = useState("");
  const [refused, setRefused] = useState("");
  const trail = useRef(null);  // numbers of saved tasks, the last one at the end
  const fresh = useRef(0);

  const next = useCallback(async () => {
    const mine = ++fresh.current;
    setTrouble("");
    try {
      const found = await ask(number === null ? "/api/next" : `/api/task/${number}`, number === null ? {} : undefined);
      if (mine !== fresh.current) return;
      if (found.progress) setProgress(found.progress);
      setTask(number === null ? found.task && { ...found.task, turn: mine } : { ...found, turn: mine });
      setWhy(found.why ?? null);
    } catch (error) {
      if (mine !== fresh.current) return;
      setTask(null);
      setTrouble(outage(error) ? `${error.message}; trying again` : error.message);
      if (outage(error)) setTimeout(() => mine === fresh.current && next(), TRY_AGAIN_MS);
    }
  }, [number]);
  useEffect(() => { setTask(null); next(); }, [next]);
  useEffect(() => {
    if (why !== "waiting") return undefined;
    const timer = setInterval(next, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [why, next]);
  useEffect(() => {  // the lease holds while somebody is here
    if (!task || number !== null) return undefined;
    const timer = setInterval(() => { if (isUsed(AWAY_MS)) ask("/api/renew", { task: task.task }).catch(() => {}); }, RENEW_MS);
    return () => clearInterval(timer);
  }, [task, number]);
  useEffect(() => onOtherTab((saved) => { if (saved === task?.task && number === null) next(); }), [task, next, number]);

  const back = async () => {
    try {
      trail.current ??= (await ask("/api/mine?page=1")).labels.map((label) => label.task).reverse();
    } catch (error) { setTrouble(error.message); return; }
    const at = trail.current.indexOf(task?.task);
    const to = at < 0 ? trail.current.at(-1) : trail.current[at - 1];
    if (to !== undefined) location.hash = `#/task/${to}`;
  };
  useLayoutEffect(() => {  // with no task on the screen there is still a way back
    if (task) return undefined;
    const follow = (event) => { if (event.key === "u" && !event.ctrlKey && !event.metaKey) back(); };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  });
  const put = async (label) => {
    let reply;
    try {
      reply = await save({ task: task.task, ...label });
      setRefused("");
    } catch (error) {
      if (number !== null || ![404, 409].includes(error.status)) throw error;
      setRefused(error.message);  // others have taken all its places meanwhile
      await next();
      return;
    }
    if (trail.current) trail.current = [...trail.current.filter((one) => one !== task.task), task.task].slice(-MOST_BACK);
    setProgress(reply.progress);
    if (number === null) { await next(); return; }
    location.hash = "#/";
  };

  if (trouble && !task) return html`<main class="calm"><p class="warning" role="alert">${trouble}.</p><p><a href="#/">To the queue</a></p></main>`;
  if (!task && !why) return html`<main class="calm"><p class="quiet">Loading …</p></main>`;
  if (!task) return html`<main class="calm"><h1>${why === "waiting" ? "Others are working on the last tasks" : "All done"}</h1>
    <p>${why === "waiting" ? "If a task becomes free again, it appears here." : "There is no task left for you. Thank you."}</p>
    <p><a href="#/mine">My labels</a> can still be changed; <kbd>u</kbd> opens the last one.</p></main>`;
  const kind = me.project.kinds.find((one) => one.name === task.kind);
  if (!kind) return html`<main class="calm"><p class="warning" role="alert">New kinds of tasks were added.</p><button type="button" onClick=${() => location.reload()}>Reload the page</button></main>`;
  return html`<${Instructed} kind=${kind}><//>
    <main>${refused ? html`<p class="warning again" role="alert">Your previous label was not saved: ${refused}</p>` : null}${number !== null ? html`<p class="note again">${task.label ? "You are editing a label that you saved before." : "You opened this task by its number."} <a href="#/">Back to the queue</a></p>` : null}
    <${Labeler} key=${task.turn} task=${task} kind=${kind} label=${task.label} save=${put} back=${back} /></main>`;
}

/* Everybody sees the instructions of a kind once, before its first task. */
function Instructed({ kind }) {
  const [open, setOpen] = useState(() => !read(`read:${kind.name}`));
  useEffect(() => setOpen(!read(`read:${kind.name}`)), [kind.name]);
  const close = () => { keep(`read:${kind.name}`, true); setOpen(false); };
  return open ? html`<${Dialog} title=${`${kind.name}: ${kind.doc}`} close=${close}><${Markdown} text=${kind.instructions} />
    <p class="quiet">Press <kbd>i</kbd> to read this again, <kbd>?</kbd> for the keys.</p><//>` : null;
}

/* ---- what I labeled ---- */

const Label = ({ label }) => html`<span class="facts"><span class="tag">${!label.decision ? label.state : label.state === "done" ? "decision" : "decision taken back"}</span> <span class="quiet" dir="auto">${allInWords(label.values)}</span></span>
  ${label.comment ? html`<span class="quiet text" dir="auto">“${label.comment}”</span>` : null}`;

function Mine() {
  const [page, setPage] = useState(1);
  const [found, setFound] = useState(null);
  const [history, setHistory] = useState({});
  const [trouble, setTrouble] = useState("");
  useEffect(() => { ask(`/api/mine?page=${page}`).then(setFound, (error) => setTrouble(error.message)); }, [page]);
  const show = async (task) => {
    const { labels } = await ask(`/api/history/${task}`).catch((error) => { setTrouble(error.message); return { labels: [] }; });
    setHistory({ ...history, [task]: labels });
  };
  return html`<main><h1>My labels</h1>${trouble ? html`<p class="warning" role="alert">${trouble}</p>` : null}
    ${found ? html`<p class="quiet">${found.total} labeled, the latest first</p><ul class="answer-list">${found.labels.map((label) => html`<li key=${label.task} class="answer-row">
      <a href=${`#/task/${label.task}`} dir="auto">${label.title}</a><${Label} label=${label} />
      <div class="facts quiet">${onDay(label.at)} · ${inTime(label.seconds)} <button type="button" class="small" aria-label=${`history of ${label.title}`} onClick=${() => show(label.task)}>History</button></div>
      ${history[label.task] ? html`<ol class="history" reversed>${history[label.task].map((one, k) => html`<li key=${k}><span class="quiet">${onDay(one.at)}</span> <${Label} label=${one} /></li>`)}</ol>` : null}</li>`)}</ul>
      <nav class="pager" aria-label="Pages"><button type="button" disabled=${page <= 1} onClick=${() => setPage(page - 1)}>Newer</button><span class="quiet">page ${found.page} of ${Math.max(1, found.pages)}</span>
      <button type="button" disabled=${page >= found.pages} onClick=${() => setPage(page + 1)}>Older</button></nav>` : null}</main>`;
}

/* ---- the frame ---- */

const THEMES = ["auto", "light", "dark"];
function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("trueground:theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("trueground:theme", theme);
    document.dispatchEvent(new Event("tg-theme"));
  }, [theme]);
  return html`<button type="button" class="plain" onClick=${() => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % 3])}>Theme: ${theme}</button>`;
}

const PAGES = [["#/", "Label"], ["#/mine", "My labels"]];
const FOR_LEADS = [["#/people", "Project"], ["#/agreement", "Agreement"], ["#/judge", "Judge"], ["#/disputes", "Disputes"], ["#/calibrate", "Calibrate"]];

function Top({ me, route, progress }) {
  const { done, skipped, unclear, left, seconds } = progress;
  const seen = done + skipped + unclear;
  const leave = async () => { await ask("/api/leave", {}).catch(() => {}); leaveNothing(); location.reload(); };
  return html`<header class="top"><span class="brand">${me.project.title || "trueground"}</span>
    <nav aria-label="Pages">${[...(me.role === "lead" ? FOR_LEADS : []), ...PAGES].map(([href, name]) => html`<a key=${href} href=${href} aria-current=${(route || "#/") === href ? "page" : null}>${name}</a>`)}</nav>
    <span class="progress quiet" hidden=${me.role === "lead" && !seen && route !== "#/"}><progress max=${Math.max(1, seen + left)} value=${seen} aria-label="my progress"></progress>
      ${done} done${skipped ? `, ${skipped} skipped` : ""}${unclear ? `, ${unclear} unclear` : ""}, ${left} left${seconds ? ` · ${inTime(seconds)} a task` : ""}</span>
    <span class="who"><span class="quiet" dir="auto">${me.name}</span> <button type="button" class="plain" onClick=${leave}>Leave</button> <${Theme} /></span></header>`;
}

const ENDED = "Your session has ended. Your input is stored in this browser. Open your link again in this window to continue.";
function Trouble({ trouble }) {
  if (trouble === "waiting") return html`<p class="warning banner" role="alert">Not saved yet: the server cannot be reached, or cannot save just now. Your label waits in this browser and is sent again by itself. Leave the page open, or come back to it.
    <button type="button" onClick=${() => dispatchEvent(new Event("try-now"))}>Try now</button></p>`;
  return trouble === "ended" ? html`<p class="warning banner" role="alert">${ENDED}</p>` : null;
}

function App({ first }) {
  const [progress, setProgress] = useState(first.progress);
  const [route, setRoute] = useState(location.hash);
  const [trouble, setTrouble] = useState("");
  const [told, setTold] = useState(null);  // null until all that waited is sent
  useEffect(() => {
    deliverOld((reply) => { if (reply.progress) setProgress(reply.progress); }).then(setTold, () => {});
    return onTrouble(setTrouble);
  }, []);
  useEffect(() => {
    const follow = () => { if (location.hash.startsWith("#token=")) location.reload(); else { setRoute(location.hash); scrollTo(0, 0); } };
    addEventListener("hashchange", follow);
    setRoute(location.hash);  // it may have changed before somebody followed it
    return () => removeEventListener("hashchange", follow);
  }, []);
  const sending = told === null;
  const [, page = "", number] = route.match(/^#\/([a-z]*)\/?(\d+)?$/u) ?? [];
  const Lead = first.role === "lead" ? LEAD_PAGES[page] : null;
  useEffect(() => { document.title = `${{ mine: "My labels", people: "Project", agreement: "Agreement", judge: "Judge", disputes: "Disputes", dispute: "Disputes", calibrate: "Calibrate" }[page] ?? "Label"} · ${first.project.title || "trueground"}`; }, [page]);
  return html`<${Top} me=${first} route=${route} progress=${progress} /><${Trouble} trouble=${trouble} />
    ${told?.map((words) => html`<p class="warning banner" role="alert" key=${words}>A stored label was refused: ${words}. Open its task to see and correct it. <button type="button" onClick=${() => setTold([])}>Well</button></p>`)}
    ${sending ? html`<main class="calm"><p class="quiet">Sending stored labels …</p></main>` : Lead ? html`<${Lead} key=${route} me=${first} number=${number === undefined ? null : Number(number)} />` : page === "mine" ? html`<${Mine} />`
      : html`<${Queue} me=${first} number=${page === "task" && number !== undefined ? Number(number) : null} setProgress=${setProgress} />`}`;
}

function Outside({ words }) {
  const waiting = countWaiting();
  return html`<main class="calm"><h1>trueground</h1><p class="warning" role="alert">${words}</p>
    ${waiting ? html`<p>${waiting === 1 ? "One label waits" : `${waiting} labels wait`} in this browser and will be sent once you are back.</p>` : null}
    <p>Open the link that you received. If it does not work any more, ask the sender for a new link.</p></main>`;
}

async function start() {
  const place = document.getElementById("app");
  const token = location.hash.match(/^#token=(.+)$/u)?.[1];
  let me;
  try {
    if (token) {
      me = await ask("/api/enter", { token: decodeURIComponent(token) });
      history.replaceState(null, "", location.pathname);  // nobody copies the token with the address
    } else me = await ask("/api/me");
    know(me);
    if (!location.hash && me.role === "lead") history.replaceState(null, "", "#/people");
  } catch (error) {
    place.replaceChildren();
    render(html`<${Outside} words=${error.status === 401 ? (token ? error.message : "You are not signed in, or your session has ended.") : error.message} />`, place);
    addEventListener("hashchange", () => location.reload());
    return;
  }
  place.replaceChildren();
  render(html`<${App} first=${me} />`, place);
}

start();

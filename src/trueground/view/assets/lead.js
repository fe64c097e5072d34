/* The pages of whoever leads: people, agreement, judge, disputes, calibration. */
import { ask, save } from "./api.js";
import { Labeler } from "./label.js";
import { Dialog, allInWords, inTime, inWords, onDay } from "./texts.js";

const { html, useEffect, useLayoutEffect, useRef, useState } = htmPreact;

const LIVE_MS = 20000;

/* What a path gives, looked up again while the page is seen: [value, words of the trouble, now, setTrouble]. */
function useFound(path, live = false) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState("");
  const last = useRef("");
  const load = async () => {
    try {
      const value = await ask(path);
      if (JSON.stringify(value) !== last.current) setFound(value);  // what is open stays open
      last.current = JSON.stringify(value);
      setTrouble("");
    } catch (error) { setTrouble(error.message); }
  };
  useEffect(() => {
    let timer = 0, gone = false;
    const look = async () => {
      const began = Date.now();
      if (!last.current || document.visibilityState === "visible") await load();
      if (live && !gone) timer = setTimeout(look, Math.max(LIVE_MS, 5 * (Date.now() - began)));  // what is slow is asked for less often
    };
    look();
    return () => { gone = true; clearTimeout(timer); };
  }, [path]);
  return [found, trouble, load, setTrouble];
}

const Wrong = ({ words }) => words ? html`<p class="warning" role="alert">${words}</p>` : null;

function Copied({ text, name }) {
  const [done, setDone] = useState(false);
  const place = useRef(null);
  const copy = async () => {
    try { await navigator.clipboard.writeText(text); setDone(true); } catch { place.current.select(); }  // not without TLS: Ctrl+C does it
  };
  return html`<div class="copied"><input type="text" readonly ref=${place} aria-label=${name} value=${text} onFocus=${(event) => event.target.select()} />
    <button type="button" onClick=${copy}>${done ? "Copied" : "Copy"}</button></div>`;
}

/* A page as the viewer draws it. */
function Drawn({ page }) {
  return html`<h1>${page.title}</h1>${page.lead?.length ? html`<p class="lead">${rich(page.lead)}</p>` : null}
    ${(page.notices ?? []).map((notice) => html`<p class="warning" role="note">${notice}</p>`)}${draw(page.blocks)}`;
}

const pageOf = (path) => function Given() {
  const [page, trouble] = useFound(path, true);
  return html`<main><${Wrong} words=${trouble} />
    ${page ? html`<${Drawn} page=${page} />` : trouble ? null : html`<p class="quiet">Counting …</p>`}</main>`;
};

/* ---- people and files ---- */

const stateOf = (one) => one.withdrawn ? "withdrawn " : one.link_open ? "link not used yet " : one.seen ? html`<span class="quiet">here ${onDay(one.seen)}</span> ` : "";

function Project() {
  const [found, trouble, load, setTrouble] = useFound("/api/lead/overview", true);
  const [link, setLink] = useState(null);
  const [name, setName] = useState("");
  const [role, setRole] = useState("annotator");
  const [asking, setAsking] = useState(null);
  const act = async (path, body = {}) => {
    try {
      const made = await ask(path, body);
      if (made.link) setLink({ text: made.link, name: body.name ?? found.people.find((one) => path.includes(`/${one.id}/`))?.name });
      setTrouble("");
      await load();
    } catch (error) { setTrouble(error.message); }
  };
  const invite = (event) => { event.preventDefault(); if (name.trim()) { act("/api/lead/people", { name: name.trim(), role }); setName(""); } };
  const fetchFile = async (what) => {
    const reply = await fetch(`/api/lead/export?what=${what}`).catch(() => null);
    if (!reply?.ok) { setTrouble((await reply?.json().catch(() => null))?.error ?? "the file could not be fetched"); return; }
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(await reply.blob());
    anchor.download = reply.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/u)?.[1] ?? `${what}.jsonl`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 60000);
    setTrouble("");
  };
  if (!found) return html`<main><${Wrong} words=${trouble} /><p class="quiet">Counting …</p></main>`;
  const { total, finished, started, untouched, skipped, unclear } = found.tasks;
  const tiles = [["tasks", total], ["finished", finished], ["begun", started], ["untouched", untouched], ["only skipped", skipped], ["unclear", unclear]].map(([label, value]) => ({ label, value: value.toLocaleString("en") }));
  return html`<main><h1>Project</h1><${Wrong} words=${trouble} />${draw([{ type: "tiles", tiles }])}
    ${link ? html`<div class="note link" role="status"><p>The link of <b dir="auto">${link.name}</b>. It is shown only now; send it to nobody else.</p><${Copied} text=${link.text} name="link" />
      <button type="button" onClick=${() => setLink(null)}>Done</button></div>` : null}
    <section aria-label="People"><h2>People</h2><div class="scroll" tabindex="0" role="region" aria-label="people"><table class="people"><thead><tr><th scope="col">name</th><th scope="col">role</th><th scope="col" class="num">done</th>
      <th scope="col" class="num">skipped</th><th scope="col" class="num">unclear</th><th scope="col" class="num">time a task</th><th scope="col" class="num" title="share of pairs of labels that are equal">agrees with the rest</th><th scope="col">notes</th><th scope="col"><span class="hidden">what to do</span></th></tr></thead>
      <tbody>${found.people.map((one) => html`<tr key=${one.id} class=${one.withdrawn ? "apart" : null}><th scope="row" dir="auto">${one.name}</th><td>${one.role}</td><td class="num">${one.done}</td><td class="num">${one.skipped}</td><td class="num">${one.unclear}</td>
        <td class="num">${inTime(one.seconds)}</td><td class="num">${one.agreement === null || one.agreement === undefined ? "–" : `${(100 * one.agreement).toFixed(0)} %`}</td>
        <td>${stateOf(one)}${one.flags.map((flag) => html`<span class="badge partly" key=${flag} title=${found.rules[flag]}>${flag}</span> `)}</td>
        <td class="doing"><button type="button" onClick=${() => act(`/api/lead/people/${one.id}/link`)}>New link</button>
          ${one.withdrawn ? null : html`<button type="button" onClick=${() => setAsking({ one, what: "withdraw" })}>Withdraw</button>`}
          ${one.forgotten ? null : html`<button type="button" onClick=${() => setAsking({ one, what: "forget" })}>Forget</button>`}</td></tr>`)}</tbody></table></div>
      ${Object.entries(found.rules).filter(([flag]) => found.people.some((one) => one.flags.includes(flag))).map(([flag, words]) => html`<p key=${flag} class="quiet"><span class="badge partly">${flag}</span> ${words}</p>`)}
      <form class="filters" onSubmit=${invite}><label class="grow">Invite <input type="text" dir="auto" placeholder="name" value=${name} maxlength="80" onInput=${(event) => setName(event.target.value)} /></label>
        <label>as <select value=${role} onChange=${(event) => setRole(event.target.value)}><option value="annotator">annotator</option><option value="lead">lead</option></select></label><button>Make a link</button></form></section>
    <section aria-label="Files"><h2>Files</h2><ul class="files">
      <li><button type="button" onClick=${() => fetchFile("labels")}>Labels</button><span>one for each task, with your decisions: for <code>validate --labels</code>, <code>judge calibrate --labels</code>, <code>build --labels</code></span></li>
      <li><button type="button" onClick=${() => fetchFile("answers")}>Answers</button><span>of each person: for <code>annotate import</code> and <code>agreement</code></span></li>
      <li><button type="button" onClick=${() => fetchFile("records")}>Records</button><span>that the labels belong to</span></li>
      <li><a class="button" href="/api/lead/backup" download>Backup</a><span>the whole project as one SQLite file</span></li></ul></section>
    ${asking ? html`<${Dialog} title=${asking.what === "forget" ? "Forget this person?" : "Withdraw this person?"} close=${() => setAsking(null)}>
      <p><b dir="auto">${asking.one.name}</b>: ${asking.what === "forget" ? "the name is deleted for good and the links end. The labels stay, without a name." : "the links and sessions end at once. The labels stay; a new link lets this person in again."}</p>
      <p><button type="button" class="danger" onClick=${() => { act(`/api/lead/people/${asking.one.id}/${asking.what}`); setAsking(null); }}>${asking.what === "forget" ? "Forget" : "Withdraw"}</button></p><//>` : null}</main>`;
}

/* ---- disputes ---- */

const isUnanswered = (one) => one.labels.every((label) => label.state === "skipped");
const share = (agreement) => agreement === null || agreement === undefined ? "–" : `${(100 * agreement).toFixed(0)} %`;

function Disputes() {
  const [page, setPage] = useState(1);
  const [found, trouble] = useFound(`/api/lead/disputes?page=${page}`);
  const open = found?.disputes.find((one) => !one.decision);
  useLayoutEffect(() => {
    const follow = (event) => { if (event.key === "Enter" && open && !event.target.closest?.("a, button")) location.hash = `#/dispute/${open.task}`; };
    addEventListener("keydown", follow);
    return () => removeEventListener("keydown", follow);
  }, [open]);
  if (!found) return html`<main><${Wrong} words=${trouble} /><p class="quiet">Counting …</p></main>`;
  return html`<main><h1>Disputes</h1><${Wrong} words=${trouble} />
    <p class="quiet">${found.total ? html`${found.total} ${found.total === 1 ? "task" : "tasks"} on which people differ, lowest agreement first, then what somebody found unclear, then what nobody answered, only skipped; ${found.decided} decided.${open ? html` <kbd>Enter</kbd> opens the first that is open.` : ""}` : "No disagreements so far."}</p>
    <ul class="answer-list">${found.disputes.map((one) => html`<li key=${one.task} class="answer-row"><a href=${`#/dispute/${one.task}`} dir="auto">${one.title}</a>
      <div class="facts"><span class="tag">${isUnanswered(one) ? "nobody answered" : `agreement ${share(one.agreement)}`}</span>${one.decision ? html`<span class="badge supported">✓ decided</span>` : html`<span class="badge unknown">open</span>`}
      ${one.labels.map((label, k) => html`<span class="quiet" key=${k} dir="auto"><b>${label.author}</b> ${label.state === "done" ? allInWords(label.values) : label.state}</span>`)}</div></li>`)}</ul>
    ${found.pages > 1 ? html`<nav class="pager" aria-label="Pages"><button type="button" disabled=${page <= 1} onClick=${() => setPage(page - 1)}>Previous</button><span class="quiet">page ${page} of ${found.pages}</span>
      <button type="button" disabled=${page >= found.pages} onClick=${() => setPage(page + 1)}>Next</button></nav>` : null}</main>`;
}

async function findDispute(test) {
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const found = await ask(`/api/lead/disputes?page=${page}`);
    pages = found.pages;
    const one = found.disputes.find(test);
    if (one) return one;
  }
  return null;
}

function Dispute({ me, number }) {
  const [task, trouble, , setTrouble] = useFound(`/api/task/${number}`);
  const [one, setOne] = useState(null);
  useEffect(() => { findDispute((each) => each.task === number).then((found) => found ? setOne(found) : setTrouble("there is nothing to decide on this task"), (error) => setTrouble(error.message)); }, [number]);
  if (!task || !one) return html`<main class="calm"><${Wrong} words=${trouble} />${trouble ? html`<p><a href="#/disputes">All disputes</a></p>` : html`<p class="quiet">Loading …</p>`}</main>`;
  const kind = me.project.kinds.find((each) => each.name === task.kind);
  const takeBack = () => save({ task: number, values: null, comment: "" }, "/api/lead/decide").then(() => { location.hash = "#/disputes"; }, (error) => setTrouble(error.message));
  const decide = async ({ values, comment }) => {
    await save({ task: number, values, comment }, "/api/lead/decide");
    const next = await findDispute((each) => !each.decision && each.task !== number);
    location.hash = next ? `#/dispute/${next.task}` : "#/disputes";
  };
  const said = one.labels.filter((label) => label.state === "done");
  const aside = html`<div class="scroll" tabindex="0" role="region" aria-label="labels side by side"><table class="sides"><thead><tr><th scope="col"></th>${one.labels.map((label, k) => html`<th scope="col" key=${k} dir="auto">${label.author}</th>`)}</tr></thead><tbody>
    ${kind.fields.map((field) => html`<tr key=${field.name} class=${new Set(said.map((label) => JSON.stringify(label.values[field.name] ?? null))).size > 1 ? "differ" : null}><th scope="row">${field.name}</th>
      ${one.labels.map((label, k) => html`<td key=${k} dir="auto">${label.state === "done" ? inWords(label.values[field.name]) : label.state}</td>`)}</tr>`)}
    ${one.labels.some((label) => label.comment) ? html`<tr><th scope="row">comment</th>${one.labels.map((label, k) => html`<td key=${k} dir="auto">${label.comment}</td>`)}</tr>` : null}</tbody></table></div>`;
  return html`<main><${Wrong} words=${trouble} /><p class="note again">You decide${isUnanswered(one) ? "; nobody answered, all skipped" : ""}. <a href="#/disputes">All disputes</a>
    ${one.decision ? html`<button type="button" class="small" onClick=${takeBack}>Undo the decision</button>` : null}</p>
    <${Labeler} key=${number} task=${task} kind=${kind} label=${one.decision} save=${decide} aside=${aside} final /></main>`;
}

/* ---- calibration ---- */

function Calibrate() {
  const [made, setMade] = useState(null);
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try { setMade(await ask("/api/lead/calibrate", {})); setTrouble(""); } catch (error) { setTrouble(error.message); }
    setBusy(false);
  };
  return html`<main>${made ? null : html`<h1>Calibrate the judge</h1><p>Compare the judge's scores of the run with these labels to find the threshold that agrees best with people, and its uncertainty.</p>`}
    <p><button type="button" class="primary" disabled=${busy} onClick=${go}>${busy ? "Calibrating …" : made ? "Calibrate again" : "Calibrate"}</button></p><${Wrong} words=${trouble} />
    ${made ? html`<p class="quiet">To do the same on the command line, download the files from the page of the project:</p><pre class="command">${made.command}</pre><${Drawn} page=${made.page} />` : null}</main>`;
}

export const LEAD_PAGES = { people: Project, agreement: pageOf("/api/lead/agreement"), judge: pageOf("/api/lead/judge"), disputes: Disputes, dispute: Dispute, calibrate: Calibrate };

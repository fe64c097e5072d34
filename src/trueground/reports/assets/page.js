/* The page as a whole: header, contents, blocks. */
function themeButton() {
  const themes = ["auto", "light", "dark"];
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "auto");
  const turn = () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length];
    document.documentElement.dataset.theme = next;
    setTheme(next);
    document.dispatchEvent(new Event("tg-theme"));
  };
  return html`<button type="button" id="theme" class="plain" onClick=${turn}>Theme: ${theme}</button>`;
}

function Contents({ blocks }) {
  const parts = blocks.filter((block) => block.type === "section" && block.id);
  if (parts.length < 3) return null;
  return html`<nav class="contents noprint" aria-label="Contents">${parts.map(({ id, title }) => html`<a key=${id} href=${`#${id}`}>${plain(title)}</a>`)}</nav>`;
}

/* The section that an address leads to; what follows a question mark is the state of its list. */
function sectionOf(hash) {
  const id = hash.slice(1).split("?")[0];
  try { return document.getElementById(decodeURIComponent(id)); } catch { return null; /* a hand-written address */ }
}

function Page({ page }) {
  const Theme = themeButton;
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    follow();  // to where the address went before the page could hear of it
    return () => removeEventListener("hashchange", follow);
  }, []);
  const opened = TG.opened?.(hash) ?? null;
  const before = useRef("");
  useEffect(() => {
    const returns = before.current.startsWith("#item-");  // to where the list was left
    before.current = hash;
    if (opened === null && !returns && hash.length > 1) sectionOf(hash)?.scrollIntoView({ behavior: "instant" });
  }, [hash]);
  return html`<header class="top"><span class="brand">trueground <span class="quiet">${page.version ?? ""}</span>${page.home ? html` <a class="home" href=${TG.safe(page.home)}>All runs</a>` : null}</span><${Theme} /></header>
    ${opened}
    <main id="overview" class=${page.kind} hidden=${opened !== null}>
      <h1>${page.title}</h1>
      ${page.lead?.length ? html`<p class="lead">${rich(page.lead)}</p>` : null}
      ${(page.notices ?? []).map((notice) => html`<p class="warning" role="note">${notice}</p>`)}
      <${Contents} blocks=${page.blocks} />
      ${draw(page.blocks)}
    </main>`;
}

/* Draw a page, or draw it anew. */
TG.show = (page) => render(html`<${Page} page=${page} />`, document.getElementById("viewer"));

if (document.getElementById("page")) {
  TG.source = TG.pageSource();
  document.getElementById("viewer").replaceChildren();
  TG.show(read("page"));
} else {
  document.getElementById("viewer").replaceChildren();
  TG.fed();
}

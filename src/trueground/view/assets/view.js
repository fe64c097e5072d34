/* Pages that a server feeds: the page comes by itself, the answers of a run as they are asked for. */
TG.fed = (() => {
  const GONE = "The server does not respond. Is `trueground view` still running?";

  async function ask(path, signal) {
    let reply;
    try {
      reply = await fetch(path, { signal, headers: { Accept: "application/json" } });
    } catch (error) {
      throw error.name === "AbortError" ? error : new Error(GONE);
    }
    const found = await reply.json().catch(() => ({ error: GONE }));
    if (!reply.ok) throw new Error(found.error ?? GONE);
    return found;
  }

  function wordsOf(state, more) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
      if (name === "by") Object.entries(value).forEach(([field, one]) => one !== "" && query.set(`by.${field}`, one));
      else if (name !== "page" && value !== "") query.set(name, value);
    }
    for (const [name, value] of Object.entries(more)) query.set(name, value);
    return query.toString();
  }

  function save(href) {
    const link = document.createElement("a");
    link.href = href;
    link.download = "";
    link.click();
  }

  let last = null;
  function source(about) {
    return {
      about, note: null,
      list(state, page) {
        last?.abort();  // what was typed since makes it useless
        last = new AbortController();
        return ask(`list?${wordsOf(state, { page })}`, last.signal);
      },
      open: (id, state) => ask(`item?${wordsOf(state, { id })}`),
      save: (state, kind) => save(`answers.${kind}?${wordsOf(state, {})}`),
    };
  }

  let version = null;
  let stopped = false;
  const draw = (found) => {
    const { page, busy } = found;
    TG.show({ ...page, notices: [...(page.notices ?? []), ...(busy ? [busy] : [])] });
  };

  /* Look whether there is more: of a run that goes on, or of what is being prepared. */
  async function follow(now) {
    let shown = now;
    while (shown.going && !stopped) {
      await new Promise((done) => setTimeout(done, shown.going));
      try {
        const state = await ask(`state?version=${encodeURIComponent(version ?? "")}`);
        const more = state.page !== null && state.page !== undefined;
        shown = { ...shown, ...state, page: more ? state.page : shown.page };
        if (state.about && TG.source) Object.assign(TG.source.about, state.about);
        else if (state.about) TG.source = source(state.about);
        const moved = version !== state.version;
        version = state.version;
        draw(shown);
        if (moved) dispatchEvent(new Event("tg-source"));
      } catch (error) {
        draw({ ...shown, busy: error.message });
      }
    }
  }

  return async () => {
    const root = document.getElementById("viewer");
    let found;
    try {
      found = await ask("page");
      while (found.waiting) {
        TG.show({ kind: "waiting", title: found.title, blocks: [{ type: "text", text: found.waiting }], home: found.home });
        await new Promise((done) => setTimeout(done, 700));
        found = await ask("page");
      }
    } catch (error) {
      TG.show({ kind: "error", title: "This page can't be shown", blocks: [{ type: "text", text: error.message, tone: "warning" }], home: "/" });
      return;
    }
    version = found.version ?? null;
    if (found.about) TG.source = source(found.about);
    document.title = found.page.title;
    draw(found);
    addEventListener("pagehide", () => { stopped = true; });
    follow(found);
  };
})();

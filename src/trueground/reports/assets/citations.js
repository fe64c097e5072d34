/* The citations of an opened item: marks in the answer, what each sentence cites, what is missing. */
const citationViews = ({ make, section, listen, verdictOf, subgraph }) => {
  /* What a cited passage does for its sentence. */
  const OUTCOMES = {
    sufficient: ["supported", "supports it alone"],
    needed: ["supported", "supports it with the others"],
    not_needed: ["unknown", "not needed with the others"],
    not_supporting: ["unsupported", "does not support it"],
    no_passage: ["unsupported", "no such passage"],
    no_sentence: ["unsupported", "no sentence to support"],
  };
  const outcomeOf = ({ outcome }) => OUTCOMES[outcome] ?? ["unknown", "not checked"];
  const SIGNS = { supported: "✓", unsupported: "✗", unknown: "–" };
  const badge = (name, words) => make("span", { class: `badge ${name}` }, `${SIGNS[name]} ${words}`);
  const points = (text) => Array.from(text).length;
  const pair = ({ property, value }) => [property, value].filter((part) => part).join(": ");

  /* What is told of an answer, with each citation joined to the verdict about it. */
  function prepare(found, view) {
    const sentences = (found.sentences ?? []).map((sentence, number) => ({ ...sentence,
      number, missing: sentence.missing ?? 0,
      citations: (sentence.citations ?? []).map((one) => ({ ...one, cite: true, sentence: number })) }));
    const all = sentences.flatMap((sentence) => sentence.citations);
    const alignment = view.alignment ?? [];
    if (alignment.length === all.length) all.forEach((one, k) => { one.alignment = alignment[k]; });
    for (const sentence of sentences) {
      sentence.gaps = (view.missing ?? []).filter((one) => one.sentence === sentence.number);
      sentence.gap = { cite: true, sentence: sentence.number, gaps: sentence.gaps };
    }
    const numbered = (found.numbered ?? []).map((sentence, number) => ({ ...sentence,
      passages: sentence.passages.map((one) => ({ ...one, cite: true, sentence: number })),
      verdict: (view.passages ?? []).find((one) => one.sentence === number) }));
    return { ...found, sentences, all, numbered };
  }

  /* ---- marks in the answer ---- */

  /* Where the answer has a mark that only its text tells of: [NA], [1, 2]. */
  function written(text, sentence, pattern, owners) {
    const own = Array.from(text).slice(sentence.start, sentence.end).join("");
    return [...own.matchAll(pattern)].flatMap((match) => {
      const start = sentence.start + points(own.slice(0, match.index));
      return owners(match[0]).map((owner) => ({ start, end: start + points(match[0]), owner }));
    });
  }

  function spans(told, text) {
    const triples = told.sentences.flatMap((sentence) => [
      ...sentence.citations.map((owner) => ({ start: owner.start, end: owner.end, owner })),
      ...(sentence.missing ? written(text, sentence, /\[\s*NA\s*\]/giu, () => [sentence.gap]) : [])]);
    const numbers = told.numbered.flatMap((sentence) => written(text, sentence, /\[[\d\s,;–-]+\]/gu, (bracket) => {
      const cited = bracket.match(/\d+/gu)?.map(Number) ?? [];
      return sentence.passages.filter((one) => cited.includes(one.number));
    }));
    return [...triples, ...numbers];
  }

  function gapName({ gaps }) {
    if (gaps.some((one) => one.supported === true)) return "supported";
    return gaps.length && gaps.every((one) => one.supported === false) ? "unsupported" : "unknown";
  }

  function nameOf(owner) {
    if (owner.gaps) return gapName(owner);
    if ("outcome" in owner) return outcomeOf(owner)[0];
    return owner.correct ? "supported" : "unsupported";
  }

  function mark(board, text, owners) {
    const names = owners.map(nameOf);
    const name = ["unsupported", "unknown", "supported"].find((one) => names.includes(one));
    const element = make("mark", { class: `cite ${name}` }, text);
    listen(element, board, owners);
    board.pointers.push({ element, owned: owners, target: !owners.some((owner) => "outcome" in owner) });
    return element;
  }

  /* ---- sentence by sentence ---- */

  function entry(board, owner, words, badges, notes = []) {
    const button = make("button", { type: "button", class: "verdict" },
      make("span", { class: "text" }, words), make("span", { class: "judged" }, ...badges));
    listen(button, board, [owner]);
    board.pointers.push({ element: button, owned: [owner], target: false });
    return make("li", {}, button, ...notes.map((note) => make("p", { class: "reason" }, note)));
  }

  /* What citation precision counts: a triple of the minimum set that a given graph has. */
  const counted = (one) => one.correct && one.needed;

  function citationEntry(board, names, owner) {
    const wrong = !(owner.property && owner.value) ? "incomplete" : owner.qid ? "not in the graph" : "no id";
    const badges = [owner.correct ? badge("supported", "correct") : badge("unsupported", wrong)];
    if (typeof owner.needed === "boolean") {
      badges.push(counted(owner) ? badge("supported", "needed")
        : badge("unknown", owner.needed ? "needed, does not count" : "not needed"));
    }
    if (owner.alignment) {
      const { name } = verdictOf(owner.alignment);
      badges.push(badge(name, { supported: "aligned", unsupported: "not aligned", unknown: "alignment not checked" }[name]));
    }
    const who = names.get(owner.qid) ?? owner.name;
    const linked = owner.qid || owner.linked;
    return entry(board, owner, `${who && linked && who !== linked ? `${who} (${linked})` : who || linked || "nobody"} · ${pair(owner) || "nothing"}`,
      badges, owner.alignment?.reasons);
  }

  function gapEntry(board, sentence) {
    const right = sentence.gaps.filter((one) => one.supported === true);
    const name = gapName(sentence.gap);
    const words = { supported: `points at what is missing: ${right.map(({ text }) => text).join("; ")}`,
      unsupported: "points at nothing that is missing", unknown: "not checked" }[name];
    return entry(board, sentence.gap, sentence.missing > 1 ? `[NA], ${sentence.missing} times` : "[NA]", [badge(name, words)]);
  }

  function passageEntry(board, owner) {
    const title = board.contexts[owner.number - 1]?.title;
    return entry(board, owner, title ? `Passage ${owner.number} · ${title}` : `Passage ${owner.number}`, [badge(...outcomeOf(owner))]);
  }

  function numberedItem(board, { text, passages, supported, verdict }) {
    const { name, words } = verdictOf({ supported });
    const reasons = verdict?.reasons ?? [];
    return make("li", {}, make("p", { class: "text sentence" }, text || make("em", { class: "quiet" }, "Brackets only"), " ",
      passages.length && text ? badge(name, words) : null),
    ...reasons.map((reason) => make("p", { class: "reason" }, reason)),
    passages.length ? make("ul", { class: "cites" }, ...passages.map((owner) => passageEntry(board, owner)))
      : make("p", { class: "quiet" }, "cites nothing"));
  }

  function numberedSection(board, { numbered }) {
    if (!numbered.length) return null;
    const worded = numbered.filter(({ text }) => text);
    const cites = numbered.flatMap(({ passages }) => passages);
    const good = cites.filter((owner) => outcomeOf(owner)[0] === "supported").length;
    return section(`Sentences and passages: ${worded.filter(({ supported }) => supported).length} of ${worded.length} supported`
      + (cites.length ? `, ${good} of ${cites.length} useful citations` : ""),
    make("ol", { class: "verdicts sentences" }, ...numbered.map((sentence) => numberedItem(board, sentence))));
  }

  function sentenceItem(board, names, sentence) {
    const entries = [...sentence.citations.map((owner) => citationEntry(board, names, owner)),
      ...(sentence.missing ? [gapEntry(board, sentence)] : [])];
    return make("li", {}, make("p", { class: "text sentence" }, sentence.text || make("em", { class: "quiet" }, "Brackets only")),
      entries.length ? make("ul", { class: "cites" }, ...entries) : make("p", { class: "quiet" }, "cites nothing"));
  }

  function counts({ all, sentences }) {
    const share = (words, test, of = all) => of.length ? `${of.filter(test).length} of ${of.length} ${words}` : null;
    const checked = all.filter((one) => one.alignment);
    const marked = sentences.filter((one) => one.missing);
    return [share("correct", (one) => one.correct),
      share("needed", counted, all.filter((one) => typeof one.needed === "boolean")),
      share("aligned", (one) => one.alignment.supported === true, checked),
      marked.length ? `[NA] in ${marked.length}` : null].filter((part) => part).join(", ");
  }

  function sentencesSection(board, told) {
    if (!told.sentences.length) return null;
    const names = new Map(told.graphs.map(({ qid, name }) => [qid, name]));
    const found = counts(told);
    return section(found ? `Sentences and citations: ${found}` : "Sentences and citations",
      make("ol", { class: "verdicts sentences" }, ...told.sentences.map((sentence) => sentenceItem(board, names, sentence))));
  }

  /* ---- what is missing ---- */

  function tripleItem(names, [qid, property, value], told) {
    return make("li", {}, make("span", { class: "text" }, `${names.get(qid) ?? qid} · ${property}: ${value} `), told);
  }

  /* Each [NA] sentence was held against every absent triple, in their order. */
  function pointedOut(told, k) {
    const marked = told.sentences.filter(({ missing }) => missing);
    const verdicts = marked.map(({ gaps }) => gaps.length === told.absent.length ? gaps[k].supported : null);
    if (verdicts.includes(true)) return badge("supported", "an [NA] points at it");
    if (verdicts.includes(null)) return badge("unknown", "not checked");
    return badge("unsupported", "no [NA] points at it");
  }

  function missingSection(told) {
    if (!told.missed.length && !told.absent.length) return null;
    const names = new Map(told.graphs.map(({ qid, name }) => [qid, name]));
    const parts = [];
    const uncited = told.missed.filter((triple) => !triple[4]);
    const wrong = told.missed.filter((triple) => triple[4]);
    if (uncited.length) {
      parts.push(make("h4", {}, `Needed, not cited (${uncited.length})`), make("ul", { class: "texts" },
        ...uncited.map((triple) => tripleItem(names, triple, triple[3] === null ? null
          : make("span", { class: "tag" }, triple[3] ? "in the given graph" : "not in the given graph")))));
    }
    if (wrong.length) {
      parts.push(make("h4", {}, `Needed, cited, but not in the given graph (${wrong.length})`),
        make("ul", { class: "texts" }, ...wrong.map((triple) => tripleItem(names, triple, null))));
    }
    if (told.absent.length) {
      parts.push(make("h4", {}, `Absent from the graph (${told.absent.length})`), make("ul", { class: "texts" },
        ...told.absent.map((triple, k) => tripleItem(names, triple, pointedOut(told, k)))));
    }
    return section("Missing knowledge", ...parts);
  }

  /* ---- the graphs ---- */

  const plain = (text) => String(text).normalize("NFC").replace(/\s+/gu, " ").trim();
  const keyOf = (qid, property, value) => JSON.stringify([plain(qid), plain(String(property).replaceAll("_", " ")), plain(value)]);

  function graphsSection(board, told) {
    if (!told.graphs.length) return null;
    const owners = new Map();
    for (const one of told.all.filter(({ correct }) => correct)) {
      const key = keyOf(one.qid, one.property, one.value);
      owners.set(key, [...(owners.get(key) ?? []), one]);
    }
    const ownersOf = (qid, [property, value]) => owners.get(keyOf(qid, property, value)) ?? [];
    const one = section(told.graphs.length === 1 ? "The given graph" : `The ${told.graphs.length} given graphs`,
      make("p", { class: "legend quiet netlegend" }, make("span", { class: "cited" }, "✓ cited"),
        make("span", { class: "needed" }, "needed, not cited"), make("span", { class: "spare" }, "neither")),
      ...told.graphs.map((graph) => subgraph.draw(board, graph, ownersOf)));
    one.classList.add("graphs");
    return one;
  }

  return { prepare, spans, mark, sentencesSection, numberedSection, missingSection, graphsSection };
};

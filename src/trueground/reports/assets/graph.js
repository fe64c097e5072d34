/* A graph as a drawing: the entity in the middle, its values to both sides, or below it where there
   is no room. Boxes are text that wraps; only the lines are drawn, and again when boxes move. */
const subgraphs = ({ make, listen }) => {
  const SHOWN = 16;
  const SVG = "http://www.w3.org/2000/svg";
  const STATES = {
    cited: "✓ cited",
    needed: "needed, not cited",
    spare: "",
  };

  const stateOf = ([, , cited, needed]) => cited ? "cited" : needed ? "needed" : "spare";
  const wordsOf = (row) => stateOf(row) === "cited" && row[3] === false ? "✓ cited, not needed" : STATES[stateOf(row)];

  /* A cited value leads to its citations in the answer. */
  function box(board, row, owners) {
    const state = stateOf(row);
    const words = wordsOf(row);
    const parts = [make("span", { class: "property" }, row[0]), " ", make("span", { class: "value" }, row[1]),
      words ? make("span", { class: "state" }, words) : null];
    const inner = owners.length ? make("button", { type: "button", class: "node" }, ...parts.filter((part) => part))
      : make("span", { class: "node" }, ...parts.filter((part) => part));
    if (owners.length) {
      listen(inner, board, owners);
      board.pointers.push({ element: inner, owned: owners, target: false });
    }
    return make("li", { class: state }, inner);
  }

  function path(from, to, state) {
    const line = document.createElementNS(SVG, "path");
    const [x, y, a, b] = [from.x, from.y, to.x, to.y].map((n) => n.toFixed(1));
    const bent = ((from.x + to.x) / 2).toFixed(1);
    line.setAttribute("d", to.below ? `M${x} ${y} V${b} H${a}` : `M${x} ${y} C${bent} ${y} ${bent} ${b} ${a} ${b}`);
    line.setAttribute("class", state);
    return line;
  }

  /* From the edge of the entity's box to the near edge of a value's. */
  function ends(center, node) {
    const y = node.top + node.height / 2;
    const middle = center.top + center.height / 2;
    if (node.right <= center.left) return [{ x: center.left, y: middle }, { x: node.right, y }];
    if (node.left >= center.right) return [{ x: center.right, y: middle }, { x: node.left, y }];
    return [{ x: center.left + 10, y: center.bottom }, { x: node.left, y, below: true }];
  }

  function drawLines(net) {
    const origin = net.getBoundingClientRect();
    const place = (rect) => ({ left: rect.left - origin.left, right: rect.right - origin.left,
      top: rect.top - origin.top, bottom: rect.bottom - origin.top, height: rect.height });
    const center = place(net.querySelector(".entity").getBoundingClientRect());
    const nodes = [...net.querySelectorAll("li")].filter((node) => node.offsetParent !== null);
    /* Those that matter are drawn over the others. */
    nodes.sort((a, b) => Object.keys(STATES).indexOf(b.className) - Object.keys(STATES).indexOf(a.className));
    net.querySelector("svg").replaceChildren(...nodes.map((node) =>
      path(...ends(center, place(node.getBoundingClientRect())), node.className)));
  }

  function table(graph) {
    const head = ["Property", "Value", "In the answer"].map((words) => make("th", { scope: "col" }, words));
    return make("details", {}, make("summary", {}, "As a table"), make("table", {},
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...graph.rows.map((row) => make("tr", {}, make("th", { scope: "row" }, row[0]),
        make("td", {}, row[1]), make("td", {}, wordsOf(row) || "–"))))));
  }

  function caption(graph) {
    const cited = graph.rows.filter((row) => row[2]).length;
    const needed = graph.rows.filter((row) => row[3] && !row[2]).length;
    const counts = [`${graph.rows.length} values`, `${cited} cited`, needed ? `${needed} needed, not cited` : null];
    return make("figcaption", {}, make("strong", {}, graph.name), " ",
      make("span", { class: "quiet" }, counts.filter((part) => part).join(", ")));
  }

  /* Beyond SHOWN values those that play no part in the answer wait for a click. */
  function fold(net, boxes, rows) {
    const spare = boxes.filter((_, k) => k >= SHOWN && stateOf(rows[k]) === "spare");
    if (!spare.length) return null;
    const button = make("button", { type: "button", class: "noprint", "aria-expanded": "false" });
    const show = (open) => {
      spare.forEach((element) => { element.hidden = !open; });
      button.textContent = open ? "Show fewer values" : `Show ${spare.length} more values`;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => show(button.getAttribute("aria-expanded") === "false"));
    show(false);
    return make("p", {}, button);
  }

  function draw(board, graph, ownersOf) {
    const boxes = graph.rows.map((row) => box(board, row, row[2] ? ownersOf(graph.qid, row) : []));
    const side = (name, rest) => make("ul", { class: name, "aria-label": `Values of ${graph.name}, ${name}` },
      ...boxes.filter((_, k) => k % 2 === rest));
    const lines = document.createElementNS(SVG, "svg");
    lines.setAttribute("aria-hidden", "true");
    const net = make("div", { class: "net" }, lines,
      make("p", { class: "entity" }, make("strong", {}, graph.name), " ", make("code", {}, graph.qid)),
      side("left", 0), side("right", 1));
    new ResizeObserver(() => drawLines(net)).observe(net);
    return make("figure", { class: "subgraph" }, caption(graph), net, fold(net, boxes, graph.rows), table(graph));
  }

  return { draw };
};

/* Charts, by uPlot. What a canvas shows stands below it as a folded table, for those who read. */
const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const MARKS = [[6, 3], [2, 3]];  // dashes of the lines at named places

/* light-dark() is resolved only where it is used. */
function resolved(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function strokeOf(series, k) {
  const tones = { supported: "--supported", unsupported: "--unsupported", unknown: "--unknown", quiet: "--quiet" };
  return resolved(tones[series.tone] ?? PALETTE[k % PALETTE.length]);
}

function shapeAt(context, shape, x, y, r) {
  context.beginPath();
  if (shape === "square") context.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === "triangle") { context.moveTo(x, y - 1.2 * r); context.lineTo(x + 1.1 * r, y + r); context.lineTo(x - 1.1 * r, y + r); context.closePath(); }
  else if (shape === "diamond") { context.moveTo(x, y - 1.3 * r); context.lineTo(x + 1.3 * r, y); context.lineTo(x, y + 1.3 * r); context.lineTo(x - 1.3 * r, y); context.closePath(); }
  else context.arc(x, y, r, 0, 2 * Math.PI);
}

/* One x for all series, as uPlot wants it: the union, with gaps where a series has no point. */
function aligned(series) {
  const xs = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, k) => [x, k]));
  return [xs, ...series.map((one) => {
    const column = new Array(xs.length).fill(undefined);
    one.x.forEach((x, k) => { column[place.get(x)] = one.y[k]; });
    return column;
  })];
}

function extent(values, axis, room) {
  const seen = values.filter((value) => typeof value === "number");
  let [low, high] = [axis.low ?? Math.min(...seen), axis.high ?? Math.max(...seen)];
  if (!(low < high)) [low, high] = [low - 0.5, high + 0.5];
  if (axis.log) return [axis.low ?? low / 1.6, axis.high ?? high * 1.6];
  const air = room * (high - low);
  return [axis.low ?? low - air, axis.high ?? high + air];
}

const tickText = (axis) => (_, values) => values.map((value) => {
  if (value === null) return "";
  if (axis.ticks) return axis.ticks[value] ?? "";
  return axis.percent ? `${Math.round(100 * value)} %` : Math.abs(value) >= 1e4 ? value.toLocaleString("en") : String(Number(value.toPrecision(6)));
});

function options(chart, width, height, tip) {
  const { kind, series, x, y } = chart;
  const all = series.flatMap((one) => [...one.y, ...(one.low ?? []), ...(one.high ?? [])]);
  const ink = resolved("--quiet"), grid = resolved("--line");
  const font = "11px system-ui, sans-serif";
  const axisOf = (axis, side) => ({ scale: side, stroke: ink, font, labelFont: font, label: axis.label || undefined, labelSize: axis.label ? 18 : 0,
    size: side === "y" ? 48 : 26, grid: { stroke: grid, width: 0.5 }, ticks: { show: false }, values: tickText(axis),
    splits: axis.ticks ? () => axis.ticks.map((_, k) => k) : undefined });
  const points = kind === "points";
  const bars = kind === "bars";
  return {
    width, height, padding: [10, 12, 0, 0], legend: { show: false }, cursor: { drag: { x: false, y: false }, points: { show: kind === "lines" } },
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, range: () => bars ? barRange(chart) : extent(series.flatMap((one) => one.x), x, points || x.ticks ? 0.06 : 0.01) },
      y: { distr: y.log ? 3 : 1, range: () => bars ? [0, Math.max(...stacked(series).at(-1)) * 1.05 || 1] : extent(all, y, 0.06) },
    },
    axes: [axisOf(x, "x"), axisOf(y, "y")],
    series: [{}, ...series.map((one, k) => ({
      label: one.name, stroke: strokeOf(one, k), fill: bars ? strokeOf(one, k) : undefined, width: points || bars ? 0 : 2, dash: one.dashed ? [5, 4] : undefined, spanGaps: true,
      paths: points ? () => null : bars ? uPlot.paths.bars({ size: [0.94, Infinity], align: 1 }) : undefined,
      points: { show: kind === "lines" && one.x.length <= 60, size: 5 },
    }))],
    hooks: {
      draw: [(u) => marks(u, chart)],
      setCursor: [(u) => tip(u)],
    },
  };
}

function barRange({ series }) {
  const xs = series[0].x;
  const step = xs.length > 1 ? xs[1] - xs[0] : 1;
  return [xs[0], xs.at(-1) + step];
}

function stacked(series) {
  const sums = [];
  for (const one of series) sums.push(one.y.map((value, k) => (value ?? 0) + (sums.at(-1)?.[k] ?? 0)));
  return sums;
}

/* What uPlot has no path for: intervals, points with a shape of their own, the diagonal. */
function marks(u, chart) {
  const context = u.ctx;
  const ratio = devicePixelRatio || 1;
  context.save();
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  if (chart.diagonal) {
    const low = Math.max(u.scales.x.min, u.scales.y.min), high = Math.min(u.scales.x.max, u.scales.y.max);
    context.strokeStyle = resolved("--quiet");
    context.setLineDash([3 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(u.valToPos(low, "x", true), u.valToPos(low, "y", true));
    context.lineTo(u.valToPos(high, "x", true), u.valToPos(high, "y", true));
    context.stroke();
    context.setLineDash([]);
  }
  (chart.x.marks ?? []).forEach(([value], k) => {
    const x = u.valToPos(value, "x", true);
    context.strokeStyle = resolved("--ink");
    context.lineWidth = 1.5 * ratio;
    context.setLineDash(MARKS[k % MARKS.length].map((length) => length * ratio));
    context.beginPath();
    context.moveTo(x, u.bbox.top);
    context.lineTo(x, u.bbox.top + u.bbox.height);
    context.stroke();
    context.setLineDash([]);
  });
  if (chart.kind !== "bars") chart.series.forEach((one, k) => {
    context.strokeStyle = context.fillStyle = strokeOf(one, k);
    one.x.forEach((value, i) => {
      if (typeof one.y[i] !== "number") return;
      const x = u.valToPos(value, "x", true), y = u.valToPos(one.y[i], "y", true);
      if (typeof one.low?.[i] === "number" && typeof one.high?.[i] === "number") {
        context.globalAlpha = 0.55;
        context.lineWidth = 1.5 * ratio;
        context.beginPath();
        context.moveTo(x, u.valToPos(one.low[i], "y", true));
        context.lineTo(x, u.valToPos(one.high[i], "y", true));
        context.stroke();
        context.globalAlpha = 1;
      }
      if (chart.kind === "points") {
        shapeAt(context, SHAPES[k % SHAPES.length], x, y, 4.5 * ratio);
        context.lineWidth = 1.5 * ratio;
        if (one.dashed) context.stroke();
        else context.fill();
      }
    });
  });
  context.restore();
}

/* The nearest point to the pointer, of any series. */
function nearest(u, chart) {
  const { left, top } = u.cursor;
  if (left < 0 || left === undefined) return null;
  let found = null;
  const sums = chart.kind === "bars" ? stacked(chart.series) : null;
  chart.series.forEach((one, k) => one.x.forEach((x, i) => {
    if (typeof one.y[i] !== "number") return;
    const step = chart.kind === "bars" ? (one.x[1] ?? one.x[0] + 1) - one.x[0] : 0;
    const dx = u.valToPos(x + step / 2, "x") - left;
    const dy = u.valToPos(sums ? sums[k][i] : one.y[i], "y") - top;
    const distance = chart.kind === "points" ? dx * dx + dy * dy : dx * dx + 0.05 * dy * dy;
    if (!found || distance < found.distance) found = { distance, one, k, i, dx, dy };
  }));
  return found && (chart.kind === "lines" || chart.kind === "bars" || found.distance < 900) ? found : null;
}

function pointText(chart, { one, i }) {
  const at = chart.x.ticks ? chart.x.ticks[one.x[i]] : numberText(one.x[i], { percent: chart.x.percent });
  const ends = typeof one.low?.[i] === "number" ? ` (${numberText(one.low[i], chart.y)} to ${numberText(one.high[i], chart.y)})` : "";
  return [one.labels?.[i], chart.series.length > 1 || !one.labels ? one.name : null, `${chart.x.label || "x"} ${at}`, `${chart.y.label || "y"} ${numberText(one.y[i], { percent: chart.y.percent })}${ends}`].filter((part) => part).join(" · ");
}

TG.blocks.chart = (chart) => {
  const place = useRef(null);
  const [said, setSaid] = useState("");
  useEffect(() => {
    let plot = null;
    const shown = chart.kind === "bars" ? { ...chart, series: [...chart.series] } : chart;
    const make = () => {
      plot?.destroy();
      const width = Math.max(220, place.current.clientWidth);
      const height = Math.round(Math.min(320, Math.max(180, width * 0.6)));
      const data = aligned(chart.series);
      if (chart.kind === "bars") stacked(chart.series).forEach((column, k) => { data[k + 1] = column; });
      const wanted = options(shown, width, height, (u) => { const found = nearest(u, chart); setSaid(found ? pointText(chart, found) : ""); });
      if (chart.kind === "bars") {  // the tallest first, so that each stands before those below it
        data.splice(1, chart.series.length, ...data.slice(1).reverse());
        wanted.series.splice(1, chart.series.length, ...wanted.series.slice(1).reverse());
      }
      plot = new uPlot(wanted, data, place.current);
    };
    make();
    let last = place.current.clientWidth;
    const watcher = new ResizeObserver(() => requestAnimationFrame(() => { if (place.current && place.current.clientWidth !== last) { last = place.current.clientWidth; make(); } }));
    watcher.observe(place.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", make);
    document.addEventListener("tg-theme", make);
    return () => { watcher.disconnect(); scheme.removeEventListener("change", make); document.removeEventListener("tg-theme", make); plot?.destroy(); };
  }, [chart.series]);
  const marks = chart.x.marks ?? [];
  const legend = chart.series.length > 1 || chart.series[0]?.dashed || marks.length > 0;
  return html`<figure class="chart"><figcaption>${rich(chart.title)}</figcaption>
    <div class="canvas" role="img" aria-label=${`${plain(chart.title)}; its numbers stand in the table below`} ref=${place}></div>
    <p class="said quiet" aria-hidden="true">${said || "\u00a0"}</p>
    ${legend ? html`<p class="legend quiet">${chart.series.map((one, k) => html`<span key=${k}><${Swatch} kind=${chart.kind} one=${one} k=${k} /> ${one.name}</span>`)}${marks.map(([, name], k) => html`<span key=${name}><span class=${`swatch mark m${k}`} aria-hidden="true"></span> ${name}</span>`)}</p>` : null}
    ${chart.note ? html`<p class="quiet">${rich(chart.note)}</p>` : null}
    <${Fold} title="Numbers">${() => html`<${ChartNumbers} chart=${chart} />`}<//></figure>`;
};

function Swatch({ kind, one, k }) {
  const tone = { supported: "--supported", unsupported: "--unsupported", unknown: "--unknown", quiet: "--quiet" }[one.tone] ?? PALETTE[k % PALETTE.length];
  const shape = kind === "points" ? SHAPES[k % SHAPES.length] : kind === "bars" ? "square" : "line";
  return html`<span class=${`swatch ${shape} ${one.dashed ? "dashed" : ""}`} style=${{ "--tone": `var(${tone})` }} aria-hidden="true"></span>`;
}

function ChartNumbers({ chart }) {
  const name = (one, i) => chart.x.ticks ? chart.x.ticks[one.x[i]] : numberText(one.x[i]);
  const row = (one, i) => one.labels?.[i] && chart.series.length > 1 ? `${one.name}: ${one.labels[i]}` : one.labels?.[i] ?? one.name;
  return html`<div class="scroll"><table><thead><tr><th scope="col">series</th><th scope="col" class=${chart.x.ticks ? null : "num"}>${chart.x.label || "x"}</th><th scope="col" class="num">${chart.y.label || "y"}</th></tr></thead><tbody>
    ${chart.series.flatMap((one, k) => one.x.map((_, i) => html`<tr key=${`${k}-${i}`}><th scope="row">${row(one, i)}</th><td class=${chart.x.ticks ? null : "num"}>${name(one, i)}</td>
      <td class="num">${numberText(one.y[i])}${typeof one.low?.[i] === "number" ? html` <span class="quiet">${numberText(one.low[i])} to ${numberText(one.high[i])}</span>` : null}</td></tr>`))}
  </tbody></table></div>`;
}

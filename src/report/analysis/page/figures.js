// The figures of the analysis as SVG: points and lines between two axes, and bars. Their data are made by bench/analysis.
const SYSTEM_COLOURS = 6;
const PANEL = { width: 620, height: 400, left: 58, right: 16, top: 12, bottom: 44 };

const systemColour = (system) => (system < 0 ? "c-other" : `c-node-${system % SYSTEM_COLOURS}`);
// Systems of one colour differ in shape.
const SHAPES = [
  (x, y, r) => svgElement("circle", { cx: x, cy: y, r }),
  (x, y, r) => svgElement("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r }),
  (x, y, r) => svgElement("path", { d: `M${x} ${y - 1.35 * r}L${x + 1.35 * r} ${y}L${x} ${y + 1.35 * r}L${x - 1.35 * r} ${y}Z` }),
  (x, y, r) => svgElement("path", { d: `M${x} ${y - 1.2 * r}L${x + 1.2 * r} ${y + r}L${x - 1.2 * r} ${y + r}Z` }),
];
function systemMark(system, x, y, r, kind) {
  const node = SHAPES[Math.floor(Math.max(0, system) / SYSTEM_COLOURS) % SHAPES.length](x, y, r);
  const open = system >= 0 && model.systems[system].division === "open";
  node.setAttribute("class", `mark-${kind} system-${system < 0 ? "none" : system % SYSTEM_COLOURS}${open ? " is-open" : ""}`);
  node.dataset.system = system;
  return node;
}

function axisTicks(axis) {
  const ticks = [];
  if (!axis.logarithmic) {
    const span = axis.most - axis.least;
    const power = 10 ** Math.floor(Math.log10(span / 4));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => span / one <= 6);
    for (let at = Math.ceil(axis.least / step) * step; at <= axis.most; at += step) ticks.push(Number(at.toPrecision(6)));
    return ticks;
  }
  const decades = Math.log10(axis.most / axis.least);
  const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  for (let power = Math.floor(Math.log10(axis.least)); power <= Math.ceil(Math.log10(axis.most)); ++power)
    for (const step of steps) {
      const at = Number((step * 10 ** power).toPrecision(6));
      if (at >= axis.least && at <= axis.most) ticks.push(at);
    }
  return ticks;
}

const tickText = (value) => (value >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(3))));

function scaleOf(axis, from, to) {
  const place = axis.logarithmic ? Math.log10 : (value) => value;
  const [low, high] = [place(axis.least), place(axis.most)];
  return (value) => from + ((place(value) - low) / (high - low || 1)) * (to - from);
}

const axisTitle = (axis) => (axis.unit && axis.unit !== "share" ? `${axis.label} [${axis.unit}]` : axis.label);

function svgText(x, y, text, attributes) {
  const node = svgElement("text", { x, y, ...attributes });
  node.textContent = text;
  return node;
}

// Names beside means where there is room; the others have a title and the key.
function labelPlacer() {
  const taken = [];
  return (x, y, text) => {
    const width = text.length * 5.9;
    for (const [dx, dy, anchor] of [[9, 4, "start"], [-9, 4, "end"], [0, -10, "middle"], [0, 17, "middle"]]) {
      const left = anchor === "start" ? x + dx : anchor === "end" ? x + dx - width : x - width / 2;
      const box = [left, y + dy - 10, left + width, y + dy + 3];
      if (box[0] < PANEL.left || box[2] > PANEL.width - PANEL.right || box[1] < PANEL.top || box[3] > PANEL.height - PANEL.bottom) continue;
      if (taken.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1])) continue;
      taken.push(box);
      return { x: x + dx, y: y + dy, anchor };
    }
    return null;
  };
}

const shortName = (system) => (model.systems[system].division === "open" ? "★ " : "") +
  `${model.systems[system].family}${model.systems[system].units === null ? "" : `-${model.systems[system].units}`}`;

function drawPanel(panel, onRun) {
  const x = scaleOf(panel.x, PANEL.left, PANEL.width - PANEL.right);
  const y = scaleOf(panel.y, PANEL.height - PANEL.bottom, PANEL.top);
  const bottom = PANEL.height - PANEL.bottom;
  const plot = svgElement("svg", { viewBox: `0 0 ${PANEL.width} ${PANEL.height}`, role: "img", class: "panel",
    "aria-label": `${panel.title}: ${panel.points.filter((point) => point.kind === "mean").length} systems` });
  let last = -Infinity;
  for (const tick of axisTicks(panel.x)) {
    plot.append(svgElement("line", { class: "grid-line", x1: x(tick), x2: x(tick), y1: PANEL.top, y2: bottom }));
    const width = tickText(tick).length * 6 + 8;
    if (x(tick) - last < width) continue;
    last = x(tick);
    plot.append(svgText(x(tick), bottom + 16, tickText(tick), { class: "tick", "text-anchor": "middle" }));
  }
  last = Infinity;
  for (const tick of axisTicks(panel.y)) {
    plot.append(svgElement("line", { class: "grid-line", x1: PANEL.left, x2: PANEL.width - PANEL.right, y1: y(tick), y2: y(tick) }));
    if (last - y(tick) < 14) continue;
    last = y(tick);
    plot.append(svgText(PANEL.left - 7, y(tick) + 4, tickText(tick), { class: "tick", "text-anchor": "end" }));
  }
  plot.append(svgText((PANEL.left + PANEL.width) / 2, PANEL.height - 8, axisTitle(panel.x), { class: "axis-title", "text-anchor": "middle" }),
    svgText(0, 0, axisTitle(panel.y), { class: "axis-title", "text-anchor": "middle", transform: `translate(13 ${bottom / 2}) rotate(-90)` }));
  for (const line of panel.lines) {
    const d = line.points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
    const kind = line.system >= 0 ? ` system-${line.system % SYSTEM_COLOURS}` : "";
    const path = svgElement("path", { class: `line-${line.kind}${kind}`, d }, svgElement("title", {}, line.label));
    if (line.system >= 0) path.dataset.system = line.system;
    plot.append(path);
    if (line.kind !== "iso") continue;
    const [end, other] = [line.points.at(-1), line.points[0]];
    const rises = y(end[1]) < y(other[1]);
    plot.append(svgText(x(end[0]) - 4, y(end[1]) + (rises ? 12 : -5), line.label, { class: "iso-label", "text-anchor": "end" }));
  }
  const place = labelPlacer();
  for (const point of panel.points.filter((one) => one.kind === "run")) {
    const mark = systemMark(point.system, x(point.x), y(point.y), 2.6, "run");
    mark.append(svgElement("title", {}, `${point.label}: ${tickText(point.x)}, ${tickText(point.y)}`));
    if (onRun) mark.addEventListener("click", () => onRun(point.system, point.label));
    plot.append(mark);
  }
  for (const point of panel.points.filter((one) => one.kind !== "run")) {
    const [px, py] = [x(point.x), y(point.y)];
    if (point.low !== null && point.high !== null)
      plot.append(svgElement("line", { class: "error-bar", x1: px, x2: px, y1: y(Math.max(point.low, panel.y.least)), y2: y(Math.min(point.high, panel.y.most)) }));
    const mark = systemMark(point.system, px, py, 5, point.kind);
    mark.append(svgElement("title", {}, `${point.label}: ${tickText(point.x)}, ${tickText(point.y)}`));
    if (onRun && point.system >= 0) mark.addEventListener("click", () => onRun(point.system, null));
    plot.append(mark);
    const text = point.system >= 0 ? shortName(point.system) : "predicted";
    const free = place(px, py, text);
    if (free) plot.append(svgText(free.x, free.y, text, { class: "name", "text-anchor": free.anchor }));
  }
  return element("figure", { class: "card chart panel-card", "data-panel": panel.id }, element("h3", {}, panel.title),
    element("p", { class: "chart-note" }, panel.note), plot);
}

// Rows of bars on one scale; with `marks`, parts are lines at their ends on a logarithmic scale (limits, which do not add up).
function drawBars(figure, { marks = false } = {}) {
  const ends = figure.bars.flatMap((row) => row.parts.map((part) => part.to));
  const most = Math.max(...ends) || 1;
  const least = marks ? Math.min(...ends) / 1.5 : 0;
  const at = marks ? (value) => (Math.log(value / least) / Math.log((most * 1.5) / least)) * 100 : (value) => (value / most) * 100;
  const shown = (value) => (figure.bar_unit === "share" ? formatQuantity(value, "share") : figure.bar_unit === "s" ? formatDuration(value)
    : `${threeDigits(value)} ${figure.bar_unit}`);
  const names = [...new Set(figure.bars.flatMap((row) => row.parts.map((part) => part.name)))];
  const rows = figure.bars.map((row) => {
    const bar = svgElement("svg", { class: "bar-row-plot", role: "img", preserveAspectRatio: "none", "aria-label":
      `${row.label}: ${row.parts.map((part) => `${part.name} ${shown(part.to - part.from)}`).join(", ")}` });
    for (const part of row.parts) {
      const title = svgElement("title", {}, `${part.name}: ${shown(part.to - part.from)}`);
      bar.append(marks
        ? svgElement("rect", { class: `part-${part.name}`, x: `${at(part.to)}%`, width: part.name === "attained" ? 6 : 3, y: 0, height: "100%" }, title)
        : svgElement("rect", { class: `part-${part.name}`, x: `${at(part.from)}%`, width: `${Math.max(0.15, at(part.to) - at(part.from))}%`, y: 0, height: "100%" }, title));
    }
    const value = marks || row.parts.length > 1 ? row.note : [shown(row.parts[0].to - row.parts[0].from), row.note].filter(Boolean).join(" · ");
    return element("div", { class: "bar-row" }, element("span", { class: "bar-row-name", title: row.label }, row.label), bar, element("span", { class: "soft bar-row-note" }, value));
  });
  const key = element("div", { class: "bar-key" }, names.map((name) => element("span", {}, swatchOf(name), ` ${name}`)));
  return element("figure", { class: "card bars", "data-figure": figure.id }, key, element("div", { class: "bar-rows" }, rows));
}

function swatchOf(name) {
  return svgElement("svg", { class: "bar-swatch", viewBox: "0 0 10 10" }, svgElement("rect", { class: `part-${name}`, width: 10, height: 10 }));
}

// Puts the page together. `window.belayReport` is for tests and for curious people in the console.
const model = JSON.parse(document.getElementById("model").textContent);
const startMilliseconds = Date.parse(model.start);
const view = makeView(model.seconds);
const content = document.getElementById("content");
const notable = model.events.filter((event) => event.severity !== "info");
const findings = (model.findings?.findings ?? []).filter((one) => one.severity !== "info" && one.start !== null && one.end !== null);

const SHORT_TITLES = { score: "Score", power: "Power" };  // in the bar

function addSection(id, title, note, ...children) {
  content.append(element("section", { id, "aria-label": title },
    element("div", { class: "section-head" }, element("h2", {}, title), note ? element("p", { class: "soft" }, note) : null),
    children));
  document.getElementById("sections").append(element("a", { href: `#${id}` }, SHORT_TITLES[id] ?? title));
}

function columnsFor(count) {
  return count === 1 ? 1 : count % 3 === 0 ? 3 : 2;
}

const drawn = [];
const maps = {};  // heat maps by section

function makeCharts(section) {
  const own = model.charts.filter((chart) => chart.section === section && isDrawn(section, chart.id))
    .map((chart) => makeChart(chart, view, notable, findings));
  drawn.push(...own);
  return own;
}

const inColumns = (charts) => element("div", { class: `grid columns-${columnsFor(charts.length)}` }, charts.map((chart) => chart.figure));

function addScore() {
  const { gpu } = model;
  if (gpu === null) {
    if (model.score_sentence) addSection("score", "Score", "", element("p", { class: "card list" }, model.score_sentence));
    return;
  }
  const mix = hasMix(gpu.mix) ? makeMix(gpu.mix, view, notable, findings) : null;
  addSection("score", "Saturation score", "How near the GPUs came to a limit of the hardware, on average over the allocated time",
    element("div", { class: "grid score-grid" }, scoreCard(gpu.score), waterfall(gpu.score)), companions(gpu.score),
    inColumns([...makeCharts("score"), mix].filter(Boolean)), notDrawn("score"));
  if (mix !== null) drawn.push(mix);
}

function addFindings() {
  if (model.findings === null) return;
  addSection("findings", "Findings", "Diagnoses by rules, the most important first; marked on the timelines", ...makeFindings(model.findings, view));
}

function addGpus() {
  const { gpu } = model;
  if (gpu === null) return null;
  const few = gpu.gpus.length <= FEW_GPUS;
  const grid = drawnGrid(gpu.grid, "gpus");
  const multiples = few ? makeMultiples({ ...gpu, grid }, view, findings) : null;
  const heat = grid.metrics.length > 0 && grid.bins > 0
    ? makeHeatMap({ grid, names: gpu.gpus.map((one) => one.label), things: "GPUs" }, view) : null;
  addSection("gpus", "GPUs", few ? "Every GPU over time" : `${gpu.gpus.length} GPUs: the middle 80 %, the median, and those that stand out`,
    element("div", { class: "grid" }, few ? multiples?.figure : inColumns(makeCharts("gpus")), heat?.figure, notDrawn("gpus"), gpuTable(gpu)));
  const distribution = [balanceBars(gpu), scatterCard(gpu)].filter(Boolean);
  if (distribution.length + gpu.histograms.length > 0)
    addSection("distribution", "Distribution", "", element("div", { class: "grid" },
      element("div", { class: `grid columns-${distribution.length}` }, distribution), histogramCard(gpu.histograms)));
  const power = makeCharts("power");
  const noPower = notDrawn("power");
  if (power.length > 0 || noPower !== null) addSection("power", "Power, clocks and links", "", inColumns(power), noPower);
  multiples?.draw();
  heat?.draw();
  maps.gpus = heat;
  return { multiples, heat };
}

function addCharts() {
  for (const section of model.sections) addSection(section.id, section.title, section.note, inColumns(makeCharts(section.id)), notDrawn(section.id));
  drawn.forEach((chart) => chart.draw());
  return drawn;
}

function addNodes() {
  if (model.grid.metrics.length === 0 || model.grid.bins === 0) return null;
  const grid = drawnGrid(model.grid, "nodes");
  const heatMap = grid.metrics.length > 0
    ? makeHeatMap({ grid, names: model.nodes.map((node) => node.name), things: "nodes" }, view) : null;
  addSection("nodes", "Nodes", "Every node over time", element("div", { class: "grid" }, heatMap?.figure, notDrawn("nodes"),
    element("div", { class: "card nodes-table" }, nodeTable(model))));
  heatMap?.draw();
  maps.nodes = heatMap;
  return heatMap;
}

function wireBar() {
  const clock = document.getElementById("clock");
  const reset = document.getElementById("reset");
  const toggle = document.getElementById("theme");
  const label = () => { toggle.textContent = theme.name === "dark" ? "Light" : "Dark"; };
  const bar = document.querySelector(".bar");
  new ResizeObserver(() => document.documentElement.style.setProperty("--bar-height", `${bar.offsetHeight}px`)).observe(bar);
  const range = () => {
    reset.hidden = !view.zoomed;
    clock.textContent = view.zoomed ? `${formatElapsed(view.min)} to ${formatElapsed(view.max)}` : "";
  };
  label();
  theme.onChange(label);
  toggle.addEventListener("click", () => theme.toggle());
  reset.addEventListener("click", () => view.reset());
  view.on("range", range);
  view.on("cursor", () => {
    if (view.cursor === null) return range();
    clock.textContent = `${formatElapsed(view.cursor)} · ${formatMoment(startMilliseconds + view.cursor * 1000)}`;
  });
}

wireBar();
content.append(makeHero(model));
const isCritical = (model.findings?.findings ?? []).some((finding) => finding.severity === "critical");
for (const add of isCritical ? [addFindings, addScore] : [addScore, addFindings]) add();
const gpuFigures = addGpus();
const charts = addCharts();
const heatMap = addNodes();
if (model.events.length > 0)
  addSection("events", "Events", model.events_total > model.events.length
    ? `The ${model.events.length} most important of ${model.events_total}` : "", eventTable(model, startMilliseconds));
addSection("coverage", "Coverage", "How complete this record is: samples received of those expected",
  element("div", { class: "split" }, element("div", { class: "card" }, coverageTable(model.coverage)), coverageNotes(model.coverage)));
if (model.gpu !== null) addSection("methods", "Methods", "How the score was made, and from what", ...makeMethods(model.gpu));
if (model.facts.length > 0)
  addSection("facts", "Facts", "Where it ran and how it was recorded",
    element("div", { class: "grid facts" }, model.facts.map(factCard)));
document.getElementById("producer").textContent = `${model.producer} · ${formatMoment(startMilliseconds)}`;

window.belayReport = { model, view, charts, heatMap, gpuFigures, theme, ready: true };

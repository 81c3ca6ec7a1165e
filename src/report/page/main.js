// Puts the page together. `window.belayReport` is for tests and for curious people in the console.
const model = JSON.parse(document.getElementById("model").textContent);
const startMilliseconds = Date.parse(model.start);
const view = makeView(model.seconds);
const content = document.getElementById("content");
const notable = model.events.filter((event) => event.severity !== "info");

function addSection(id, title, note, ...children) {
  content.append(element("section", { id, "aria-label": title },
    element("div", { class: "section-head" }, element("h2", {}, title), note ? element("p", { class: "soft" }, note) : null),
    children));
  document.getElementById("sections").append(element("a", { href: `#${id}` }, title));
}

function columnsFor(count) {
  return count === 1 ? 1 : count % 3 === 0 ? 3 : 2;
}

function addCharts() {
  const charts = [];
  for (const section of model.sections) {
    const own = model.charts.filter((chart) => chart.section === section.id).map((chart) => makeChart(chart, view, notable));
    addSection(section.id, section.title, section.note,
      element("div", { class: `grid columns-${columnsFor(own.length)}` }, own.map((chart) => chart.figure)));
    charts.push(...own);
  }
  charts.forEach((chart) => chart.draw());
  return charts;
}

function addNodes() {
  if (model.grid.metrics.length === 0 || model.grid.bins === 0) return null;
  const heatMap = makeHeatMap(model, view);
  addSection("nodes", "Nodes", "Every node over time",
    element("div", { class: "grid" }, heatMap.figure, element("div", { class: "card nodes-table" }, nodeTable(model))));
  heatMap.draw();
  return heatMap;
}

function wireBar() {
  const clock = document.getElementById("clock");
  const reset = document.getElementById("reset");
  const toggle = document.getElementById("theme");
  const label = () => { toggle.textContent = theme.name === "dark" ? "Light" : "Dark"; };
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
const charts = addCharts();
const heatMap = addNodes();
if (model.events.length > 0)
  addSection("events", "Events", model.events_total > model.events.length
    ? `The ${model.events.length} most important of ${model.events_total}` : "", eventTable(model, startMilliseconds));
addSection("coverage", "Coverage", "How complete this record is: samples received of those expected",
  element("div", { class: "split" }, element("div", { class: "card" }, coverageTable(model.coverage)), coverageNotes(model.coverage)));
if (model.facts.length > 0)
  addSection("facts", "Facts", "Where it ran and how it was recorded",
    element("div", { class: "grid facts" }, model.facts.map(factCard)));
document.getElementById("producer").textContent = `${model.producer} · ${formatMoment(startMilliseconds)}`;

window.belayReport = { model, view, charts, heatMap, theme, ready: true };

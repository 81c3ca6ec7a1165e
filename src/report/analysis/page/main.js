// Puts the page of an analysis together. `window.belayReport` is for tests and for curious people in the console.
const model = JSON.parse(document.getElementById("model").textContent);
const content = document.getElementById("content");
const benchmarks = [...new Set(model.figures.map((figure) => figure.benchmark))];
const runCount = model.systems.reduce((sum, system) => sum + system.runs, 0);
const charts = [];

function addSection(id, title, note, ...children) {
  content.append(element("section", { id, "aria-label": title },
    element("div", { class: "section-head" }, element("h2", {}, title), note ? element("p", { class: "soft" }, note) : null), children));
  document.getElementById("sections").append(element("a", { href: `#${id}` }, title));
}

const minutes = (seconds) => (seconds === null ? null : seconds / 60);
const percent = (share) => (share === null ? DASH : `${(100 * share).toFixed(1)} %`);
const best = (key) => model.systems.filter((system) => system[key] !== null).sort((a, b) => a[key] - b[key])[0];

function addHero() {
  const fastest = best("seconds");
  const cheapest = best("unit_hours");
  const fitted = model.models.filter((one) => one.mean_error !== null);
  const tile = (label, value, detail, tone = "neutral") => ({ label, value, detail, tone, spark: [] });
  const tiles = [tile("Systems", String(model.systems.length), `${runCount} runs`)];
  if (fastest) tiles.push(tile("Fastest", formatDuration(fastest.seconds), fastest.label));
  if (cheapest) tiles.push(tile("Least budget", `${threeDigits(cheapest.unit_hours)} unit·h`, cheapest.label));
  for (const one of fitted) tiles.push(tile(`Error of prediction, ${one.family}`, percent(one.mean_error), `on held-out scales; at most ${percent(one.worst_error)}`));
  content.append(element("div", { class: "hero" }, element("div", { class: "hero-words" },
    element("div", { class: "hero-title" }, element("h1", {}, model.title)),
    element("p", { class: "lede" }, `${model.systems.length} systems with ${runCount} runs. Means are those of the runs that count: without the fastest and the slowest.`)),
  figureTiles(tiles.slice(0, 8))));
}

function systemsTable() {
  const number = (title, group, value, unit = "") => ({ title, group, unit, value });
  const columns = [
    { title: "System", group: "", value: (row) => row.label },
    { title: "benchmark", group: "", value: (row) => row.benchmark },
    number("runs", "", (row) => row.runs_counted, "count"),
    number("mean", "Time [min]", (row) => minutes(row.seconds)),
    number("±", "Time [min]", (row) => minutes(row.seconds_deviation)),
    number("staging", "Time [min]", (row) => minutes(row.staging_seconds)),
    number("epochs", "Convergence", (row) => row.epochs),
    number("±", "Convergence", (row) => row.epochs_deviation),
    number("min/epoch", "Speed", (row) => minutes(row.epoch_seconds)),
    number("samples/s", "Speed", (row) => row.samples_per_second),
    number("efficiency", "Speed", (row) => row.efficiency, "share"),
    number("unit·h", "Budget", (row) => row.unit_hours),
    number("evaluation", "Shares", (row) => row.evaluation_share, "share"),
    number("first component", "Shares", (row) => row.variance_share_first_component, "share"),
    number("data [s]", "Wait of a step", (row) => row.data_wait_seconds_per_step),
    number("communication [s]", "Wait of a step", (row) => row.exposed_communication_seconds_per_step),
    number("of model", "Error", (row) => row.model_error, "share"),
  ].filter((column) => column.group === "" || model.systems.some((system) => column.value(system) !== null));
  return element("div", { class: "card nodes-table" }, sortableTable(columns, model.systems, "Systems side by side"));
}

function systemKey() {
  return element("div", { class: "legend" }, model.systems.map((system, i) => {
    const button = element("button", { type: "button", class: "key", "aria-pressed": "true", title: system.label, onclick: () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const node of document.querySelectorAll(`[data-system="${i}"]`)) node.classList.toggle("is-hidden", !shown);
    } }, svgElement("svg", { class: "bar-swatch", viewBox: "0 0 12 12" }, (() => {
      const mark = systemMark(i, 6, 6, 4, "mean");
      mark.removeAttribute("data-system");
      return mark;
    })()), element("span", { class: "key-label" }, shortName(i)));
    return button;
  }));
}

function drawFigure(figure) {
  if (figure.missing !== null) return [element("p", { class: "not-drawn" }, `Missing: ${figure.missing}.`)];
  if (figure.panels.length > 0)
    return [element("div", { class: `grid columns-${figure.panels.length === 1 ? 1 : 2}` }, figure.panels.map((panel) => drawPanel(panel, showRun)))];
  return [drawBars(figure, { marks: figure.id === "roofline" })];
}

function addFigures() {
  for (const benchmark of benchmarks)
    for (const figure of model.figures.filter((one) => one.benchmark === benchmark)) {
      const name = benchmarks.length > 1 ? `${benchmark} ` : "";
      const id = benchmarks.length > 1 ? `${benchmarks.indexOf(benchmark) + 1}-${figure.id}` : figure.id;
      addSection(id, `${name}${figure.number} ${figure.title}`, figure.note, ...drawFigure(figure));
    }
}

function plainTable(head, rows, label) {
  return element("div", { class: "scroll", tabindex: "0" }, element("table", { "aria-label": label },
    element("thead", {}, element("tr", {}, head.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((value) => element("td", { class: typeof value === "number" ? "number" : "wrap" },
      value === null ? DASH : typeof value === "number" ? tickText(value) : value)))))));
}

function addModel() {
  if (model.models.length === 0) return;
  const laws = model.models.map((one) => [one.benchmark, one.family, one.epochs, one.step_seconds, one.staging_seconds ?? DASH,
    percent(one.mean_error), percent(one.worst_error), one.notes.join("; ")]);
  const held = model.models.flatMap((one) => one.held_out.map((point) => [point.label, minutes(point.measured_seconds), minutes(point.predicted_seconds),
    `${point.error >= 0 ? "+" : ""}${(100 * point.error).toFixed(1)} %`]));
  const predicted = model.predictions.map((one) => [`${one.benchmark} ${one.family}`, one.units, one.global_batch_size, minutes(one.seconds), one.epochs, one.unit_hours,
    percent(one.worst_error_held_out), one.notes.join("; ")]);
  addSection("model", "Model", "T = staging + rest + epochs(B) · steps · time of a step (n units, batch B); errors are of scales that the fit did not see",
    predicted.length > 0 ? element("div", { class: "card" }, plainTable(["Predicted", "units", "batch", "min", "epochs", "unit·h", "error at most", "notes"], predicted, "Predictions")) : null,
    element("div", { class: "card spaced" }, plainTable(["Benchmark", "machine", "epochs", "step [s]", "staging [s]", "mean error", "at most", "notes"], laws, "Laws")),
    held.length > 0 ? element("div", { class: "card spaced" }, plainTable(["Held out", "measured [min]", "predicted [min]", "error"], held, "Held-out scales")) : null);
}

function addPlacement() {
  const known = model.placements.filter((one) => one.rows.length > 0);
  if (known.length === 0) return;
  const yes = (value) => (value === null ? DASH : value ? "yes" : "no");
  addSection("placement", "Data on the nodes", "From which scale on the data fit, with a tenth left free, and what staging costs", ...known.map((one) =>
    element("div", { class: "card spaced" }, element("p", { class: "list soft" }, `${one.benchmark}, ${one.family}: ${formatQuantity(one.data_bytes, "B")}. ${one.missing ?? ""}`),
      plainTable(["Scale", "nodes", "of each node", "fits memory", "fits flash", "staging [s]", "of the run"], one.rows.map((row) =>
        [row.measured ? row.scale : `${row.scale} (predicted)`, row.nodes, formatQuantity(row.bytes_per_node, "B"), yes(row.fits_memory), yes(row.fits_flash), row.staging_seconds,
          percent(row.staging_share)]), "Placement"))));
}

// One run: what it comes to, and its epochs over time.
const runBox = element("div", {});
const systemChoice = element("select", { "aria-label": "System" });
const runChoice = element("select", { "aria-label": "Run" });
const shortFile = (file) => file.split("/").slice(-2).join("/");

function runCharts(run) {
  const records = (run.records ?? []).filter((record) => record.start !== null && record.seconds !== null);
  if (records.length < 2) return null;
  const seconds = records.map((record) => record.start + record.seconds);
  const view = makeView(seconds.at(-1));
  const chart = (id, title, unit, series) => makeChart({ id, title, note: "", kind: "line", unit, seconds, top: null, target: null,
    series: series.map(([label, colour, values]) => ({ label, colour, values, dashed: false, below: false, mean: null })) }, view, [], []);
  const made = [];
  if (records.some((record) => record.metric !== null)) made.push(chart("metric", "Metric after each epoch", "", [["metric", "metric", records.map((record) => record.metric)]]));
  made.push(chart("epoch_time", "Time of each epoch", "s", [["epoch", "throughput", records.map((record) => record.seconds)],
    ["evaluation", "system", records.map((record) => record.evaluation_seconds)]]));
  return made;
}

function fillRun() {
  const system = model.systems[Number(systemChoice.value)];
  const run = system?.run_list[Number(runChoice.value)];
  if (!run) return;
  const fact = (name, value) => ({ name, value: value === null || value === undefined ? DASH : String(value) });
  const facts = factList([fact("Log", run.file), fact("Counts", system.counted.includes(Number(runChoice.value)) ? "yes" : run.missing ? `no: ${run.missing}` : "no: fastest or slowest"),
    fact("Start", run.start === null ? null : formatMoment(run.start * 1000)), fact("Time to train", formatDuration(run.seconds)), fact("Staging", formatDuration(run.staging_seconds)),
    fact("Training", formatDuration(run.training_seconds)), fact("Evaluation", formatDuration(run.evaluation_seconds)), fact("Other", formatDuration(run.other_seconds)),
    fact("Epochs", run.epochs), fact("Evaluations", run.evaluations), fact("Samples/s", run.samples_per_second === null ? null : threeDigits(run.samples_per_second)),
    fact("Budget", run.unit_hours === null ? null : `${threeDigits(run.unit_hours)} unit·h`), fact("Data wait of a step", formatDuration(run.data_wait_seconds_per_step)),
    fact("Exposed communication of a step", formatDuration(run.exposed_communication_seconds_per_step))]);
  const drawn = runCharts(run);
  runBox.replaceChildren(element("div", { class: "grid columns-2" }, element("div", { class: "card list" }, facts),
    drawn ? element("div", { class: "grid" }, drawn.map((one) => one.figure)) : element("p", { class: "card list soft" }, "The page does not hold the epochs of this run.")));
  drawn?.forEach((one) => one.draw());
  charts.splice(0, charts.length, ...(drawn ?? []));
}

function fillRuns() {
  const system = model.systems[Number(systemChoice.value)];
  runChoice.replaceChildren(...(system?.run_list ?? []).map((run, i) => element("option", { value: String(i) }, shortFile(run.file))));
  fillRun();
}

function showRun(system, file) {
  systemChoice.value = String(system);
  fillRuns();
  const at = model.systems[system].run_list.findIndex((run) => run.file === file);
  if (at >= 0) {
    runChoice.value = String(at);
    fillRun();
  }
  document.getElementById("runs").scrollIntoView();
}

function addRuns() {
  systemChoice.append(...model.systems.map((system, i) => element("option", { value: String(i) }, `${system.benchmark}: ${system.label}`)));
  systemChoice.addEventListener("change", fillRuns);
  runChoice.addEventListener("change", fillRun);
  addSection("runs", "Runs", "Choose one here, or click a point of a figure", element("div", { class: "run-choice" }, systemChoice, runChoice), runBox);
  fillRuns();
}

function addNotes() {
  const notes = [...model.notes, ...model.systems.flatMap((system) => system.notes.map((note) => `${system.label}: ${note}`))];
  if (notes.length === 0) return;
  addSection("notes", "Notes", "What is missing, and what was left out", element("div", { class: "card list" }, element("ul", {}, notes.map((note) => element("li", {}, note)))));
}

const toggle = document.getElementById("theme");
const nameTheme = () => { toggle.textContent = theme.name === "dark" ? "Light" : "Dark"; };
nameTheme();
theme.onChange(nameTheme);
toggle.addEventListener("click", () => theme.toggle());
const bar = document.querySelector(".bar");
new ResizeObserver(() => document.documentElement.style.setProperty("--bar-height", `${bar.offsetHeight}px`)).observe(bar);

addHero();
if (model.systems.length > 0) addSection("systems", "Systems", "Side by side; a click on a heading sorts, a click on a name hides it in the figures", systemsTable(), systemKey());
addFigures();
addModel();
addPlacement();
if (model.systems.length > 0) addRuns();
addNotes();
document.getElementById("producer").textContent = "Belay";
window.belayReport = { model, charts, theme, ready: true };

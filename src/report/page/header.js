// The top of the page: which job, how it went in words, and the key figures.
const TONE_MARKS = { good: "✓ ", warning: "! ", bad: "✕ ", neutral: "" };
const MOST_ALERTS = 5;

const statePill = ({ tone, text }) => element("span", { class: `pill ${tone}` }, TONE_MARKS[tone] + text);

// What is critical, before any number; a link each to what is said of it.
function alerts(findings) {
  const critical = findings.filter((finding) => finding.severity === "critical");
  if (critical.length === 0) return null;
  const more = critical.length - MOST_ALERTS;
  return element("ul", { class: "alerts" }, critical.slice(0, MOST_ALERTS).map((finding) =>
    element("li", {}, element("a", { href: `#${findingAnchor(finding)}` }, TONE_MARKS.bad + finding.title),
      finding.summary ? element("span", {}, ` ${finding.summary}`) : null)),
    more > 0 ? element("li", {}, element("a", { href: "#findings" }, `and ${more} more`)) : null);
}

// A line with a wash under it. Missing values break it.
function sparkline(values) {
  const present = values.filter((value) => value !== null);
  if (present.length < 2) return null;
  const top = Math.max(...present);
  const bottom = Math.min(0, ...present);
  const x = (i) => (i / (values.length - 1)) * 100;
  const y = (value) => 27 - ((value - bottom) / (top - bottom || 1)) * 25;
  let line = "";
  let area = "";
  let open = null;
  values.forEach((value, i) => {
    if (value === null) {
      open = null;
      return;
    }
    const point = `${x(i).toFixed(2)} ${y(value).toFixed(2)}`;
    line += `${open === null ? "M" : "L"}${point}`;
    if (open === null) open = i;
    if (values[i + 1] === null || values[i + 1] === undefined) {
      const run = values.slice(open, i + 1).map((v, j) => `L${x(open + j).toFixed(2)} ${y(v).toFixed(2)}`).join("");
      area += `M${x(open).toFixed(2)} 28${run}L${x(i).toFixed(2)} 28Z`;
    }
  });
  return svgElement("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" },
    svgElement("path", { class: "spark-area", d: area }), svgElement("path", { d: line }));
}

function figureTile(figure) {
  const parts = figure.value.split(" ");
  const [number, unit] = parts.length === 2 ? parts : [figure.value, ""];
  return element("div", { class: `tile ${figure.tone}`, role: "group", "aria-label": `${figure.label}: ${figure.value}` },
    element("div", { class: "tile-label" }, figure.label),
    element("div", { class: "tile-value" }, number, unit ? element("span", { class: "unit" }, unit) : null),
    element("div", { class: "tile-detail" }, TONE_MARKS[figure.tone] + figure.detail), sparkline(figure.spark));
}

// A number and its unit stay on one line.
function keptTogether(text) {
  return text.replace(/(\d) (?=[a-z%])/gi, "$1\u00a0");
}

function makeHero(model) {
  const { job } = model;
  const id = job.array_task === null ? job.id : `${job.id}_${job.array_task}`;
  const where = [id && `job ${id}`, job.cluster && `on ${job.cluster}`, job.user && `by ${job.user}`,
    job.account && `for ${job.account}`, job.restart > 0 && `restart ${job.restart}`].filter(Boolean).join(" ");
  return element("div", { class: "hero" },
    element("div", { class: "hero-words" },
      element("div", { class: "hero-title" }, element("h1", {}, job.name || "Job"), statePill(model.state)),
      element("p", { class: "where" }, where), element("p", { class: "lede" }, keptTogether(model.summary.join(" ")))),
    factList(jobFacts(model)), alerts(model.findings?.findings ?? []),
    figureTiles(model.figures));
}

// In one row, or in two of about the same length.
function figureTiles(figures) {
  const tiles = element("div", { class: "figures" }, figures.map(figureTile));
  tiles.style.setProperty("--tiles", String(figures.length <= 7 ? figures.length : Math.ceil(figures.length / 2)));
  return tiles;
}

// "nid001, nid002" or "nid001 … nid999 (999)"
function nodeNames(nodes) {
  const names = nodes.map((node) => node.name);
  return names.length <= 8 ? names.join(", ") : `${names[0]} … ${names.at(-1)} (${names.length})`;
}

function jobFacts(model) {
  const { job } = model;
  const moment = (text) => (text === null ? DASH : formatMoment(Date.parse(text)));
  const facts = [
    { name: "Start", value: moment(job.start) },
    { name: "End", value: moment(job.end) },
    { name: "Duration", value: formatDuration(model.seconds) },
    { name: "Nodes", value: nodeNames(model.nodes) },
    { name: "Ranks", value: model.ranks || "" },
    { name: "Exit status", value: job.exit_status ?? "" },
    { name: "Command", value: job.command, mono: true },
  ];
  return facts.filter((fact) => fact.value !== "");
}

// Tables of nodes, coverage, events and facts.

// A table whose columns can be sorted by a click on their heading. `columns`: {title, group, unit, value(row)} where value
// is a number, null or text.
function sortableTable(columns, rows, label) {
  const body = element("tbody");
  const show = (column) => (row) => {
    const value = column.value(row);
    return typeof value === "string"
      ? element("td", {}, value) : element("td", { class: "number" }, 
      column.unit === "count" ? value ?? DASH : column.unit === "score" ? formatScore(value) : formatQuantity(value, column.unit));
  };
  const fill = () => body.replaceChildren(...rows.map((row) => element("tr", {}, columns.map((column) => show(column)(row)))));
  const sortBy = (column, heading) => {
    const falling = heading.getAttribute("aria-sort") !== "descending";
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : (a ?? -Infinity) - (b ?? -Infinity));
    rows = [...rows].sort((a, b) => compare(column.value(a), column.value(b)) * (falling ? -1 : 1));
    fill();
  };
  const headings = columns.map((column) => {
    const heading = element("th", { scope: "col", class: column.unit === undefined ? "" : "number" },
      element("button", { type: "button", onclick: () => sortBy(column, heading) }, column.title));
    return heading;
  });
  const groups = [];
  for (const column of columns) {
    if (groups.length > 0 && groups.at(-1).title === column.group) groups.at(-1).width += 1;
    else groups.push({ title: column.group, width: 1 });
  }
  fill();
  return element("div", { class: "scroll", tabindex: "0" }, element("table", { "aria-label": label },
    element("thead", {}, element("tr", {}, groups.map((group) =>
      element("th", { class: "group", scope: "colgroup", colspan: String(group.width) }, group.title))),
      element("tr", {}, headings)), body));
}

// What the table shows of each node: the job's part where it was measured, or else the whole node's.
const NODE_COLUMNS = [["job_cpu", "node_cpu"], ["job_memory", "node_memory"], ["network_received"], ["network_sent"],
  ["loopback"], ["job_read", "disk_read"], ["job_written", "disk_written"]];

// Mean and peak of each quantity per node. Traffic that never happened gets no columns.
function nodeTable(model) {
  const metrics = new Map(model.grid.metrics.map((metric) => [metric.id, metric]));
  const moving = NODE_COLUMNS.map((ids) => metrics.get(ids.find((id) => metrics.has(id))))
    .filter((metric) => metric && isDrawn("nodes", metric.id));
  const columns = [
    { title: "Node", group: "", value: (row) => model.nodes[row].name },
    { title: "CPUs", group: "", unit: "count", value: (row) => model.nodes[row].cpus_allotted ?? model.nodes[row].cpus },
  ];
  for (const metric of moving) {
    columns.push({ title: "mean", group: metric.label, unit: metric.unit, value: (row) => metric.means[row] ?? null });
    columns.push({ title: "peak", group: metric.label, unit: metric.unit, value: (row) => metric.peaks[row] ?? null });
  }
  return sortableTable(columns, model.nodes.map((_, i) => i), "Mean and peak per node");
}

function shareTone(share) {
  if (share === null) return "";
  return share >= 0.98 ? "good" : share >= 0.8 ? "warning" : "bad";
}

function coverageTable(coverage) {
  const cell = (share) => element("td", { class: "number" }, share === null ? DASH
    : element("span", { class: `mark ${shareTone(share)}` }, formatCoverage(share)));
  return element("div", { class: "scroll", tabindex: "0" }, element("table", { "aria-label": "Coverage per node and table" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Node"),
      coverage.tables.map((table) => element("th", { scope: "col", class: "number" }, table)))),
    element("tbody", {}, coverage.nodes.map((node) => element("tr", {}, element("td", {}, node.node), node.shares.map(cell))))));
}

function coverageNotes(coverage) {
  const gaps = coverage.gaps.map((gap) => element("li", {}, element("b", {}, gap.node), ` ${gap.table}: nothing from `,
    formatElapsed(gap.start), ` for ${formatDuration(gap.seconds)}`));
  if (coverage.gaps_total > coverage.gaps.length)
    gaps.push(element("li", {}, `and ${coverage.gaps_total - coverage.gaps.length} shorter ones`));
  const lost = coverage.lost.map((text) => element("li", {}, text));
  const none = (text) => element("p", { class: "soft" }, text);
  return element("div", { class: "card list" }, element("h3", {}, "Gaps"),
    gaps.length > 0 ? element("ul", {}, gaps) : none("No gap longer than a few samples."),
    element("h3", { class: "later" }, "Lost"),
    lost.length > 0 ? element("ul", {}, lost) : none("Nothing is known to be lost."));
}

function eventTable(model, startMilliseconds) {
  const tones = { warning: "warning", critical: "bad" };
  const head = ["Time", "", "Node", "Kind", "Message"].map((title) => element("th", { scope: "col" }, title));
  const rows = model.events.map((event) => element("tr", {},
    element("td", { title: formatMoment(startMilliseconds + event.seconds * 1000) }, formatElapsed(event.seconds)),
    element("td", {}, element("span", { class: tones[event.severity] ? `mark ${tones[event.severity]}` : "soft" }, event.severity)),
    element("td", {}, event.task === null ? event.node : `${event.node} · rank ${event.task}`),
    element("td", {}, event.kind), element("td", { class: "wrap" }, event.message)));
  return element("div", { class: "card scroll", tabindex: "0" }, element("table", { "aria-label": "Events" },
    element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
}

function factList(facts) {
  return element("dl", {}, facts.flatMap(({ name, value, mono }) => [
    element("dt", {}, name), mono ? element("dd", { class: "mono" }, value.split(" ").flatMap((word) => [element("span", {}, word), " "]))
      : element("dd", {}, value)]));
}

function factCard(group) {
  return element("div", { class: "card" }, element("h3", {}, group.title), factList(group.facts));
}

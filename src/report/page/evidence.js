// From a finding to what shows its evidence.

// Where the page shows a quantity of `finding.shown_in`, the chart of one of its nodes first: {anchor, title, show}, of which
// `show` makes it visible there. Null where nothing shows it.
function evidenceTarget(finding, id) {
  const charts = model.charts.filter((chart) => chart.plots.includes(id) && isDrawn(chart.section, chart.id));
  const chart = charts.find(({ series }) => series.some(({ node }) => finding.nodes.includes(node))) ?? charts[0];
  if (chart) return { anchor: chartAnchor(chart), title: chart.title, show() {} };
  for (const [section, grid] of [["gpus", model.gpu?.grid], ["nodes", model.grid]]) {
    const metric = grid?.metrics.find((one) => one.id === id);
    if (!metric || grid.bins === 0 || !isDrawn(section, id)) continue;
    if (section === "gpus" && isSmallPlot(model.gpu, id)) return { anchor: MULTIPLES_ANCHOR, title: metric.label, show() {} };
    return { anchor: mapAnchor(section), title: metric.label, show: () => maps[section].choose(id) };
  }
  const parts = { event: ["events", "Events", model.events.length > 0], coverage: ["coverage", "Coverage", true] };
  const [anchor, title, exists] = parts[id] ?? [null, null, false];
  return exists ? { anchor, title, show() {} } : null;
}

// One for each place.
function evidenceTargets(finding) {
  const targets = finding.shown_in.map((id) => evidenceTarget(finding, id)).filter(Boolean);
  return targets.filter(({ anchor, title }, i) => targets.findIndex((one) => one.anchor === anchor && one.title === title) === i);
}

// The mark is that of the address: it stays until another place is gone to.
function goTo({ anchor, show }) {
  show();
  location.hash = anchor;
  document.getElementById(anchor).scrollIntoView();
}

function evidenceLinks(targets) {
  if (targets.length === 0) return null;
  return element("p", { class: "shown-in" }, "Shown in ", targets.flatMap((target, i) => [i > 0 ? ", " : "",
    element("a", { href: `#${target.anchor}`, onclick: (event) => {
      event.preventDefault();
      goTo(target);
    } }, target.title)]));
}

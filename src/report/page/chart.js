// A chart of the model drawn by uPlot, with a legend that follows the cursor and a table of the same numbers.
const PLOT_HEIGHT = 208;
const AXIS_FONT = '11px Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

// What uPlot is given per series: lines below the axis are negative, areas are sums of those under them. A sum with a
// missing part is missing.
function plotValues(chart) {
  if (chart.kind !== "stack") {
    return chart.series.map((series) =>
      series.below ? series.values.map((value) => (value === null ? null : -value)) : series.values);
  }
  const sums = chart.seconds.map(() => 0);
  return chart.series.map((series) =>
    series.values.map((value, i) => {
      sums[i] = value === null || sums[i] === null ? null : sums[i] + value;
      return sums[i];
    }));
}

function statistics(values) {
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return null;
  const sum = present.reduce((total, value) => total + value, 0);
  return { mean: sum / present.length, low: Math.min(...present), high: Math.max(...present), last: present.at(-1) };
}

// The mean of a series is the one that the rest of the report tells, where it tells one.
const meanOf = (series) => series.mean ?? statistics(series.values)?.mean ?? null;

// A sentence for those who do not see the picture.
function describeChart(chart) {
  const parts = chart.series.map((series) => {
    const found = statistics(series.values);
    if (found === null) return `${series.label}: no data`;
    return `${series.label}: mean ${formatQuantity(meanOf(series), chart.unit)}, from ` +
      `${formatQuantity(found.low, chart.unit)} to ${formatQuantity(found.high, chart.unit)}`;
  });
  if (chart.target) parts.push(`${chart.target.label} ${formatQuantity(chart.target.value, chart.unit)}`);
  return `${chart.title}. ${parts.join("; ")}.`;
}

function valueTable(chart) {
  const head = element("tr", {}, element("th", { scope: "col" }, "Time"),
    chart.series.map((series) => element("th", { scope: "col", class: "number" }, series.label)));
  const rows = chart.seconds.map((second, i) => element("tr", {}, element("td", {}, formatElapsed(second)),
    chart.series.map((series) => element("td", { class: "number" }, formatQuantity(series.values[i], chart.unit)))));
  return element("div", { class: "scroll", tabindex: "0" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, rows)));
}

// Numbers for the table are made when somebody opens it: there may be many.
function tableFallback(chart) {
  const details = element("details", {}, element("summary", {}, "Show numbers"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(valueTable(chart));
  });
  return details;
}

// A button per series that hides and shows it; beside the label the value under the cursor, or else what sums it up.
function makeLegend(chart, onToggle) {
  const keys = chart.series.map((series, i) => {
    const swatch = element("span", {
      class: `swatch${chart.kind === "stack" ? " area" : ""}${series.dashed ? " dashed" : ""}`, "aria-hidden": "true" });
    const value = element("span", { class: "key-value" });
    const button = element("button", { type: "button", class: "key", "aria-pressed": "true", title: series.label,
      onclick: () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        onToggle(i, shown);
      } }, swatch, element("span", { class: "key-label" }, series.label), value);
    const resting = () => {
      const found = statistics(series.values);
      return found === null ? DASH
        : chart.series.length > 1 ? formatQuantity(meanOf(series), chart.unit)
        : chart.unit === "" ? `last ${formatQuantity(found.last, chart.unit)}` : `mean ${formatQuantity(meanOf(series), chart.unit)}`;
    };
    if (chart.series.length > 1) button.title = `${series.label}, mean`;
    return { button, swatch, value, resting, series };
  });
  const paint = () => keys.forEach((key) => { key.swatch.style.color = theme.colour(`c-${key.series.colour}`); });
  paint();
  theme.onChange(paint);
  return {
    node: element("div", { class: "legend" }, keys.map((key) => key.button)),
    show(index) {
      keys.forEach((key) => {
        key.value.textContent = index === null ? key.resting() : formatQuantity(key.series.values[index], chart.unit);
      });
    },
  };
}

function seriesOptions(chart) {
  const options = chart.series.map((series, i) => {
    const stroke = () => theme.colour(`c-${series.colour}`);
    const line = { label: series.label, stroke, width: 1.5, spanGaps: false, points: { show: false } };
    if (series.dashed) line.dash = [5, 4];
    if (chart.kind === "points") line.points = { show: true, size: 5, fill: stroke };
    if (chart.kind === "points" || chart.series.length === 1) line.fill = (u) => faded(stroke(), u.scales.y.min === 0 ? 0.09 : 0);
    if (chart.kind === "stack") {
      line.width = 1;
      if (i === 0) line.fill = () => faded(stroke(), 0.75);
    }
    if (chart.kind === "band" && i % 3 !== 1) line.width = 1;
    if (chart.kind === "spread" && (i === 0 || i === 2)) line.width = 1;
    if (chart.kind === "steps") line.paths = uPlot.paths.stepped({ align: 1 });
    // A value between two gaps has no line to either side: a dot keeps it visible.
    if (chart.kind !== "points") line.points = { show: (u, si, show, gaps) => gaps?.length > 0, size: 3,
      filter: (u, si) => lonelyPoints(u.data[si]) };
    return line;
  });
  return [{ label: "Time" }, ...options];
}

function lonelyPoints(values) {
  const lonely = [];
  for (let i = 0; i < values.length; ++i)
    if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null) lonely.push(i);
  return lonely;
}

function bandOptions(chart) {
  const shade = (series, upper, lower, opacity) => ({
    series: [upper, lower], fill: () => faded(theme.colour(`c-${chart.series[series].colour}`), opacity) });
  if (chart.kind === "stack") return chart.series.slice(1).map((series, i) => shade(i + 1, i + 2, i + 1, 0.75));
  if (chart.kind === "spread") return [shade(0, 3, 1, 0.3)];
  if (chart.kind !== "band") return [];
  const bands = [];
  for (let i = 0; i + 2 < chart.series.length; i += 3) {
    const below = chart.series[i].below;
    bands.push(shade(i, below ? i + 1 : i + 3, below ? i + 3 : i + 1, 0.3));
  }
  return bands;
}

// The value scale: from 0, with room above, to `top` if the chart has one; to both sides if lines go below the axis.
function valueRange(chart) {
  const fromZero = chart.unit !== "" || chart.kind === "stack";
  return (u, low, high) => {
    if (low === null || high === null) return [0, chart.top ?? 1];
    const target = chart.target ? chart.target.value : null;
    if (target !== null) {
      low = Math.min(low, target);
      high = Math.max(high, target);
    }
    if (chart.top !== null && high <= chart.top) return [0, chart.top * 1.02];
    const room = (high - Math.min(low, 0)) * 0.08 || 1;
    if (fromZero) return [low < 0 ? low - room : 0, high > 0 ? high + room : 0];
    const span = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
    // The axis starts at zero unless that would press all that happens into the upper third.
    return [low >= 0 && low - span < high * 0.65 ? 0 : low - span, high + span];
  };
}

function axisOptions(chart, view) {
  const common = { stroke: () => theme.colour("axis"), font: AXIS_FONT, ticks: { show: false },
    grid: { stroke: () => theme.colour("grid"), width: 1 } };
  const powers = Array.from({ length: 60 }, (_, i) => 2 ** i);
  const values = { ...common, size: 62, gap: 6, space: 30, values: (u, splits) => axisLabels(splits, chart.unit) };
  if (chart.unit === "B") values.incrs = powers;
  return [
    { ...common, incrs: TIME_STEPS, space: 64, size: 26, gap: 6, grid: { show: false },
      values: (u, splits) => splits.map((second) => formatElapsed(second, view.full[1] >= 3600)) },
    values,
  ];
}

// The time of each finding that is more than information, behind the lines.
function drawFindings(findings) {
  return (u) => {
    const { ctx, bbox } = u;
    for (const finding of findings) {
      const low = Math.max(finding.start, u.scales.x.min);
      const high = Math.min(finding.end, u.scales.x.max);
      if (!(high > low)) continue;
      const from = u.valToPos(low, "x", true);
      const colour = theme.colour(finding.severity === "critical" ? "bad" : "warning");
      const width = Math.max(1, u.valToPos(high, "x", true) - from);
      ctx.fillStyle = faded(colour, 0.08);
      ctx.fillRect(from, bbox.top, width, bbox.height);
      ctx.fillStyle = faded(colour, 0.75);
      ctx.fillRect(from, bbox.top, width, 2 * (devicePixelRatio || 1));
    }
  };
}

// The target line and its name, and a flag for every event that is more than information.
function drawMarks(chart, events) {
  return (u) => {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const event of events) {
      if (event.seconds < u.scales.x.min || event.seconds > u.scales.x.max) continue;
      const wanted = Math.round(u.valToPos(event.seconds, "x", true));
      const x = Math.max(bbox.left + 4 * ratio, Math.min(bbox.left + bbox.width - 5 * ratio, wanted));
      const colour = theme.colour(event.severity === "critical" ? "bad" : "warning");
      ctx.fillStyle = faded(colour, 0.35);
      ctx.fillRect(x, bbox.top, ratio, bbox.height);
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.moveTo(x - 4 * ratio, bbox.top);
      ctx.lineTo(x + 5 * ratio, bbox.top);
      ctx.lineTo(x + ratio / 2, bbox.top + 6 * ratio);
      ctx.fill();
    }
    if (chart.target) {
      const y = Math.round(u.valToPos(chart.target.value, "y", true));
      ctx.strokeStyle = ctx.fillStyle = theme.colour("c-target");
      ctx.lineWidth = 1.25 * ratio;
      ctx.setLineDash([6 * ratio, 4 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.font = AXIS_FONT.replace("11px", `600 ${11 * ratio}px`);
      ctx.textAlign = "right";
      ctx.textBaseline = "bottom";
      const label = `${chart.target.label} ${formatQuantity(chart.target.value, chart.unit)}`;
      ctx.fillText(label, bbox.left + bbox.width - 6 * ratio, y - 3 * ratio);
    }
    ctx.restore();
  };
}

// Arrow keys move the cursor, + and - zoom around it, Escape shows all.
function onPlotKey(view, chart) {
  return (event) => {
    const seconds = chart.seconds;
    const here = view.cursor ?? (view.min + view.max) / 2;
    const step = event.shiftKey ? 10 : 1;
    const width = view.max - view.min;
    let at = seconds.findIndex((second) => second >= here - 1e-9);
    if (at < 0) at = seconds.length - 1;
    const to = (index) => view.point(seconds[Math.max(0, Math.min(seconds.length - 1, index))]);
    if (event.key === "ArrowRight") to(at + step);
    else if (event.key === "ArrowLeft") to(at - step);
    else if (event.key === "+") view.zoom(here - width / 4, here + width / 4);
    else if (event.key === "-") view.zoom(here - width, here + width);
    else if (event.key === "Escape") view.reset();
    else return;
    event.preventDefault();
  };
}

const chartAnchor = (chart) => `chart-${chart.id}`;

// Draws `chart` into a new figure. `events` and `findings` are marked in the plot.
function makeChart(chart, view, events, findings) {
  const plot = element("div", { class: "plot", role: "img", tabindex: "0", "aria-label": describeChart(chart) });
  let uplot = null;
  const legend = makeLegend(chart, (i, shown) => uplot.setSeries(i + 1, { show: shown }));
  // One line needs no name beside the title's.
  const single = chart.series.length === 1;
  const figure = element("figure", { id: chartAnchor(chart), class: `card chart${single ? " single" : ""}`, "data-chart": chart.id },
    element("div", { class: "chart-head" }, element("h3", {}, chart.title), single ? legend.node : null),
    element("p", { class: "chart-note" }, chart.note), single ? null : legend.node, plot, tableFallback(chart));
  plot.addEventListener("keydown", onPlotKey(view, chart));

  let echo = false;  // the cursor is being moved by the view, not by the pointer
  const options = {
    width: 600, height: PLOT_HEIGHT,
    legend: { show: false },
    scales: { x: { time: false, min: view.min, max: view.max, range: () => [view.min, view.max] },
      y: { range: valueRange(chart) } },
    series: seriesOptions(chart),
    bands: bandOptions(chart),
    axes: axisOptions(chart, view),
    padding: [8, 24, 0, 0],
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 7, width: 1.5 },
      bind: { dblclick: () => () => { view.reset(); return null; } } },
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        view.zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
      setCursor: [(u) => {
        legend.show(u.cursor.left >= 0 ? u.cursor.idx : null);
        if (!echo) view.point(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null, u);
      }],
      drawClear: [drawFindings(findings)],
      draw: [drawMarks(chart, events)],
    },
  };
  view.on("range", () => uplot.setScale("x", { min: view.min, max: view.max }));
  view.on("cursor", (_, source) => {
    if (source === uplot) return;
    echo = true;
    const inside = view.cursor !== null && view.cursor >= view.min && view.cursor <= view.max;
    uplot.setCursor(inside ? { left: uplot.valToPos(view.cursor, "x"), top: 1 } : { left: -10, top: -10 });
    echo = false;
  });
  legend.show(null);

  return {
    id: chart.id,
    figure,
    // The figure must be in the page, so that it has a width.
    draw() {
      options.width = plot.clientWidth || 600;
      uplot = new uPlot(options, [chart.seconds, ...plotValues(chart)], plot);
      theme.onChange(() => uplot.redraw(false));
      new ResizeObserver(() => {
        if (plot.clientWidth > 0 && plot.clientWidth !== uplot.width)
          uplot.setSize({ width: plot.clientWidth, height: PLOT_HEIGHT });
      }).observe(plot);
    },
    // After the values of its series were changed.
    update() {
      uplot.setData([chart.seconds, ...plotValues(chart)], false);
      uplot.redraw();
      legend.show(null);
    },
    get uplot() {
      return uplot;
    },
  };
}

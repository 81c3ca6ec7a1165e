// How the score spreads over the GPUs: bars, histograms, compute against memory, a table.
const FEW_GPUS = 16;

// A bar per GPU: in their order if they are few, or else from the highest to the lowest.
function balanceBars({ gpus, score }) {
  const known = gpus.filter((gpu) => gpu.score !== null);
  if (known.length < 2) return null;
  const few = gpus.length <= FEW_GPUS;
  const shown = few ? gpus : [...known].sort((a, b) => b.score - a.score);
  const width = few ? 0.72 : 1.02;
  const bars = shown.map((gpu, i) => svgElement("rect", { class: "bar-part", x: i + (1 - width) / 2, width, y: 100 - (gpu.score ?? 0),
    height: gpu.score ?? 0 }, svgElement("title", {}, `${gpu.label}: ${formatScore(gpu.score)}`)));
  const plot = svgElement("svg", { viewBox: `0 0 ${shown.length} 100`, preserveAspectRatio: "none", role: "img",
    "shape-rendering": few ? "auto" : "crispEdges", "aria-label": `Scores of ${gpus.length} GPUs, from ${formatScore(Math.min(...known.map((gpu) => gpu.score)))} to ` +
      `${formatScore(Math.max(...known.map((gpu) => gpu.score)))}` }, ...bars,
    svgElement("line", { class: "mean-line", x1: 0, x2: shown.length, y1: 100 - score.score, y2: 100 - score.score }));
  return element("figure", { class: "card bars", "data-figure": "balance" }, element("h3", {}, "Load balance"),
    element("p", { class: "chart-note" }, `Score of each GPU${few ? "" : ", highest first"}; the line is the job's, ${formatScore(score.score)}`),
    element("div", { class: "framed" }, verticalScale(["100", "50", "0"]), plot,
      few ? element("div", { class: "bar-names each" }, shown.map((gpu) => element("span", {}, gpu.label.split(":").at(-1))))
        : element("div", { class: "bar-names" }, element("span", {}, shown[0].label), element("span", {}, shown.at(-1).label))));
}

const verticalScale = (labels) => element("div", { class: "vertical-scale" }, labels.map((label) => element("span", {}, label)));

function histogramFigure(histogram) {
  const whole = histogram.shares.map((share, i) => share + (histogram.startup[i] ?? 0));
  const top = Math.max(...whole);
  const count = whole.length;
  const rect = (kind, i, from, height) => svgElement("rect", { class: kind, x: i + 0.06, width: 0.88,
    y: 100 - ((from + height) / top) * 100, height: (height / top) * 100 },
    svgElement("title", {}, `${Math.round((i / count) * 100)} to ${Math.round(((i + 1) / count) * 100)} %: ${formatQuantity(whole[i], "share")}`));
  const bars = histogram.shares.flatMap((share, i) => [rect("bar-part", i, 0, share),
    histogram.startup[i] > 0 ? rect("bar-startup", i, share, histogram.startup[i]) : null]).filter(Boolean);
  return element("figure", { class: "histogram", "data-figure": `histogram_${histogram.id}` },
    element("div", { class: "chart-head" }, element("h4", {}, histogram.label), element("span", { class: "soft" }, histogram.note)),
    element("div", { class: "framed" }, verticalScale([formatQuantity(top, "share"), "0 %"]),
      svgElement("svg", { viewBox: `0 0 ${count} 100`, preserveAspectRatio: "none", role: "img",
        "aria-label": `Distribution of ${histogram.label}` }, ...bars),
      element("div", { class: "bar-names" }, ["0 %", "50 %", "100 %"].map((text) => element("span", {}, text)))));
}

function histogramCard(histograms) {
  if (histograms.length === 0) return null;
  const early = histograms.some((histogram) => histogram.startup.length > 0);
  return element("div", { class: "card bars" }, element("h3", {}, "Distributions"),
    element("p", { class: "chart-note" }, "Share of the time at each level of use of a limit",
      early ? [" · ", element("span", { class: "swatch area startup" }), " start-up"] : ""),
    element("div", { class: "histograms" }, histograms.map(histogramFigure)));
}

// Near the top: limited by compute; to the right: by memory. Small dots are moments of the job, large ones GPUs.
function scatterCard(gpu) {
  const known = gpu.gpus.filter((one) => one.compute !== null && one.memory !== null);
  if (known.length === 0) return null;
  const dot = (kind, x, y, r, title) => svgElement("circle", { class: kind, cx: `${x * 100}%`, cy: `${100 - y * 100}%`, r },
    ...(title ? [svgElement("title", {}, title)] : []));
  const moments = gpu.mix.seconds.map((_, i) => i).filter((i) => gpu.mix.compute[i] !== null && gpu.mix.memory[i] !== null)
    .map((i) => dot("moment", gpu.mix.memory[i], gpu.mix.compute[i], 2));
  const dots = known.map((one) => dot("gpu-dot", one.memory, one.compute, known.length > 64 ? 3 : 5,
    `${one.label}: compute ${formatQuantity(one.compute, "share")}, memory ${formatQuantity(one.memory, "share")}`));
  return element("figure", { class: "card bars", "data-figure": "scatter" }, element("h3", {}, "Compute against memory"),
    element("p", { class: "chart-note" }, "Use of the busiest pipe over use of DRAM; above the line nearer to compute, below to memory · ",
      element("span", { class: "swatch dot gpu" }), " mean of a GPU · ", element("span", { class: "swatch dot moment" }), " moment of the job"),
    element("div", { class: "framed scatter" }, verticalScale(["100 %", "compute", "0 %"]),
      svgElement("svg", { role: "img", "aria-label": `Compute and memory use of ${known.length} GPUs` },
        svgElement("line", { class: "diagonal", x1: "0", y1: "100%", x2: "100%", y2: "0" }),
        ...[25, 50, 75].flatMap((at) => [svgElement("line", { class: "grid-line", x1: `${at}%`, x2: `${at}%`, y1: "0", y2: "100%" }),
          svgElement("line", { class: "grid-line", y1: `${at}%`, y2: `${at}%`, x1: "0", x2: "100%" })]), ...moments, ...dots),
      element("div", { class: "bar-names" }, ["0 %", "memory", "100 %"].map((text) => element("span", {}, text)))));
}

function gpuTable(gpu) {
  const share = (group, title, value) => ({ title, group, unit: "share", value });
  const columns = [
    { title: "GPU", group: "", value: (row) => row.label },
    { title: "score", group: "Saturation", unit: "score", value: (row) => row.score },
    { title: "low", group: "Saturation", unit: "score", value: (row) => row.low },
    { title: "high", group: "Saturation", unit: "score", value: (row) => row.high },
    share("Saturation", "observed", (row) => row.coverage),
    ...["idle", "gap", "unsaturated"].map((id) => share("Not saturated", id, (row) => row.shares?.[id] ?? null)),
    share("Mean use", "compute", (row) => row.compute),
    share("Mean use", "memory", (row) => row.memory),
    { title: "mean", group: "Power", unit: "W", value: (row) => row.power_watts },
    { title: "energy", group: "Power", unit: "Wh", value: (row) => row.energy_wh },
    { title: "peak", group: "Temperature", unit: "°C", value: (row) => row.temperature },
    { title: "peak", group: "Memory", unit: "B", value: (row) => row.memory_peak_bytes },
  ].filter((column) => column.group === "" || gpu.gpus.some((one) => column.value(one) !== null));
  return element("div", { class: "card nodes-table gpus-table" }, sortableTable(columns, gpu.gpus, "Scores and means per GPU"));
}

// How the numbers were made, so that a reader can judge them.
const FORMULA = [
  ["r = f / f̂", "clock over the clock of the limits"],
  ["u = min(1, activity · r / limit)", "tensor, fp64, fp32, fp16; DRAM without r"],
  ["s = max(u)", "one window of one GPU: 1 s, or the sampling interval where that is longer"],
  ["S = 100 · Σ w·s·Δt / Σ w·T", "T: allocated time; w: 1, or the part of a GPU under MIG"],
];
const DEFINITIONS = [
  ["Saturation", "The share of the highest limit of the hardware that a window used. The highest, not the sum: pipes share issue slots and overlap."],
  ["Idle, gap, unsaturated", "1 − engine, engine − SM, SM − s: together with s they make up the observed time."],
  ["Bounds", "Time that was not observed counts as 0 in the lower and as 1 in the upper bound. Time known to be idle is observed."],
  ["Steady state", "The score from the moment on at which the job's saturation first stays at half of its 90th percentile for 30 s."],
  ["Imbalance", "1 − mean/max of the mean saturation of the GPUs."],
  ["Burstiness", "σ/µ of the job's saturation over its seconds; the index is (σ−µ)/(σ+µ)."],
  ["FLOP use (OFU)", "Mean over windows of tensor activity × clock over the highest clock."],
  ["Words", "high from 60, moderate from 30, low from 10, very low below: for orientation. The score screens jobs; it does not rank algorithms."],
];

function ceilingTable(ceilings) {
  const names = ["tensor", "fp64", "fp32", "fp16", "DRAM"];
  const head = ["Model", "GPUs", "", "Version", ...names, "Clock", "Source"];
  const number = (text) => element("td", { class: "number" }, text);
  return element("div", { class: "card scroll", tabindex: "0" }, element("table", { "aria-label": "Limits of the GPUs" },
    element("thead", {}, element("tr", {}, head.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ceilings.map((one) => element("tr", {}, element("td", {}, one.name), number(one.gpus),
      element("td", {}, element("span", { class: `mark ${one.calibrated ? "good" : "warning"}` }, one.calibrated ? "calibrated" : "uncalibrated")),
      element("td", {}, one.version), one.active.map((value) => number(formatQuantity(value, "share"))),
      number(formatQuantity(one.clock_hertz, "Hz")), element("td", {}, one.source))))));
}

function makeMethods(gpu) {
  const notes = [`Sampled every ${formatDuration(gpu.interval_seconds)}; ${formatCoverage(gpu.score.coverage)} of the allocated time was observed.`, ...gpu.notes];
  return [element("div", { class: "split methods" },
    element("div", { class: "card list" }, element("h3", {}, "The score"), element("div", { class: "formula" },
      FORMULA.map(([term, meaning]) => [element("code", {}, term), element("span", { class: "soft" }, meaning)]).flat()),
      element("h3", { class: "later" }, "Data"), element("ul", {}, notes.map((note) => element("li", {}, note)))),
    element("div", { class: "card list" }, element("h3", {}, "Definitions"),
      element("dl", {}, DEFINITIONS.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])))),
    ceilingTable(gpu.ceilings)];
}

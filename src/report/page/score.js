// The saturation score: the number with its bounds, where the time went, and what stands beside it.
const SHARES = [
  ["idle", "Idle", "no engine was active"],
  ["gap", "Gap", "an engine was active, but no warp on a multiprocessor"],
  ["unsaturated", "Unsaturated", "warps ran, below every limit of the hardware"],
  ["saturated", "Saturated", "the share of the highest limit that was used: the score"],
];
const LEAST_COVERAGE = 0.8;
const BOUNDS = { compute: "compute", memory: "memory", link: "links", none: "none" };

const formatScore = (score) => (score === null ? DASH : score.toFixed(1));

function placed(node, styles) {
  for (const [name, value] of Object.entries(styles)) node.style.setProperty(name, value);
  return node;
}

// 0 to 100, with the range in which the score lies whatever was missed, the score, and the steady state as a tick.
function scoreTrack(score) {
  const part = (kind, from, width) => placed(element("span", { class: kind }), { left: `${from}%`, width: `${width}%` });
  const tick = (kind, at) => placed(element("span", { class: kind }), { left: `${at}%` });
  return element("div", { class: "track-box", role: "img",
    "aria-label": `Score ${formatScore(score.score)}, between ${formatScore(score.low)} and ${formatScore(score.high)}` },
    element("div", { class: "track" }, part("track-fill", 0, score.score ?? 0),
      part("track-range", score.low ?? 0, (score.high ?? 100) - (score.low ?? 0)), tick("track-point", score.score ?? 0),
      score.steady_state === null ? null : tick("track-steady", score.steady_state)),
    element("div", { class: "track-scale" }, [0, 25, 50, 75, 100].map((value) => element("span", {}, value))));
}

function scoreCard(score) {
  const word = score.word === null
    ? element("span", { class: "pill warning" }, `no grade: less than ${LEAST_COVERAGE * 100} % of the time was observed`)
    : element("span", { class: "pill" }, score.word);
  const line = (name, value) => [element("dt", {}, name), element("dd", {}, value)];
  return element("div", { class: "card score-card" },
    element("div", { class: "score-head" }, element("div", { class: "score-value" }, formatScore(score.score)),
      element("div", {}, element("div", { class: "score-of" }, "of 100"), word)),
    scoreTrack(score),
    element("dl", {},
      line("Bounds", score.high - score.low < 0.05 ? "none: all was observed" : `${formatScore(score.low)} to ${formatScore(score.high)}, if all that was missed was idle, or saturated`),
      line("Observed", `${formatCoverage(score.coverage)} of ${threeDigits(score.gpu_hours)} allocated GPU-hours`),
      score.steady_state === null ? [] : line("Steady state",
        `${formatScore(score.steady_state)} without ${formatDuration(score.startup_seconds)} of start-up`),
      line("Limits", score.ceilings.calibrated ? `calibrated, ${score.ceilings.version}` : [element("span", { class: "mark warning" }, "uncalibrated"),
        " nobody has measured what kernels reach on this model; the score may be too low"])));
}

// From all that was allocated down to the score: each part begins where the one above it ends.
function waterfall(score) {
  if (SHARES.every(([id]) => (score.shares?.[id] ?? null) === null)) return null;
  const row = (kind, title, note, from, width) => element("div", { class: "fall-row" },
    element("div", { class: "fall-name" }, element("b", {}, title), element("span", { class: "soft" }, note)),
    element("div", { class: "fall-bar" }, placed(element("span", { class: `fall-part ${kind}` }), { left: `${from * 100}%`, width: `${width * 100}%` })),
    element("div", { class: "fall-value" }, formatQuantity(width, "share")));
  let left = 1;
  const rows = SHARES.map(([id, title, note]) => {
    const width = score.shares?.[id] ?? 0;
    left -= width;
    return row(id, title, note, Math.max(0, left), width);
  });
  return element("figure", { class: "card fall", "aria-label": "Where the observed time went" },
    element("h3", {}, "From the observed time to the score"),
    element("p", { class: "chart-note" }, "Mean of all GPUs; each part begins where the one above it ends"),
    row("all", "Observed", `${formatCoverage(score.coverage)} of the allocated time`, 0, 1), rows);
}

function companions(score) {
  const tiles = [];
  const add = (label, value, detail) => { if (value !== null) tiles.push({ label, value, detail, tone: "neutral", spark: [] }); };
  const quantity = (value, unit) => (value === null ? null : formatQuantity(value, unit));
  add("Steady state", score.steady_state === null ? null : formatScore(score.steady_state), "score without start-up");
  add("Bound by", score.bound === null ? null : BOUNDS[score.bound] ?? score.bound, "what limits most of its time");
  add("Busy", quantity(score.busy_engine, "share"), `engine active; SM ${formatQuantity(score.busy_sm, "share")}`);
  add("Imbalance", quantity(score.imbalance, "share"), "1 − mean/max of the GPUs");
  add("Burstiness", quantity(score.burstiness, ""), `σ/µ; index ${formatQuantity(score.burstiness_index, "")}`);
  add("Energy", quantity(score.energy_wh, "Wh"), score.score_per_kwh === null ? "of the GPUs"
    : `${threeDigits(score.score_per_kwh)} saturated GPU-h per kWh`);
  add("FLOP use", quantity(score.flop_use, "share"), "tensor × clock of its highest (OFU)");
  add("GPU memory", quantity(score.memory_peak_bytes, "B"), "highest of a GPU");
  return placed(element("div", { class: "figures companions" }, tiles.map(figureTile)), { "--tiles": String(tiles.length) });
}

// Compute, memory and network in one plot. The weights are the reader's; the score is made without them.
const MIX = [["compute", "Compute"], ["memory", "Memory"], ["network", "Network"]];

const hasMix = (mix) => MIX.some(([id]) => mix[id].some((value) => value > 0));

function makeMix(mix, view, events, findings) {
  const weights = MIX.map(() => 1);
  const chart = { id: "gpu_mix", title: "Compute, memory and network",
    note: `Weighted use, mean of all GPUs. ${mix.network_note}. Weights are yours to set; the score does not change.`,
    unit: "share", kind: "stack", top: 1, target: null, seconds: mix.seconds,
    series: MIX.map(([id, label]) => ({ label, node: "", colour: id, dashed: false, below: false, values: mix[id] })) };
  const isKnown = (i) => MIX.some(([id]) => mix[id][i] !== null);
  const weigh = () => {
    const sum = weights.reduce((total, weight) => total + weight, 0) || 1;
    MIX.forEach(([id], i) => {
      // One that is not known counts as 0 beside one that is.
      chart.series[i].values = mix[id].map((value, at) => (isKnown(at) ? ((value ?? 0) * weights[i]) / sum : null));
    });
  };
  weigh();
  const made = makeChart(chart, view, events, findings);
  const sliders = MIX.map(([id, label], i) => {
    const shown = element("output", {}, "1.0");
    const input = element("input", { type: "range", min: "0", max: "2", step: "0.1", value: "1", "aria-label": `Weight of ${label}`,
      oninput: () => {
        weights[i] = Number(input.value);
        shown.textContent = weights[i].toFixed(1);
        weigh();
        made.update();
      } });
    return element("label", { class: `weight ${id}` }, label, input, shown);
  });
  made.figure.querySelector(".legend").after(element("div", { class: "weights" }, sliders));
  return made;
}

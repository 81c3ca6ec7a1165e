// Few GPUs: a row of small plots for each, a column per quantity. Drawn from the packed values of the GPUs' grid.
const SMALL_PLOTS = ["utilization", "sm", "occupancy", "dram", "tensor", "nvlink"];
const MULTIPLES_ANCHOR = "gpus-plots";
const isSmallPlot = (gpu, id) => gpu.gpus.length <= FEW_GPUS && SMALL_PLOTS.includes(id);
const MULTIPLE_LABEL = 116;
const MULTIPLE_HEAD = 34;
const MULTIPLE_GAP = 10;

function multipleHeight(rows) {
  return rows === 1 ? 110 : rows <= 4 ? 64 : rows <= 8 ? 48 : 38;
}

function makeMultiples(gpu, view, findings) {
  const { grid, gpus } = gpu;
  const metrics = SMALL_PLOTS.map((id) => grid.metrics.find((metric) => metric.id === id)).filter(Boolean);
  if (metrics.length === 0) return null;
  const cells = new Map(metrics.map((metric) => [metric.id, unpackGrid(metric)]));
  const canvas = element("canvas", { class: "multiples-canvas", role: "img", tabindex: "0",
    "aria-label": `${metrics.map((metric) => metric.label).join(", ")} of ${gpus.length} GPUs over time; the table below has means.` });
  const colours = ["node-0", "node-2", "node-3", "node-1", "user", "loss"];
  const rowHeight = multipleHeight(gpus.length);

  const columnWidth = () => (canvas.clientWidth - MULTIPLE_LABEL) / metrics.length;
  const left = (column) => MULTIPLE_LABEL + column * columnWidth();
  const inner = () => columnWidth() - MULTIPLE_GAP;
  const xOf = (column, second) => left(column) + ((second - view.min) / (view.max - view.min)) * inner();
  const binAt = (second) => Math.floor((second - grid.start) / grid.bin_seconds);

  function valueAt(metric, row, bin) {
    const missing = 2 ** metric.bits - 1;
    const value = bin < 0 || bin >= grid.bins ? missing : cells.get(metric.id)[row * grid.bins + bin];
    return value === missing ? null : (value / (missing - 1)) * metric.maximum;
  }

  // One small plot: the area under the values, hatched where there are none.
  function drawCell(ctx, metric, column, row, hatch) {
    const top = MULTIPLE_HEAD + row * rowHeight + 3;
    const height = rowHeight - 7;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left(column), top, inner(), height);
    ctx.clip();
    ctx.fillStyle = theme.colour("sunk");
    ctx.fillRect(left(column), top, inner(), height);
    const first = Math.max(0, binAt(view.min) - 1);
    const last = Math.min(grid.bins - 1, binAt(view.max) + 1);
    const colour = theme.colour(`c-${colours[column]}`);
    const scale = metric.maximum || 1;
    const y = (value) => top + height - 1 - (value / scale) * (height - 3);
    const xAt = (bin) => xOf(column, grid.start + bin * grid.bin_seconds);
    let open = null;
    const close = (bin) => {
      ctx.lineTo(xAt(bin), top + height);
      ctx.lineTo(xAt(open), top + height);
      ctx.fillStyle = faded(colour, 0.28);
      ctx.fill();
      open = null;
    };
    for (let bin = first; bin <= last; ++bin) {
      const value = valueAt(metric, row, bin);
      if (value === null) {
        if (open !== null) close(bin);
        ctx.fillStyle = hatch;
        ctx.fillRect(xAt(bin), top, xAt(bin + 1) - xAt(bin), height);
        continue;
      }
      if (open === null) {
        open = bin;
        ctx.beginPath();
        ctx.moveTo(xAt(bin), y(value));
      }
      ctx.lineTo(xAt(bin), y(value));
      ctx.lineTo(xAt(bin + 1), y(value));
    }
    if (open !== null) close(last + 1);
    // The line over the areas, so that it stays sharp where they are low.
    ctx.beginPath();
    let drawing = false;
    for (let bin = first; bin <= last; ++bin) {
      const value = valueAt(metric, row, bin);
      if (value !== null) ctx[drawing ? "lineTo" : "moveTo"](xAt(bin + 0.5), y(value));
      drawing = value !== null;
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.1;
    ctx.stroke();
    ctx.restore();
  }

  function drawFindingMarks(ctx, rows) {
    for (const finding of findings) {
      ctx.fillStyle = faded(theme.colour(finding.severity === "critical" ? "bad" : "warning"), 0.8);
      metrics.forEach((_, column) => {
        const from = Math.max(left(column), xOf(column, finding.start));
        const to = Math.min(left(column) + inner(), xOf(column, finding.end));
        if (to > from) ctx.fillRect(from, MULTIPLE_HEAD - 3, to - from, 3);
      });
    }
    if (view.cursor === null || view.cursor < view.min || view.cursor > view.max) return;
    ctx.fillStyle = theme.colour("ink");
    metrics.forEach((metric, column) => {
      ctx.fillRect(Math.round(xOf(column, view.cursor)), MULTIPLE_HEAD, 1, rows);
      ctx.textAlign = view.cursor > (view.min + view.max) / 2 ? "left" : "right";
      const x = ctx.textAlign === "left" ? left(column) + 4 : left(column) + inner() - 4;
      gpus.forEach((_, row) => {
        const text = formatQuantity(valueAt(metric, row, binAt(view.cursor)), metric.unit);
        ctx.strokeStyle = theme.colour("card");
        ctx.lineWidth = 3;
        ctx.strokeText(text, x, MULTIPLE_HEAD + row * rowHeight + 11);
        ctx.fillText(text, x, MULTIPLE_HEAD + row * rowHeight + 11);
      });
    });
  }

  function draw() {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const rows = gpus.length * rowHeight;
    const whole = MULTIPLE_HEAD + rows + HEAT_AXIS;
    canvas.style.height = `${whole}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(whole * ratio);
    const ctx = canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    ctx.font = AXIS_FONT;
    ctx.textBaseline = "middle";
    const hatch = hatchPattern(ctx);
    metrics.forEach((metric, column) => {
      ctx.textAlign = "left";
      ctx.fillStyle = theme.colour("ink");
      ctx.font = AXIS_FONT.replace("11px", "600 12px");
      ctx.fillText(metric.label, left(column), 10);
      ctx.textAlign = "right";
      ctx.font = AXIS_FONT;
      ctx.fillStyle = theme.colour("axis");
      ctx.fillText(`to ${formatQuantity(metric.maximum, metric.unit)}`, left(column) + inner(), 10);
      gpus.forEach((_, row) => drawCell(ctx, metric, column, row, hatch));
      ctx.fillStyle = theme.colour("axis");
      ctx.textAlign = "left";
      ctx.fillText(formatElapsed(view.min, view.full[1] >= 3600), left(column), MULTIPLE_HEAD + rows + 10);
      ctx.textAlign = "right";
      ctx.fillText(formatElapsed(view.max, view.full[1] >= 3600), left(column) + inner(), MULTIPLE_HEAD + rows + 10);
    });
    gpus.forEach((one, row) => {
      const middle = MULTIPLE_HEAD + (row + 0.5) * rowHeight;
      ctx.textAlign = "right";
      ctx.fillStyle = theme.colour("ink");
      ctx.fillText(one.label, MULTIPLE_LABEL - 12, rowHeight >= 36 ? middle - 7 : middle, MULTIPLE_LABEL - 14);
      ctx.fillStyle = theme.colour("axis");
      if (rowHeight >= 36) ctx.fillText(`S ${formatScore(one.score)}`, MULTIPLE_LABEL - 12, middle + 8);
    });
    drawFindingMarks(ctx, rows);
  }

  const secondAt = (x) => {
    const column = Math.floor((x - MULTIPLE_LABEL) / columnWidth());
    if (x < MULTIPLE_LABEL || column >= metrics.length || x > left(column) + inner()) return null;
    return view.min + ((x - left(column)) / inner()) * (view.max - view.min);
  };
  let dragFrom = null;
  canvas.addEventListener("mousemove", (event) => view.point(secondAt(event.offsetX), canvas));
  canvas.addEventListener("mouseleave", () => view.point(null, canvas));
  canvas.addEventListener("mousedown", (event) => { dragFrom = secondAt(event.offsetX); });
  canvas.addEventListener("mouseup", (event) => {
    const to = secondAt(event.offsetX);
    if (dragFrom !== null && to !== null) view.zoom(dragFrom, to);
    dragFrom = null;
  });
  canvas.addEventListener("dblclick", () => view.reset());
  view.on("range", draw);
  view.on("cursor", draw);
  theme.onChange(draw);
  return {
    figure: element("figure", { id: MULTIPLES_ANCHOR, class: "card multiples" }, element("div", { class: "multiples-box" }, canvas)),
    draw() {
      draw();
      new ResizeObserver(() => draw()).observe(canvas.parentNode);
    },
    valueAt: (id, row, bin) => valueAt(metrics.find((metric) => metric.id === id), row, bin),
  };
}

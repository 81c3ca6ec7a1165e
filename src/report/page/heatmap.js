// Nodes or GPUs × time, one colour per cell: two rows or a thousand. What was not measured is hatched.
const HEAT_STEPS = 256;
const LABEL_WIDTH = 118;
const HEAT_AXIS = 22;

// A metric's packed values (json.h): little-endian numbers in base64, the highest of which is missing.
function unpackGrid(metric) {
  const bytes = Uint8Array.from(atob(metric.values), (character) => character.charCodeAt(0));
  if (metric.bits === 8) return bytes;
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
}

const missingValue = (metric) => 2 ** metric.bits - 1;

function parseColour(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

// From --heat-0 to --heat-4, evenly.
function heatRamp() {
  const stops = [0, 1, 2, 3, 4].map((i) => parseColour(theme.colour(`heat-${i}`)));
  return Array.from({ length: HEAT_STEPS }, (_, step) => {
    const at = (step / (HEAT_STEPS - 1)) * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(at));
    return stops[i].map((from, channel) => Math.round(from + (stops[i + 1][channel] - from) * (at - i)));
  });
}

function rowHeight(nodes) {
  if (nodes <= 4) return 34;
  if (nodes <= 32) return 20;
  return Math.max(1, Math.floor(640 / nodes));
}

function hatchPattern(ctx) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const draw = tile.getContext("2d");
  draw.strokeStyle = theme.colour("hatch");
  draw.lineWidth = 1;
  draw.beginPath();
  for (const shift of [-6, 0, 6]) {
    draw.moveTo(shift, 6);
    draw.lineTo(shift + 6, 0);
  }
  draw.stroke();
  return ctx.createPattern(tile, "repeat");
}

// The rows' order: as in the job, or the highest mean first.
function rowOrder(names, metric, byMean) {
  const rows = names.map((_, i) => i);
  if (byMean) rows.sort((a, b) => (metric.means[b] ?? -1) - (metric.means[a] ?? -1));
  return rows;
}

const mapAnchor = (section) => `${section}-map`;

// `names` are the rows', of which there are many `things`.
function makeHeatMap({ grid, names, things }, view) {
  const { metrics } = grid;
  const cells = new Map(metrics.map((metric) => [metric.id, unpackGrid(metric)]));
  const canvas = element("canvas", { class: "heat-canvas", role: "img", tabindex: "0" });
  const tip = element("div", { class: "tip", hidden: true });
  const low = element("span");
  const high = element("span");
  let metric = metrics[0];
  let byMean = false;
  let order = [];
  let image = null;
  let line = null;  // row under the pointer

  function paintImage() {
    const ramp = heatRamp();
    const values = cells.get(metric.id);
    const missing = missingValue(metric);
    image = document.createElement("canvas");
    image.width = grid.bins;
    image.height = order.length;
    const ctx = image.getContext("2d");
    const pixels = ctx.createImageData(image.width, image.height);
    order.forEach((node, row) => {
      for (let bin = 0; bin < grid.bins; ++bin) {
        const value = values[node * grid.bins + bin];
        if (value === missing) continue;
        const colour = ramp[Math.round((value / (missing - 1)) * (HEAT_STEPS - 1))];
        const at = 4 * (row * grid.bins + bin);
        [pixels.data[at], pixels.data[at + 1], pixels.data[at + 2]] = colour;
        pixels.data[at + 3] = 255;
      }
    });
    ctx.putImageData(pixels, 0, 0);
  }

  const height = () => rowHeight(order.length);
  const left = () => Math.min(LABEL_WIDTH, canvas.clientWidth * 0.3);
  const xOf = (second) => left() + ((second - view.min) / (view.max - view.min)) * (canvas.clientWidth - left());
  const secondAt = (x) => view.min + ((x - left()) / (canvas.clientWidth - left())) * (view.max - view.min);

  function drawCells(ctx, width) {
    const rows = order.length * height();
    ctx.fillStyle = hatchPattern(ctx);
    ctx.fillRect(left(), 0, width - left(), rows);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left(), 0, width - left(), rows);
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    const first = xOf(grid.start);
    ctx.drawImage(image, first, 0, xOf(grid.start + grid.bins * grid.bin_seconds) - first, rows);
    ctx.restore();
    if (height() < 12) return;
    ctx.fillStyle = theme.colour("card");
    for (let row = 1; row < order.length; ++row) ctx.fillRect(left(), row * height() - 1, width - left(), 2);
  }

  function drawLabels(ctx, width) {
    ctx.font = AXIS_FONT;
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    const every = Math.max(1, Math.ceil(15 / height()));
    order.forEach((node, row) => {
      if (row % every !== Math.floor(every / 2) && row !== line) return;
      ctx.fillStyle = theme.colour(row === line ? "ink" : "axis");
      ctx.fillText(names[node], left() - 10, Math.max(7, (row + 0.5) * height()), left() - 14);
    });
    ctx.textAlign = "center";
    ctx.fillStyle = theme.colour("axis");
    const step = TIME_STEPS.find((size) => ((width - left()) * size) / (view.max - view.min) >= 72) ?? TIME_STEPS.at(-1);
    for (let second = Math.ceil(view.min / step) * step; second <= view.max; second += step)
      ctx.fillText(formatElapsed(second, view.full[1] >= 3600), Math.min(Math.max(xOf(second), left() + 12), width - (view.full[1] >= 3600 ? 24 : 16)),
        order.length * height() + HEAT_AXIS / 2 + 2);
  }

  function draw() {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const whole = order.length * height() + HEAT_AXIS;
    canvas.style.height = `${whole}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(whole * ratio);
    const ctx = canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    drawCells(ctx, width);
    drawLabels(ctx, width);
    if (view.cursor !== null && view.cursor >= view.min && view.cursor <= view.max) {
      ctx.fillStyle = theme.colour("ink");
      ctx.fillRect(Math.round(xOf(view.cursor)), 0, 1, order.length * height());
    }
  }

  function refresh() {
    order = rowOrder(names, metric, byMean);
    low.textContent = formatQuantity(0, metric.unit);
    high.textContent = formatQuantity(metric.maximum, metric.unit);
    const means = metric.means.filter((mean) => mean !== null);
    canvas.setAttribute("aria-label", `${metric.label} of ${names.length} ${things} over time. Means from ` +
      `${formatQuantity(Math.min(...means), metric.unit)} to ${formatQuantity(Math.max(...means), metric.unit)}; ` +
      "the table below has them all.");
    paintImage();
    draw();
  }

  function valueAt(node, bin) {
    const value = cells.get(metric.id)[node * grid.bins + bin];
    const missing = missingValue(metric);
    return value === missing ? "no data" : formatQuantity((value / (missing - 1)) * metric.maximum, metric.unit);
  }

  function onMove(event) {
    const second = secondAt(event.offsetX);
    const row = Math.floor(event.offsetY / height());
    const bin = Math.floor((second - grid.start) / grid.bin_seconds);
    const inside = event.offsetX >= left() && row >= 0 && row < order.length && bin >= 0 && bin < grid.bins;
    line = inside ? row : null;
    view.point(inside ? second : null, canvas);
    draw();
    tip.hidden = !inside;
    if (!inside) return;
    tip.textContent = `${names[order[row]]} · ${valueAt(order[row], bin)} · ${formatElapsed(second)}`;
    tip.style.top = `${Math.max(0, event.offsetY - 38)}px`;
    tip.style.left = `${Math.min(event.offsetX + 12, canvas.clientWidth - tip.offsetWidth - 4)}px`;
  }

  function onLeave() {
    line = null;
    tip.hidden = true;
    view.point(null, canvas);
    draw();
  }

  // Dragging zooms, as in the charts.
  let dragFrom = null;
  canvas.addEventListener("mousemove", onMove);
  canvas.addEventListener("mouseleave", onLeave);
  canvas.addEventListener("mousedown", (event) => { dragFrom = secondAt(event.offsetX); });
  canvas.addEventListener("mouseup", (event) => {
    const to = secondAt(event.offsetX);
    if (dragFrom !== null && Math.abs(xOf(to) - xOf(dragFrom)) > 4) view.zoom(dragFrom, to);
    dragFrom = null;
  });
  canvas.addEventListener("dblclick", () => view.reset());
  view.on("range", draw);
  view.on("cursor", (_, source) => { if (source !== canvas) draw(); });
  theme.onChange(refresh);

  const choice = (label, pressed, act, id = null) => {
    const button = element("button", { type: "button", "data-metric": id, "aria-pressed": String(pressed), onclick: () => {
      for (const other of button.parentNode.children) other.setAttribute("aria-pressed", String(other === button));
      act();
      refresh();
    } }, label);
    return button;
  };
  const tools = element("div", { class: "heat-tools" },
    element("div", { class: "choices", role: "group", "aria-label": "Quantity" },
      metrics.map((one) => choice(one.label, one === metric, () => { metric = one; }, one.id))),
    names.length > 1 ? element("div", { class: "choices", role: "group", "aria-label": `Order of the ${things}` },
      choice("By name", true, () => { byMean = false; }), choice("By mean", false, () => { byMean = true; })) : null,
    element("span", { class: "heat-scale" }, low, element("span", { class: "ramp" }), high,
      element("span", { class: "none" }), "no data"));

  return {
    figure: element("figure", { id: mapAnchor(things.toLowerCase()), class: "card heat" }, tools, element("div", { class: "heat-box" }, canvas, tip)),
    canvas,
    draw() {
      refresh();
      new ResizeObserver(() => draw()).observe(canvas.parentNode);
    },
    get metric() {
      return metric;
    },
    choose(id) {
      tools.querySelector(`[data-metric="${id}"]`).click();
    },
    valueAt,
  };
}

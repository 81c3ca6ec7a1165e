// What the charts and the heat map share: the range of time that is shown, and the time under the cursor.
// Listeners are called with the view; whoever caused a change may name itself, so that it does not hear its own echo.
function makeView(seconds) {
  const listeners = { range: [], cursor: [] };
  const tell = (kind, source) => listeners[kind].forEach((listener) => listener(view, source));
  const view = {
    full: [0, seconds],
    min: 0,
    max: seconds,
    cursor: null,
    get zoomed() {
      return view.min !== view.full[0] || view.max !== view.full[1];
    },
    zoom(min, max, source) {
      const low = Math.max(view.full[0], Math.min(min, max));
      const high = Math.min(view.full[1], Math.max(min, max));
      if (!(high - low > seconds * 1e-4) || (low === view.min && high === view.max)) return;
      view.min = low;
      view.max = high;
      tell("range", source);
    },
    reset() {
      view.zoom(view.full[0], view.full[1]);
    },
    point(time, source) {
      if (time === view.cursor) return;
      view.cursor = time;
      tell("cursor", source);
    },
    on(kind, listener) {
      listeners[kind].push(listener);
    },
  };
  return view;
}

// Whether the model wants a chart, or a quantity of a map, drawn in a section, and what is said of those that it does not.
const isDrawn = (section, id) => !model.not_drawn.some((one) => one.section === section && one.id === id);

function notDrawn(section) {
  const reasons = new Map();
  for (const { title, why } of model.not_drawn.filter((one) => one.section === section))
    reasons.set(why, [...(reasons.get(why) ?? []), title]);
  if (reasons.size === 0) return null;
  return element("p", { class: "not-drawn", "data-not-drawn": section }, [...reasons].map(([why, titles]) =>
    (why === "always zero" ? `Always zero: ${titles.join("; ")}. ` : `No data: ${titles.join("; ")} (${why}). `)));
}

// The quantities of a grid that are drawn in a map.
const drawnGrid = (grid, section) => ({ ...grid, metrics: grid.metrics.filter((metric) => isDrawn(section, metric.id)) });

// Elements are made here only. Text goes in by textContent, never as markup: it may come from anybody.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function svgElement(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Light or dark: as the system says, until the button says otherwise. Canvases cannot use CSS variables, so colours are
// read from the style when the theme changes.
const theme = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  let chosen = null;
  let colours = new Map();

  // A page opened from a file may have no storage.
  try {
    const kept = localStorage.getItem("belay-theme");
    if (kept === "light" || kept === "dark") chosen = kept;
  } catch {}

  function apply(name) {
    root.dataset.theme = name;
    colours = new Map();
    listeners.forEach((listener) => listener(name));
  }
  const wanted = () => chosen ?? (dark.matches ? "dark" : "light");

  dark.addEventListener("change", () => apply(wanted()));
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply(wanted()));
  root.dataset.theme = wanted();

  return {
    get name() {
      return root.dataset.theme;
    },
    toggle() {
      chosen = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("belay-theme", chosen);
      } catch {}
      apply(chosen);
    },
    onChange(listener) {
      listeners.push(listener);
    },
    // The value of --NAME.
    colour(name) {
      if (!colours.has(name)) colours.set(name, getComputedStyle(root).getPropertyValue(`--${name}`).trim() || "#888");
      return colours.get(name);
    },
  };
})();

// "#rrggbb" with an opacity.
function faded(colour, opacity) {
  return `${colour}${Math.round(opacity * 255).toString(16).padStart(2, "0")}`;
}

// Numbers as a person reads them; the rules of format.cpp. Rates have decimal prefixes, memory binary ones.
const DASH = "–";
const DECIMAL = ["", "k", "M", "G", "T", "P"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

function threeDigits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  // As in C, with an exponent from 1e-5 downwards.
  if (size < 0.9995) return size < 1e-4 ? String(Number(value.toPrecision(3)).toExponential()) : String(Number(value.toPrecision(3)));
  if (size < 9.995) return value.toFixed(2);
  if (size < 99.95) return value.toFixed(1);
  return value.toFixed(0);
}

// "0.0" of "-0.0"
function withoutSignOfZero(text) {
  return text.startsWith("-") && !/[1-9]/.test(text) ? text.slice(1) : text;
}

// Of less than ten seconds, in the largest unit of which it is a tenth at least. What is less than the smallest comes from
// rounding.
function shortDuration(seconds) {
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
    if (Math.abs(seconds) >= 0.0995 * unit) return `${Number((seconds / unit).toPrecision(2))} ${name}`;
  return "0 s";
}

function scaled(value, step, prefixes, unit) {
  let prefix = 0;
  while (prefix + 1 < prefixes.length && Math.abs(value) >= Math.min(step, 999.5)) {
    value /= step;
    prefix += 1;
  }
  const number = prefix === 0 && Number.isInteger(value) ? String(value) : threeDigits(value);
  return `${number} ${prefixes[prefix]}${unit}`;
}

function formatQuantity(value, unit) {
  if (value === null || value === undefined) return DASH;
  if (unit === "share") return `${withoutSignOfZero((value * 100).toFixed(value !== 0 && Math.abs(value) < 0.0995 ? 1 : 0))} %`;
  if (unit === "B") return scaled(value, 1024, BINARY, unit);
  if (unit === "B/s" || unit === "Hz" || unit === "Wh") return scaled(value, 1000, DECIMAL, unit);
  if (unit === "s") return formatDuration(value);
  return unit === "" ? threeDigits(value) : `${threeDigits(value)} ${unit}`;
}

function formatDuration(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds <= -9.95) return `-${formatDuration(-seconds)}`;
  if (seconds < 9.95) return shortDuration(seconds);
  const whole = Math.round(seconds);
  const parts = (size, name, small, smallName) => {
    const rest = Math.floor((whole % size) / small);
    return `${Math.floor(whole / size)} ${name}${rest > 0 ? ` ${rest} ${smallName}` : ""}`;
  };
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return parts(60, "min", 1, "s");
  return whole < 86400 ? parts(3600, "h", 60, "min") : parts(86400, "d", 3600, "h");
}

// "98.3 %": cut, not rounded, so that only what is complete says 100.
function formatCoverage(share) {
  return share === null ? DASH : `${(Math.floor(share * 1000 + 1e-6) / 10).toFixed(1)} %`;
}

// "2:58", "1:02:58"; with hours also where there are none if `hours` says so.
function formatElapsed(seconds, hours = false) {
  const whole = Math.floor(Math.max(0, seconds));
  const two = (number) => String(number).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (whole < 3600 && !hours) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

// "2026-03-01 12:00:00 UTC"
function formatMoment(milliseconds) {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

// Labels of a value axis: all with the prefix that fits the largest, and the digits that the step needs.
function axisLabels(splits, unit) {
  const largest = Math.max(...splits.map(Math.abs), 0);
  const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : largest || 1;
  // As many digits as it takes to write the step: 4 for 0.0025.
  const digits = (size) => [0, 1, 2, 3, 4, 5].find((count) => Math.abs(size * 10 ** count - Math.round(size * 10 ** count)) < 1e-6) ?? 6;
  if (unit === "" && step < 1e-5) return splits.map(threeDigits);
  if (unit === "share") return splits.map((value) => `${(value * 100).toFixed(digits(step * 100))} %`);
  const base = unit === "B" ? 1024 : 1000;
  const prefixes = unit === "B" ? BINARY : DECIMAL;
  if (unit !== "B" && unit !== "B/s" && unit !== "Hz") return splits.map((value) => value.toFixed(digits(step)));
  let prefix = 0;
  while (prefix + 1 < prefixes.length && largest / base ** prefix >= base) prefix += 1;
  const scale = base ** prefix;
  return splits.map((value) => {
    // What is drawn below the axis is not negative.
    const number = (Math.abs(value) / scale).toFixed(digits(step / scale));
    return value === 0 ? "0" : `${number} ${prefixes[prefix]}${unit}`;
  });
}

// Starts Debian's Chromium under Playwright, and opens reports in it.
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import path from "node:path";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const require = createRequire(path.join(root, "packages/npm/check/package.json"));
const { chromium } = require("playwright-core");

// What a headless Chromium needs as root and without a graphics card, and what keeps it from calling home.
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];

// Two busy cores: slow is not wrong.
export const TIMEOUT = 120_000;

// Playwright gives each launch an empty profile of its own and removes it.
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS, timeout: TIMEOUT, headless: true,
  });
}

// Opens a report file and waits until it is drawn. `seen` collects what should never happen.
export async function openReport(browser, file, { scheme = "light", width = 1400, height = 900, scale = 1 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: scheme, deviceScaleFactor: scale, reducedMotion: "reduce" });
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  const url = pathToFileURL(path.resolve(file)).href;
  const seen = { errors: [], requests: [], dialogs: [] };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") seen.errors.push(message.text());
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) seen.requests.push(request.url());
  });
  await page.goto(url, { waitUntil: "load", timeout: TIMEOUT });
  await page.waitForFunction(() => window.belayReport?.ready === true, null, { timeout: TIMEOUT });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { page, context, seen };
}

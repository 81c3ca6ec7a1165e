// The page of a joint analysis in a real browser: ANALYSIS_PAGE=a.html node --test analysis_test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TIMEOUT, launch, openReport } from "./browser.mjs";

const file = process.env.ANALYSIS_PAGE;
let browser;
before(async () => { browser = await launch(); }, { timeout: TIMEOUT });
after(() => browser?.close());

// Opens the page, runs `body`, and holds it to what no page may do: complain, fetch or ask.
function browserTest(name, options, body) {
  test(name, { timeout: 2 * TIMEOUT }, async () => {
    const { page, context, seen } = await openReport(browser, file, options);
    try {
      await body(page);
      assert.deepEqual(seen, { errors: [], requests: [], dialogs: [] });
    } finally {
      await context.close();
    }
  });
}

for (const scheme of ["light", "dark"])
  browserTest(`every figure is drawn, ${scheme}`, { scheme }, async (page) => {
    const seen = await page.evaluate(() => ({
      figures: window.belayReport.model.figures.filter((figure) => figure.missing === null && figure.panels.length > 0)
        .map((figure) => figure.panels.map((panel) => panel.id)),
      panels: [...document.querySelectorAll("[data-panel]")].map((one) => {
        const plot = one.querySelector("svg.panel").getBoundingClientRect();
        const marks = [...one.querySelectorAll(".mark-mean, .mark-run")].map((mark) => mark.getBoundingClientRect());
        return { id: one.dataset.panel, marks: marks.length, width: plot.width,
          outside: marks.filter((mark) => mark.left < plot.left || mark.right > plot.right || mark.top < plot.top || mark.bottom > plot.bottom).length };
      }),
      bars: [...document.querySelectorAll(".bar-row rect")].filter((bar) => bar.getBoundingClientRect().width > 0).length,
    }));
    assert.deepEqual(seen.panels.map((panel) => panel.id).sort(), seen.figures.flat().sort());
    for (const panel of seen.panels) {
      assert.ok(panel.marks > 0 && panel.width > 200, JSON.stringify(panel));
      assert.equal(panel.outside, 0, `marks outside of the plot: ${JSON.stringify(panel)}`);
    }
    assert.ok(seen.bars > 20, `${seen.bars} bars`);
  });

browserTest("a click on a point shows its run", {}, async (page) => {
  const point = page.locator(".mark-run").first();
  const title = await point.locator("title").textContent();
  await point.dispatchEvent("click");
  const chosen = await page.evaluate(() => {
    const [system, run] = [...document.querySelectorAll(".run-choice select")].map((select) => Number(select.value));
    return window.belayReport.model.systems[system].run_list[run].file;
  });
  assert.ok(title.startsWith(`${chosen}:`), `${title} is not of ${chosen}`);
  assert.match(await page.locator("#runs").textContent(), /Time to train/);
  assert.equal(await page.evaluate(() => window.belayReport.charts.length), 2, "the metric and the time of its epochs");
});

browserTest("a name in the key hides a system in all figures", {}, async (page) => {
  const shown = () => page.evaluate(() => [...document.querySelectorAll('[data-system="0"]')]
    .filter((node) => getComputedStyle(node).display !== "none" && getComputedStyle(node).visibility !== "hidden").length);
  assert.ok(await shown() > 0);
  await page.locator(".legend button.key").first().click();
  assert.equal(await shown(), 0);
});

browserTest("a heading sorts the systems", {}, async (page) => {
  const column = () => page.evaluate(() => {
    const table = document.querySelector("#systems table");
    const headings = [...table.querySelectorAll("thead tr:last-child th")].map((one) => one.textContent.trim());
    const at = headings.findIndex((one) => one.startsWith("unit·h"));
    return [...table.querySelectorAll("tbody tr")].map((row) => Number(row.children[at].textContent.replaceAll(",", ""))).filter(Number.isFinite);
  });
  const before = await column();
  await page.locator("#systems th", { hasText: "unit·h" }).last().click();
  const sorted = await column();
  assert.ok(sorted.length > 8, `${sorted.length} numbers`);
  assert.notDeepEqual(sorted, before);
  assert.deepEqual(sorted[0] <= sorted.at(-1) ? sorted : sorted.toReversed(), [...before].sort((a, b) => a - b));
});

browserTest("hostile names stay text, and narrow windows have no need to scroll sideways", { width: 420 }, async (page) => {
  assert.match(await page.locator("#systems").textContent(), /<b>beta<\/b>/);
  assert.equal(await page.locator("#systems b").count(), 0);
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= window + 1, `${content} of ${window} pixels`);
});

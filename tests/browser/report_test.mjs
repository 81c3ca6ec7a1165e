// Reports in a real browser:
//   REPORT_TRAINING=a.html REPORT_HOSTILE=b.html ... node --test report_test.mjs
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, before, test } from "node:test";
import { TIMEOUT, launch, openReport } from "./browser.mjs";

function report(name) {
  const file = process.env[`REPORT_${name.toUpperCase()}`];
  assert.ok(file, `REPORT_${name.toUpperCase()} must name the page that report_sample ${name} wrote`);
  return file;
}

let browser;
before(async () => { browser = await launch(); }, { timeout: TIMEOUT });
after(() => browser?.close());

// Opens a report, runs `body`, and holds it to what no page may do: complain, fetch or ask.
function browserTest(name, [sample, options = {}], body) {
  test(name, { timeout: 2 * TIMEOUT }, async () => {
    const { page, context, seen } = await openReport(browser, report(sample), options);
    try {
      await body(page, seen);
      assert.deepEqual(seen, { errors: [], requests: [], dialogs: [] });
    } finally {
      await context.close();
    }
  });
}

// Of every canvas: how many colours it has, apart from transparent.
function coloursOfCanvases(page) {
  return page.evaluate(() => [...document.querySelectorAll("canvas")].map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    const colours = new Set(pixels);
    const drawn = pixels.reduce((count, pixel) => count + (pixel >>> 24 > 0 ? 1 : 0), 0);
    return { of: canvas.closest("[data-chart]")?.dataset.chart ?? canvas.className, colours: colours.size,
      drawn: drawn / pixels.length };
  }));
}

// Sets the pointer on a plot, at shares of its width and height.
async function pointAt(page, selector, x, y = 0.5) {
  const plot = page.locator(selector);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
}

const ranges = (page) => page.evaluate(() => window.belayReport.charts.map(({ uplot }) =>
  [uplot.scales.x.min, uplot.scales.x.max]));

for (const scheme of ["light", "dark"]) {
  // Canvases beside those of the model's charts: the heat map of the nodes; of GPUs the mix, the heat map and, of few,
  // the small plots.
  for (const [sample, more] of [["training", 1], ["bare", 1], ["large", 1], ["gpu1", 4], ["gpu16", 4], ["gpu1024", 3]]) {
    browserTest(`${sample} draws every plot, ${scheme}`, [sample, { scheme }], async (page) => {
      const canvases = await coloursOfCanvases(page);
      const charts = await page.evaluate(() => {
        const { model } = window.belayReport;
        return model.charts.filter((chart) => !model.not_drawn.some(({ section, id }) => section === chart.section && id === chart.id)).length;
      });
      assert.equal(canvases.length, charts + more);
      for (const canvas of canvases) {
        assert.ok(canvas.colours > 8, `${canvas.of} has ${canvas.colours} colours`);
        assert.ok(canvas.drawn > 0.01, `${canvas.of} is empty`);
      }
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
    });
  }
}

browserTest("themes follow the system, then the button", ["training", { scheme: "light" }], async (page) => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const pixels = () => page.evaluate(() => document.querySelector(".heat-canvas").toDataURL());
  const light = { page: await background(), heat: await pixels() };
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  const dark = { page: await background(), heat: await pixels() };
  assert.notEqual(dark.page, light.page);
  assert.notEqual(dark.heat, light.heat, "canvases are redrawn in the other colours");
  await page.click("#theme");
  assert.deepEqual({ page: await background(), heat: await pixels() }, light);
  await page.emulateMedia({ colorScheme: "light" });
  await page.click("#theme");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "the button has the last word");
});

browserTest("charts hold the numbers of the model", ["training"], async (page) => {
  const { model, drawn } = await page.evaluate(() => ({
    model: JSON.parse(document.getElementById("model").textContent),
    drawn: Object.fromEntries(window.belayReport.charts.map(({ id, uplot }) => [id, uplot.data.map((row) => [...row])])),
  }));
  assert.ok(model.charts.length >= 14);
  for (const chart of model.charts) {
    const [seconds, ...values] = drawn[chart.id];
    assert.deepEqual(seconds, chart.seconds);
    const sums = chart.seconds.map(() => 0);
    chart.series.forEach((series, i) => {
      series.values.forEach((value, j) => {
        const shown = values[i][j];
        if (value === null) return assert.equal(shown, null, "missing stays missing");
        sums[j] = chart.kind === "stack" ? sums[j] + value : series.below ? -value : value;
        assert.ok(Math.abs(shown - sums[j]) <= 1e-9 * Math.abs(sums[j]), `${chart.id} ${series.label} ${j}`);
      });
    });
  }
});

browserTest("a quantity has one mean", ["training"], async (page) => {
  const { legend, throughput, memory } = await page.evaluate(() => {
    const { model } = window.belayReport;
    const text = (selector) => document.querySelector(selector).textContent;
    return { legend: { throughput: text("[data-chart=throughput] .key-value"), memory: text("[data-chart=job_memory] .key-value") },
      throughput: model.figures.find(({ label }) => label === "Throughput").value,
      memory: model.grid.metrics.find(({ id }) => id === "job_memory").means[0] / 2 ** 30 };
  });
  assert.equal(legend.throughput, `mean ${throughput}`);
  assert.equal(legend.memory, `${memory.toFixed(2)} GiB`);
  const told = await page.evaluate(() => {
    const { model, view } = window.belayReport;
    model.charts.find(({ id }) => id === "job_memory").series[0].mean = 5 * 2 ** 30;
    view.point(20);
    view.point(null);
    return document.querySelector("[data-chart=job_memory] .key-value").textContent;
  });
  assert.equal(told, "5.00 GiB", "the legend tells the mean of the model, not that of the line");
});

browserTest("the heat map holds the numbers of the model", ["training"], async (page) => {
  const shown = await page.evaluate(() => {
    const { heatMap, model } = window.belayReport;
    const chart = model.charts.find(({ id }) => id === "job_cpu");
    return [10, 97, 150].map((bin) => ({ heat: heatMap.valueAt(1, bin), chart: chart.series[1].values[bin] }));
  });
  for (const { heat, chart } of shown)
    assert.equal(heat, chart === null ? "no data" : `${(chart * 100).toFixed(0)} %`);
  assert.equal(shown[1].heat, "no data");
  const before = await page.evaluate(() => document.querySelector(".heat-canvas").toDataURL());
  await page.getByRole("button", { name: "Memory, job" }).click();
  assert.equal(await page.evaluate(() => window.belayReport.heatMap.metric.id), "job_memory");
  assert.notEqual(await page.evaluate(() => document.querySelector(".heat-canvas").toDataURL()), before);
});

browserTest("a drag zooms all charts, a double click shows all", ["training"], async (page) => {
  const full = await ranges(page);
  await pointAt(page, "[data-chart=loss] .u-over", 0.25);
  await page.mouse.down();
  await pointAt(page, "[data-chart=loss] .u-over", 0.5);
  await page.mouse.up();
  const zoomed = await ranges(page);
  for (const [min, max] of zoomed) {
    assert.ok(Math.abs(min - 0.25 * full[0][1]) < 1 && Math.abs(max - 0.5 * full[0][1]) < 1, `${min} to ${max}`);
    assert.deepEqual([min, max], zoomed[0]);
  }
  assert.ok(await page.locator("#reset").isVisible());
  await page.locator("[data-chart=job_cpu] .u-over").dblclick();
  assert.deepEqual(await ranges(page), full);
  assert.ok(!(await page.locator("#reset").isVisible()));
  // The heat map's drag, and the button in the bar.
  await pointAt(page, ".heat-canvas", 0.5, 0.2);
  await page.mouse.down();
  await pointAt(page, ".heat-canvas", 0.8, 0.2);
  await page.mouse.up();
  assert.notDeepEqual(await ranges(page), full);
  await page.click("#reset");
  assert.deepEqual(await ranges(page), full);
});

browserTest("the cursor is in all charts at one time", ["training"], async (page) => {
  await pointAt(page, "[data-chart=cpu_0] .u-over", 0.4);
  const times = await page.evaluate(() => window.belayReport.charts.map(({ uplot }) => uplot.posToVal(uplot.cursor.left, "x")));
  for (const time of times) assert.ok(Math.abs(time - times[0]) < 0.5, `${time} and ${times[0]}`);
  const legend = await page.locator("[data-chart=job_memory] .key-value").first().textContent();
  const value = await page.evaluate(() => {
    const { charts, model } = window.belayReport;
    const index = charts.find(({ id }) => id === "job_memory").uplot.cursor.idx;
    return model.charts.find(({ id }) => id === "job_memory").series[0].values[index] / 2 ** 30;
  });
  assert.equal(legend, `${value.toFixed(2)} GiB`);
  assert.match(await page.locator("#clock").textContent(), /^1:1\d · 2026-03-01 12:01:1\d UTC$/);
  // Into the gap of the second node: its legend says so.
  const gap = await page.evaluate(() => {
    window.belayReport.view.point(98);
    return document.querySelectorAll("[data-chart=job_memory] .key-value")[1].textContent;
  });
  assert.equal(gap, "–");
});

browserTest("plots can be used from the keyboard and read as tables", ["training"], async (page) => {
  const plot = page.locator("[data-chart=throughput] .plot");
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  const first = await page.evaluate(() => window.belayReport.view.cursor);
  await page.keyboard.press("ArrowRight");
  assert.ok((await page.evaluate(() => window.belayReport.view.cursor)) > first);
  await page.keyboard.press("+");
  assert.ok(await page.evaluate(() => window.belayReport.view.zoomed));
  await page.keyboard.press("Escape");
  assert.ok(!(await page.evaluate(() => window.belayReport.view.zoomed)));
  assert.match(await plot.getAttribute("aria-label"), /^Throughput\. .*mean 1\d\d samples\/s/);
  await page.locator("[data-chart=metric] summary").click();
  await page.locator("[data-chart=metric] table").waitFor();
  assert.equal(await page.locator("[data-chart=metric] tbody tr").count(), 16);
});

browserTest("a legend's key hides its line", ["training"], async (page) => {
  const key = page.locator("[data-chart=network] .key").first();
  await key.click();
  assert.equal(await key.getAttribute("aria-pressed"), "false");
  assert.deepEqual(await page.evaluate(() => {
    const { uplot } = window.belayReport.charts.find(({ id }) => id === "network");
    return uplot.series.map((series) => series.show);
  }), [true, false, true, true, true]);
});

browserTest("tables of nodes can be sorted", ["large"], async (page) => {
  const firstNode = () => page.locator(".nodes-table tbody tr td").first().textContent();
  assert.equal(await firstNode(), "nid001001");
  const heading = page.locator(".nodes-table thead tr").nth(1).locator("button").nth(2);
  await heading.click();
  await heading.click();
  assert.equal(await firstNode(), "nid001334", "the slow node has the lowest mean of CPU use");
});

for (const sample of ["gpu1", "gpu16", "gpu1024"])
  browserTest(`${sample} tells score and findings`, [sample], async (page) => {
    const { score } = await page.evaluate(() => window.belayReport.model.gpu);
    assert.equal(await page.locator(".score-value").textContent(), score.score.toFixed(1));
    assert.ok(score.low <= score.score && score.score <= score.high);
    const widths = await page.evaluate(() => [...document.querySelectorAll(".fall-part:not(.all)")].map((part) => parseFloat(part.style.width)));
    assert.ok(Math.abs(widths.reduce((sum, width) => sum + width, 0) - 100) < 0.01, `the parts are ${widths}`);
    assert.ok(Math.abs(widths.at(-1) - score.score) < 0.1, "the last part is the score");
    assert.deepEqual(await page.locator(".finding").evaluateAll((cards) => cards.map((card) => card.dataset.finding)),
      ["gpu_thermal", "data_stall"]);
    assert.match(await page.locator(".finding").first().textContent(), /critical.*clock1310 MHz.*cooling/s);
    for (const id of ["score", "findings", "gpus", "distribution", "power", "methods"])
      assert.ok(await page.locator(`#${id}`).isVisible(), id);
    assert.match(await page.locator("#methods").textContent(), /uncalibrated/);
    for (const height of await page.locator(".framed > svg").evaluateAll((plots) => plots.map((plot) => plot.clientHeight)))
      assert.ok(height > 80 && height < 400, `a plot is ${height} px high`);
    const bars = await page.locator("[data-figure=histogram_saturation] rect").count();
    assert.equal(bars, 20);
    assert.ok(statSync(report(sample)).size < 5e6, "the page is small");
  });

browserTest("what is critical comes first, and its job did not simply complete", ["gpu16"], async (page) => {
  const top = (selector) => page.locator(selector).first().evaluate((node) => node.getBoundingClientRect().top);
  assert.ok(await top(".alerts") < await top(".figures"), "above the key figures");
  assert.ok(await top("#findings") < await top("#score"));
  assert.deepEqual(await page.locator("#sections a").allTextContents().then((names) => names.slice(0, 2)),
    ["Findings", "Score"]);
  assert.equal(await page.locator(".hero .pill").textContent(), "! completed, 1 critical finding");
  assert.deepEqual(await page.locator(".hero .pill").evaluate((pill) => [...pill.classList]), ["pill", "warning"]);
  await page.locator(".alerts a").click();
  assert.ok(Math.abs(await top("[data-finding=gpu_thermal]") - 64) < 40, "the link goes to the finding");
});

browserTest("a job without critical findings says so in green", ["training"], async (page) => {
  assert.equal(await page.locator(".alerts").count(), 0);
  assert.equal(await page.locator(".hero .pill.good").textContent(), "✓ completed");
});

browserTest("a page without GPUs has no section of them", ["training"], async (page) => {
  for (const id of ["score", "findings", "gpus", "distribution", "power", "methods"])
    assert.equal(await page.locator(`#${id}`).count(), 0, id);
});

browserTest("findings are marked in the timelines, and shown on request", ["gpu16"], async (page) => {
  const alphaAt = () => page.evaluate(() => {
    const { uplot } = window.belayReport.charts.find(({ id }) => id === "gpu_power");
    const x = Math.round(uplot.valToPos(1260, "x", true));  // the middle of the stall
    return [...uplot.ctx.getImageData(x, Math.round(uplot.bbox.top) + 1, 1, 1).data];
  });
  const marked = await alphaAt();
  assert.ok(marked[3] > 0, "a bar at the top of the plot");
  await page.locator("[data-finding=data_stall] button").click();
  const [low, high] = (await ranges(page))[0];
  assert.ok(low > 900 && low < 1080 && high > 1440 && high < 1600, `${low} to ${high}`);
});

browserTest("evidence leads to the plot that shows it", ["gpu16"], async (page) => {
  const links = (id) => page.locator(`[data-finding=${id}] .shown-in a`);
  assert.deepEqual(await links("gpu_thermal").allTextContents(), ["Temperature", "SM clock", "Saturation"]);
  assert.deepEqual(await links("data_stall").allTextContents(), ["SM active", "Storage traffic of the job"]);
  const shown = async (selector) => {
    const { top, bottom, outline } = await page.locator(selector).evaluate((node) => ({
      top: node.getBoundingClientRect().top, bottom: innerHeight - node.getBoundingClientRect().top, outline: getComputedStyle(node).outlineStyle }));
    assert.ok(top >= 40 && bottom > 100, `${selector} is at ${top} px`);
    assert.equal(outline, "solid", `${selector} is marked`);
  };
  await links("gpu_thermal").nth(1).click();
  await shown("[data-chart=gpu_clock]");
  assert.equal(await page.locator("[data-chart=gpu_temperature]").evaluate((node) => getComputedStyle(node).outlineStyle), "none");
  await links("gpu_thermal").nth(1).click();
  await shown("[data-chart=gpu_clock]");
  await links("data_stall").nth(0).click();
  await shown("#gpus-plots");
  await page.locator("#gpus-map").getByRole("button", { name: "DRAM", exact: true }).click();
  await links("gpu_thermal").nth(2).click();
  await shown("#gpus-map");
  assert.equal(await page.evaluate(() => window.belayReport.gpuFigures.heat.metric.id), "saturated");
  await page.locator("[data-finding=data_stall] button").click();
  await shown("#gpus-plots");
});

browserTest("what is always zero, or has no data, is named and not drawn", ["gpu1"], async (page) => {
  const named = (section) => page.locator(`[data-not-drawn=${section}]`).textContent();
  assert.match(await named("power"), /Always zero: Clock held down\./);
  assert.match(await named("power"), /No data: .*Chip to chip.* \(not sampled on these GPUs\)/);
  assert.match(await named("gpus"), /Always zero: FP64\./);
  assert.equal(await page.locator("[data-chart=gpu_held]").count(), 0);
  assert.equal(await page.locator("#gpus-map").getByRole("button", { name: "FP64" }).count(), 0);
});

browserTest("a section without data says why", ["bare"], async (page) => {
  assert.match(await page.locator("#network").textContent(), /No data: Network traffic \(no samples in the table network\)/);
  assert.equal(await page.locator("#network .grid > *").count(), 0);
});

browserTest("weights change the mix and not the score", ["gpu16"], async (page) => {
  const shown = () => page.evaluate(() => ({ score: document.querySelector(".score-value").textContent,
    mix: window.belayReport.charts.find(({ id }) => id === "gpu_mix").uplot.data.map((row) => row[300]) }));
  const before = await shown();
  await page.locator(".weight.memory input").fill("0");
  await page.locator(".weight.network input").fill("0");
  const after = await shown();
  const compute = await page.evaluate(() => window.belayReport.model.gpu.mix.compute[300]);
  assert.equal(after.score, before.score);
  assert.ok(Math.abs(before.mix[1] - compute / 3) < 1e-6);
  assert.ok(Math.abs(after.mix[1] - compute) < 1e-6, "all the weight is on compute");
  assert.equal(await page.locator("[data-chart=gpu_mix] .key-value").nth(1).textContent(), "0 %");
});

browserTest("small plots hold the numbers of the model", ["gpu16"], async (page) => {
  const { sm, lost, score } = await page.evaluate(() => {
    const { gpuFigures, model } = window.belayReport;
    return { sm: gpuFigures.multiples.valueAt("sm", 0, 100), lost: gpuFigures.multiples.valueAt("sm", 8, 599),
      score: model.gpu.gpus.map((gpu) => gpu.score) };
  });
  assert.ok(sm > 0.7 && sm < 0.95, `SM ${sm}`);
  assert.equal(lost, null, "the lost GPU has no values at the end");
  assert.ok(Math.min(...score) === score[13], "the idle one");
});

browserTest("a thousand GPUs are ready at once", ["gpu1024"], async (page) => {
  assert.equal(await page.locator(".gpus-table tbody tr").count(), 1024);
  assert.equal(await page.evaluate(() => window.belayReport.gpuFigures.heat.valueAt(512, 149)), "no data");
  assert.equal(await page.evaluate(() => window.belayReport.gpuFigures.heat.valueAt(1021, 100)), "0.8 %", "one of 255 steps");
  const outlier = await page.locator("[data-chart=gpu_sm] .key-label").allTextContents();
  assert.deepEqual(outlier.slice(3), ["nid001256:1", "nid001086:1"]);
});

browserTest("hostile text is shown and does nothing", ["hostile"], async (page) => {
  for (const selector of ["h1", ".hero dd", ".key", "td"]) await page.locator(selector).first().hover();
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("main img, main style, main script").count(), 0);
  assert.match(await page.locator("h1").textContent(), /^<img src=x onerror="window\.hacked=2"><style>.*<\/script><script>/s);
  assert.match(await page.title(), /^<img src=x/);
  assert.ok(await page.locator("h1").isVisible());
});

browserTest("the policy runs no script but the page's own", ["training"], async (page, seen) => {
  const ran = await page.evaluate(async () => {
    const blocked = new Promise((done) => document.addEventListener("securitypolicyviolation", () => done(true), { once: true }));
    const frame = document.createElement("div");
    frame.innerHTML = "<button onclick='window.hacked=1'>x</button>";
    document.body.append(frame);
    frame.firstChild.click();
    const was = await Promise.race([blocked, new Promise((done) => setTimeout(() => done(false), 5000))]);
    return { blocked: was, hacked: window.hacked ?? null };
  });
  assert.deepEqual(ran, { blocked: true, hacked: null });
  const complaints = seen.errors.splice(0);
  assert.equal(complaints.length, 1);
  assert.match(complaints[0], /Content Security Policy/);
});

for (const width of [1400, 800, 390])
  for (const sample of ["training", "gpu16"])
  browserTest(`${sample}: nothing sticks out at ${width} px`, [sample, { width }], async (page) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} px wide`);
    const plots = await page.evaluate(() => [...document.querySelectorAll(".plot")].map((plot) =>
      plot.querySelector(".uplot").offsetWidth - plot.clientWidth));
    for (const excess of plots) assert.ok(excess <= 1, `a plot is ${excess} px wider than its place`);
  });

for (const width of [1280, 1024])
  browserTest(`the menu is whole at ${width} px`, ["gpu16", { width }], async (page) => {
    const parts = () => page.evaluate(() => {
      const bar = document.querySelector(".bar").getBoundingClientRect();
      const places = [...document.querySelectorAll("#sections a, #theme")].map((node) => node.getBoundingClientRect());
      return { height: bar.height, cut: places.filter(({ left, right, top, bottom }) =>
        left < 0 || right > innerWidth || top < bar.top || bottom > bar.bottom).length,
        links: places.length, hidden: document.querySelector("#sections").scrollWidth - document.querySelector("#sections").clientWidth };
    });
    const still = await parts();
    assert.ok(still.links > 14, `${still.links} links`);
    assert.deepEqual([still.cut, still.hidden], [0, 0]);
    await pointAt(page, "[data-chart=gpu_power] .u-over", 0.4);
    assert.match(await page.locator("#clock").textContent(), /2026/);
    await page.evaluate(() => window.belayReport.view.zoom(600, 1200));
    assert.ok(await page.locator("#reset").isVisible());
    assert.deepEqual(await parts(), still, "it does not move while the time under the cursor is shown");
    await page.click("#reset");
    await page.locator("#sections a", { hasText: "Storage" }).click();
    const [bar, heading] = await page.evaluate(() => [document.querySelector(".bar").getBoundingClientRect().bottom,
      document.querySelector("#storage").getBoundingClientRect().top]);
    assert.ok(heading >= bar - 1, "the bar does not cover what a link leads to");
  });

browserTest("a print is light and loses nothing", ["training", { scheme: "dark" }], async (page) => {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 700, height: 990 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 700);
});

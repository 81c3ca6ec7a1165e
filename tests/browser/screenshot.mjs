// Pictures of a report: node screenshot.mjs REPORT.html OUTPUT.png [light|dark] [WIDTH] [HEIGHT, or "full"] [SCALE]
import { launch, openReport } from "./browser.mjs";

const [report, output, scheme = "light", width = "1400", height = "full", scale = "1"] = process.argv.slice(2);
if (!report || !output) {
  console.error("usage: screenshot.mjs REPORT.html OUTPUT.png [light|dark] [WIDTH] [HEIGHT|full] [SCALE]");
  process.exit(2);
}
const browser = await launch();
try {
  const { page, seen } = await openReport(browser, report, {
    scheme, width: Number(width), height: height === "full" ? 900 : Number(height), scale: Number(scale) });
  await page.screenshot({ path: output, fullPage: height === "full" });
  for (const error of seen.errors) console.error(error);
  process.exitCode = seen.errors.length > 0 ? 1 : 0;
} finally {
  await browser.close();
}

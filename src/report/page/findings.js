// What the rules found, most important first, each with what it rests on and what to do.
const FINDING_TONES = { critical: ["bad", "✕ critical"], warning: ["warning", "! warning"], info: ["", "info"] };

const findingAnchor = (finding) => `finding-${finding.id}`;

function someNames(names, most = 4) {
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

function findingCard(finding, view) {
  const [tone, label] = FINDING_TONES[finding.severity] ?? ["", finding.severity];
  const timed = finding.start !== null && finding.end !== null;
  const targets = evidenceTargets(finding);
  const show = () => {
    const room = Math.max((finding.end - finding.start) * 0.25, view.full[1] * 0.01);
    view.zoom(finding.start - room, finding.end + room);
    goTo(targets[0] ?? { anchor: document.querySelector(".chart")?.id ?? "findings", show() {} });
  };
  // What a program printed has lines.
  const quotes = finding.evidence.filter((one) => one.text.includes("\n"));
  const values = finding.evidence.filter((one) => !one.text.includes("\n"));
  const places = [someNames(finding.nodes), someNames(finding.devices)].filter(Boolean);
  return element("article", { id: findingAnchor(finding), class: `card finding ${tone}`, "data-finding": finding.id },
    element("div", { class: "finding-head" }, element("span", { class: `pill ${tone}` }, label), element("h3", {}, finding.title),
      element("code", { class: "soft" }, finding.id)),
    element("p", { class: "soft finding-place" },
      timed ? `${formatElapsed(finding.start)} to ${formatElapsed(finding.end)}` : "", places.map((place) => ` · ${place}`),
      finding.confidence ? ` · confidence ${finding.confidence}` : "",
      finding.caused_by.length > 0 ? ` · a consequence of ${finding.caused_by.join(", ")}` : "",
      timed ? element("button", { type: "button", class: "button small", onclick: show }, "Show in the timelines") : null),
    finding.summary ? element("p", { class: "advice" }, finding.summary) : null,
    values.length > 0 ? element("ul", { class: "evidence" }, values.map((one) =>
      element("li", {}, element("span", { class: "soft" }, one.name), element("b", {}, one.text || formatQuantity(one.value, one.unit))))) : null,
    quotes.map((one) => element("pre", { class: "quote", "data-evidence": one.name }, one.text)),
    evidenceLinks(targets),
    finding.advice ? element("p", { class: "advice" }, finding.advice) : null,
    finding.references.length > 0 ? element("p", { class: "references" }, finding.references.join("; ")) : null);
}

function makeFindings(findings, view) {
  const skipped = findings.skipped.map((rule) => element("li", {}, element("code", {}, rule.id), ` ${rule.why}`));
  const none = element("p", { class: "card list soft" }, "No rule found anything.");
  return [
    findings.findings.length > 0 ? element("div", { class: "grid" }, findings.findings.map((one) => findingCard(one, view))) : none,
    element("details", { class: "rules" },
      element("summary", {}, `${findings.evaluated.length} rules evaluated, ${findings.skipped.length} not`),
      element("p", {}, "Evaluated: ", findings.evaluated.flatMap((id) => [element("code", {}, id), " "])),
      skipped.length > 0 ? element("ul", {}, skipped) : null),
  ];
}

#include "findings/rule.h"

#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <array>

namespace belay::findings {

std::string_view severity_name(Severity severity) {
    return kSeverityNames[static_cast<size_t>(severity)];
}

std::optional<Severity> severity_named(std::string_view name) {
    auto found = std::ranges::find(kSeverityNames, name);
    if (found == kSeverityNames.end()) return std::nullopt;
    return static_cast<Severity>(found - kSeverityNames.begin());
}

const Threshold* Rule::find_threshold(std::string_view name) const {
    auto found = std::ranges::find(thresholds, name, &Threshold::name);
    return found != thresholds.end() ? &*found : nullptr;
}

std::string guards_text(const Rule& rule) {
    std::vector<std::string> parts;
    if (!rule.needs.empty()) parts.push_back("rows in " + core::join(rule.needs, ", "));
    if (!rule.applies_when.empty())
        parts.push_back(rule.otherwise.empty() ? rule.applies_when : "unless " + rule.otherwise);
    parts.push_back(fmt::format("a run of {}{}", core::format_duration(rule.min_run),
                                rule.with_start_up ? "" : " after start-up"));
    if (rule.min_coverage > 0) parts.push_back(fmt::format("coverage of {:g} %", rule.min_coverage * 100));
    return core::join(parts, "; ");
}

}  // namespace belay::findings

#include "cli/vet_text.h"

#include "cli/text_table.h"
#include "core/program.h"
#include "vet/verdict_text.h"

#include <fmt/format.h>

namespace belay::cli {

namespace {

constexpr size_t kFewNodes = 4;  // all of whose checks are shown

}  // namespace

std::string verdicts_text(const vet::Verdicts& verdicts) {
    std::vector<std::vector<std::string>> rows;
    for (const vet::NodeVerdict& node : verdicts.nodes)
        for (const vet::CheckResult& check : node.checks) {
            if (verdicts.nodes.size() > kFewNodes && check.status == vet::Status::kPass) continue;
            std::string status(vet::status_name(check.status));
            if (check.severity == vet::Severity::kWarning) status += " (warning)";
            rows.push_back({node.node, check.name, status, vet::value_text(check), check.reason.text()});
        }
    std::string text;
    if (!rows.empty()) text = render_table({"node", "check", "status", "value", "reason"}, rows) + "\n";
    return text + vet::summary(verdicts) + "\n";
}

core::Result<vet::Protocol> load_protocol(const std::string& path, bool show_warnings) {
    auto protocol = vet::load_protocol(path);
    if (!protocol) {
        vet::Mistakes& mistakes = protocol.error();
        core::Error last = std::move(mistakes.back());
        mistakes.pop_back();
        for (const core::Error& mistake : mistakes)
            if (show_warnings) core::show_error("belay", mistake);
        return std::unexpected(std::move(last));
    }
    if (show_warnings)
        for (const core::Error& warning : protocol->warnings)
            fmt::print(stderr, "{}", warning.render("belay: warning"));
    return std::move(*protocol);
}

}  // namespace belay::cli

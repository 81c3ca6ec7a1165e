#include "vet/verdict.h"

#include "core/tell.h"

#include <algorithm>
#include <array>

namespace belay::vet {

namespace {

constexpr std::array<std::string_view, 5> kStatusNames{"pass", "unsupported", "fail", "error", "missing"};

}  // namespace

std::string_view status_name(Status status) {
    return kStatusNames[static_cast<size_t>(status)];
}

std::optional<Status> status_of_name(std::string_view name) {
    auto found = std::find(kStatusNames.begin(), kStatusNames.end(), name);
    if (found == kStatusNames.end()) return std::nullopt;
    return static_cast<Status>(found - kStatusNames.begin());
}

Reason& Reason::operator+=(std::string_view more) {
    if (auto* words = std::get_if<std::string>(&what_))
        *words += more;
    else
        what_ = std::move(std::get<core::Error>(what_)).after(more);
    return *this;
}

std::string Reason::text() const {
    const core::Error* error = failure();
    return error != nullptr ? core::in_one_line(*error) : std::get<std::string>(what_);
}

std::string_view severity_name(Severity severity) {
    return severity == Severity::kEssential ? "essential" : "warning";
}

Status node_verdict(std::span<const CheckResult> checks) {
    if (checks.empty()) return Status::kError;
    Status worst = Status::kPass;
    for (const CheckResult& check : checks)
        if (check.severity == Severity::kEssential) worst = std::max(worst, check.status);
    return worst;
}

Verdicts judge(std::string protocol, std::vector<NodeVerdict> nodes, std::optional<size_t> need) {
    Verdicts out{.protocol = std::move(protocol), .nodes = std::move(nodes)};
    for (NodeVerdict& node : out.nodes) {
        node.verdict = std::max(node_verdict(node.checks), node.report);
        (node.verdict == Status::kPass ? out.vetted : out.cordoned).push_back(node.node);
    }
    out.passed = !out.vetted.empty() && out.vetted.size() >= need.value_or(out.nodes.size());
    return out;
}

bool can_still_pass(size_t passed, size_t pending, size_t need) {
    return passed + pending >= need;
}

std::string host_file(std::span<const std::string> nodes) {
    std::string out;
    for (const std::string& node : nodes) out += node + "\n";
    return out;
}

}  // namespace belay::vet

#include "slurm/node_causes.h"

#include "core/text.h"
#include "core/utf8.h"
#include "slurm/hostlist.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::slurm {

namespace {

constexpr size_t kShownNames = 200;  // bytes of a list of nodes in one line

}  // namespace

std::string short_list(std::span<const std::string> nodes) {
    auto folded = compress(nodes);
    std::string text = core::printable(folded ? *folded : core::join(nodes, ","));
    if (text.size() <= kShownNames) return text;
    return fmt::format("{}… ({} nodes)", core::utf8_prefix(text, kShownNames), nodes.size());
}

void NodeCauses::add(std::string text, const std::string& node) {
    auto known = std::ranges::find(causes_, text, [](const auto& cause) { return cause.first; });
    if (known == causes_.end())
        known = causes_.emplace(causes_.end(), std::move(text), std::vector<std::string>());
    if (known->second.empty() || known->second.back() != node) known->second.push_back(node);
}

std::vector<std::string> NodeCauses::lines(size_t limit) const {
    std::vector<std::string> lines;
    for (const auto& [text, nodes] : causes_) {
        if (lines.size() == limit) {
            lines.push_back(fmt::format("and {} more causes", causes_.size() - limit));
            break;
        }
        lines.push_back(fmt::format("{}: {}", short_list(nodes), text));
    }
    return lines;
}

}  // namespace belay::slurm

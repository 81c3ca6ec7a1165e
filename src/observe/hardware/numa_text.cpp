#include "observe/hardware/numa_text.h"

#include "procfs/scan.h"

#include <fmt/format.h>

namespace belay::observe::hardware {

namespace {

constexpr size_t kMostGpuNodes = 1024;

}  // namespace

void without_node(std::string_view meminfo, std::string& lines) {
    lines.clear();
    std::string_view line;
    for (procfs::Lines all(meminfo); all.next(line);) {
        procfs::Words words(line);
        if (words.next() != "Node" || !procfs::count(words.next())) continue;
        lines.append(words.rest()).push_back('\n');
    }
}

std::optional<int64_t> parse_huge_page_name(std::string_view name) {
    constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
    if (name.size() < kPrefix.size() + kSuffix.size()) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    name.remove_suffix(kSuffix.size());
    return procfs::scaled(procfs::count(name), procfs::kKibibyte);
}

std::optional<int64_t> parse_numa_status(std::string_view text) {
    std::string_view line;
    for (procfs::Lines lines(text); lines.next(line);) {
        procfs::Words words(line);
        if (words.next() == "Node:") return procfs::count(words.next());
    }
    return std::nullopt;
}

std::vector<GpuNode> parse_gpu_nodes(std::string_view text) {
    std::vector<GpuNode> nodes;
    std::string_view line;
    for (procfs::Lines lines(text); lines.next(line) && nodes.size() < kMostGpuNodes;) {
        procfs::Words words(line);
        const std::optional<int64_t> node = procfs::count(words.next());
        const std::string_view address = words.next();
        if (node && !address.empty() && words.next().empty()) nodes.push_back({*node, std::string(address)});
    }
    return nodes;
}

std::string format_gpu_nodes(const std::vector<GpuNode>& nodes) {
    std::string text;
    for (const GpuNode& node : nodes) text += fmt::format("{} {}\n", node.numa_node, node.address);
    return text;
}

}  // namespace belay::observe::hardware

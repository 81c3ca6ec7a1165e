// mem.free
#include "core/file.h"
#include "core/text.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>

namespace belay::vet {

std::optional<MemoryFacts> parse_meminfo(std::string_view text) {
    MemoryFacts facts;
    int found = 0;
    for (std::string_view line : core::split(text, '\n')) {
        auto words = core::split_words(line);
        if (words.size() < 2) continue;
        auto kib = core::parse_number<uint64_t>(words[1]);
        if (!kib || *kib > UINT64_MAX / 1024) continue;
        if (words[0] == "MemTotal:") facts.total_bytes = *kib * 1024, ++found;
        if (words[0] == "MemAvailable:") facts.available_bytes = *kib * 1024, ++found;
    }
    if (found != 2 || facts.total_bytes == 0) return std::nullopt;
    return facts;
}

Outcome judge_memory(const MemoryFacts& facts, std::optional<uint64_t> min, std::optional<double> min_share) {
    if (!min && !min_share) return unsupported_outcome("no minimum is set: give min or min_share");
    double available = static_cast<double>(facts.available_bytes);
    double limit = min ? static_cast<double>(*min) : 0;
    if (min_share) limit = std::max(limit, *min_share * static_cast<double>(facts.total_bytes));
    Outcome out = pass_or_fail(available >= limit);
    out.value = available;
    out.unit = "bytes";
    out.limit = limit;
    out.reason = fmt::format("{} available, {} wanted", core::format_binary({facts.available_bytes}),
                             core::format_binary({static_cast<uint64_t>(limit)}));
    return out;
}

Outcome measure_memory_free(const Check& check, const NodeView& node) {
    auto text = core::read_file(node.path("/proc/meminfo"), size_t{1} << 20);
    if (!text) return error_outcome(text.error().message());
    auto facts = parse_meminfo(*text);
    if (!facts) return error_outcome("/proc/meminfo names no MemTotal and MemAvailable");
    auto min = check.get<core::ByteSize>("min");
    return judge_memory(*facts, min ? std::optional(min->bytes) : std::nullopt,
                        check.get<double>("min_share"));
}

}  // namespace belay::vet

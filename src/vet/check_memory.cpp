// mem.free
#include "core/file.h"
#include "vet/check_facts.h"
#include "vet/checks.h"

#include <algorithm>

namespace belay::vet {

Outcome judge_memory(const procfs::Meminfo& memory, std::optional<uint64_t> min,
                     std::optional<double> min_share) {
    if (!min && !min_share) return unsupported_outcome("no minimum is set: give min or min_share");
    if (!memory.available || !memory.total)
        return error_outcome(core::system_error("/proc/meminfo does not state MemTotal and MemAvailable"));
    double limit = min ? static_cast<double>(*min) : 0;
    if (min_share) limit = std::max(limit, *min_share * static_cast<double>(*memory.total));
    Outcome out = pass_or_fail(static_cast<double>(*memory.available) >= limit);
    out.value = static_cast<double>(*memory.available);
    out.unit = "bytes";
    out.limit = limit;
    out.reason = fmt::format("{} available, {} wanted",
                             core::format_binary({static_cast<uint64_t>(*memory.available)}),
                             core::format_binary({static_cast<uint64_t>(limit)}));
    return out;
}

Outcome measure_memory_free(const Check& check, const NodeView& node) {
    auto text = core::read_file(node.path("/proc/meminfo"), size_t{1} << 20);
    if (!text) return error_outcome(text.error());
    auto min = check.get<core::ByteSize>("min");
    return judge_memory(procfs::parse_meminfo(*text), min ? std::optional(min->bytes) : std::nullopt,
                        check.get<double>("min_share"));
}

}  // namespace belay::vet

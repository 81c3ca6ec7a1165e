#include "server/packed/retention.h"

#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

namespace {

core::Duration kept_for(const Retention& keep, Tier tier) {
    switch (tier) {
        case Tier::kRaw:
            return keep.raw;
        case Tier::kTenSeconds:
            return keep.ten_seconds;
        case Tier::kMinute:
            break;
    }
    return keep.minute;
}

// The oldest first, of raw rows before spans.
std::vector<const PackedFile*> in_order_of_removal(const Catalog& catalog) {
    std::vector<const PackedFile*> files;
    for (const PackedFile& file : catalog.files) files.push_back(&file);
    std::ranges::sort(files, {}, [](const PackedFile* file) {
        return std::tuple(file->tier, file->arrived_until, std::string_view(file->name));
    });
    return files;
}

std::string_view words_for(Tier tier) {
    switch (tier) {
        case Tier::kRaw:
            return "raw rows";
        case Tier::kTenSeconds:
            return "spans of 10 s";
        case Tier::kMinute:
            break;
    }
    return "spans of 60 s";
}

}  // namespace

RetentionPlan plan_retention(const Catalog& catalog, const Retention& keep, core::Time now,
                             const Held& held) {
    RetentionPlan plan;
    uint64_t bytes = catalog.bytes();
    std::set<const PackedFile*> gone;
    const auto take = [&](const PackedFile& file, RemovedFor why) {
        if (held && held(file)) {
            const bool is_told =
                std::ranges::find(plan.held, file.name, &PackedFile::name) != plan.held.end();
            if (!is_told) plan.held.push_back(file);
            return;
        }
        bytes -= file.bytes;
        gone.insert(&file);
        plan.removed.push_back({file, why});
    };
    const std::vector<const PackedFile*> files = in_order_of_removal(catalog);
    for (const PackedFile* file : files)
        if (now - file->arrived_until > kept_for(keep, file->tier)) take(*file, RemovedFor::kAge);
    if (!keep.bytes) return plan;
    for (const PackedFile* file : files)
        if (bytes > *keep.bytes && !gone.contains(file)) take(*file, RemovedFor::kRoom);
    plan.bytes_over = bytes > *keep.bytes ? bytes - *keep.bytes : 0;
    return plan;
}

std::vector<std::string> describe(const std::vector<RemovedFile>& removed) {
    struct Sum {
        uint64_t files = 0, bytes = 0;
        core::Time until = core::Time::min();
    };
    std::map<std::pair<Tier, RemovedFor>, Sum> sums;
    for (const RemovedFile& one : removed) {
        Sum& sum = sums[{one.file.tier, one.why}];
        ++sum.files;
        sum.bytes += one.file.bytes;
        sum.until = std::max(sum.until, one.file.arrived_until);
    }
    std::vector<std::string> lines;
    for (const auto& [what, sum] : sums)
        lines.push_back(fmt::format("{} of {} until {}, {}, {}", core::format_count(sum.files, "file"),
                                    words_for(what.first), core::format_time(sum.until),
                                    core::format_decimal({sum.bytes}),
                                    what.second == RemovedFor::kAge ? "for their age" : "for want of room"));
    return lines;
}

}  // namespace belay::server

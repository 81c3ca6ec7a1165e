#include "server/packed/block_runs.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

void BlockRuns::add(BlockRun run) {
    if (run.is_empty()) return;
    // All runs that it overlaps or touches become one with it. Nearly always it stands at the end.
    auto first = std::ranges::lower_bound(runs_, run.first, {}, &BlockRun::end);
    auto last = first;
    for (; last != runs_.end() && last->first <= run.end; ++last) {
        run.first = std::min(run.first, last->first);
        run.end = std::max(run.end, last->end);
    }
    if (first != last) {
        *first = run;
        runs_.erase(std::next(first), last);
        return;
    }
    runs_.insert(first, run);
    if (runs_.size() > kMaxRuns) runs_.erase(runs_.begin(), runs_.begin() + kMaxRuns / 2);
}

void BlockRuns::add(const BlockRuns& other) {
    for (const BlockRun& run : other.runs_) add(run);
}

std::vector<BlockRun> BlockRuns::missing_in(BlockRun run) const {
    std::vector<BlockRun> missing;
    auto next = std::ranges::upper_bound(runs_, run.first, {}, &BlockRun::end);
    for (; next != runs_.end() && next->first < run.end; ++next) {
        if (run.first < next->first) missing.push_back({run.first, next->first});
        run.first = next->end;
    }
    if (!run.is_empty()) missing.push_back(run);
    return missing;
}

uint64_t BlockRuns::count() const {
    uint64_t count = 0;
    for (const BlockRun& run : runs_) count += run.size();
    return count;
}

std::string to_text(const BlockRuns& runs) {
    std::string text;
    for (const BlockRun& run : runs.runs())
        fmt::format_to(std::back_inserter(text), "{}{}-{}", text.empty() ? "" : ",", run.first, run.end);
    return text;
}

Result<BlockRuns> parse_block_runs(std::string_view text) {
    const auto wrong = [&] {
        constexpr size_t kShown = 80;
        return bad_input("\"{}\" is not a list of block numbers", core::printable(text.substr(0, kShown)));
    };
    BlockRuns runs;
    if (text.empty()) return runs;
    uint64_t last = 0;
    bool is_first = true;
    for (std::string_view part : core::split(text, ',')) {
        const size_t dash = part.find('-');
        if (dash == std::string_view::npos) return wrong();
        const auto first = core::parse_number<uint64_t>(part.substr(0, dash));
        const auto end = core::parse_number<uint64_t>(part.substr(dash + 1));
        if (!first || !end || *first >= *end || (!is_first && *first <= last)) return wrong();
        runs.add({*first, *end});
        last = *end;
        is_first = false;
    }
    if (runs.runs().size() < BlockRuns::kMaxRuns && to_text(runs) != text) return wrong();
    return runs;
}

}  // namespace belay::server

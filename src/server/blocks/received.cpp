#include "server/blocks/received.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

std::vector<BlockRun> Received::missing_in(BlockRun run) const {
    std::vector<BlockRun> missing;
    auto next = std::ranges::upper_bound(runs_, run.first, {}, &BlockRun::end);
    for (; next != runs_.end() && next->first < run.end; ++next) {
        if (run.first < next->first) missing.push_back({run.first, next->first});
        run.first = next->end;
    }
    if (!run.is_empty()) missing.push_back(run);
    return missing;
}

void Received::add(BlockRun run) {
    if (run.is_empty()) return;
    // All runs that it overlaps or touches become one with it.
    auto first = std::ranges::lower_bound(runs_, run.first, {}, &BlockRun::end);
    auto last = first;
    for (; last != runs_.end() && last->first <= run.end; ++last) {
        run.first = std::min(run.first, last->first);
        run.end = std::max(run.end, last->end);
    }
    const auto at = runs_.erase(first, last);
    runs_.insert(at, run);
    while (runs_.size() > kMaxRuns) {
        runs_[1].first = runs_[0].first;
        runs_.erase(runs_.begin());
    }
}

std::vector<BlockRun> Received::gaps(uint64_t begin) const {
    std::vector<BlockRun> gaps;
    for (const BlockRun& run : runs_) {
        if (begin < run.first) gaps.push_back({begin, run.first});
        begin = std::max(begin, run.end);
    }
    return gaps;
}

std::string to_text(const Received& received) {
    std::string text;
    for (const BlockRun& run : received.runs())
        text += fmt::format("{}{}-{}", text.empty() ? "" : ",", run.first, run.end);
    return text;
}

Result<Received> parse_received(std::string_view text) {
    const auto wrong = [&] {
        constexpr size_t kShown = 80;
        return bad_input("\"{}\" is not a list of block numbers", core::printable(text.substr(0, kShown)));
    };
    Received received;
    if (text.empty()) return received;
    for (std::string_view part : core::split(text, ',')) {
        BlockRun run;
        const char* const end = part.data() + part.size();
        const auto [dash, wrong_first] = std::from_chars(part.data(), end, run.first);
        if (wrong_first != std::errc() || dash == end || *dash != '-') return wrong();
        const auto [rest, wrong_end] = std::from_chars(dash + 1, end, run.end);
        if (wrong_end != std::errc() || rest != end || run.is_empty()) return wrong();
        received.add(run);
    }
    if (to_text(received) != text) return wrong();
    return received;
}

}  // namespace belay::server

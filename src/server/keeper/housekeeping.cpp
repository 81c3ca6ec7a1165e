#include "server/keeper/housekeeping.h"

#include "server/state/job_store.h"
#include "server/state/page.h"

#include <algorithm>

namespace belay::server {

using core::Result;
using core::Time;

namespace {

constexpr core::Duration kHouseWait = std::chrono::seconds(30);

core::Deadline soon_enough() {
    return core::Deadline::after(kHouseWait);
}

}  // namespace

Result<> Housekeeping::pack(HouseRound& round) {
    for (size_t i = 0; i < options_.most_packs; ++i) {
        BELAY_TRY(packed, parts_.history->pack());
        round.is_busy = round.is_busy || packed.is_busy;
        round.packed_logs += packed.logs.size();
        round.lost_parts += packed.lost.size();
        if (packed.is_busy || packed.logs.empty()) break;
    }
    BELAY_TRY(merged, parts_.history->merge());
    round.is_busy = round.is_busy || merged.is_busy;
    round.merged_files += merged.merged.size();
    round.lost_parts += merged.lost.size();
    return {};
}

// The beginning of the earliest job whose record is not made yet; from there on raw rows are needed.
Result<Time> Housekeeping::needed_from() const {
    const Time now = parts_.clock->now();
    Time from = now;
    for (std::string after;;) {
        BELAY_TRY(jobs, list_open_jobs(*parts_.database, after, kLargestPage, soon_enough()));
        for (const Job& job : jobs)
            from = std::min(from, job.start.value_or(job.first_seen) - options_.before_job);
        if (jobs.size() < kLargestPage) break;
        after = jobs.back().key;
    }
    return std::max(from, now - options_.longest_hold);
}

Result<> Housekeeping::retain(HouseRound& round) {
    BELAY_TRY(from, needed_from());
    BELAY_TRY(retained, parts_.history->retain([from](const PackedFile& file) {
        return file.tier == Tier::kRaw && file.has_rows() && file.last_time >= from;
    }));
    round.is_busy = round.is_busy || retained.is_busy;
    round.removed = describe(retained.plan.removed);
    round.held_files = retained.plan.held.size();
    return {};
}

Result<> Housekeeping::clean(HouseRound& round) {
    const core::Duration now = parts_.clock->monotonic();
    if (has_cleaned_ && now - cleaned_ < options_.clean_interval) return {};
    BELAY_TRY(cleaned, clean_up(*parts_.database, parts_.clock->now(), options_.state, soon_enough()));
    round.cleaned = cleaned;
    cleaned_ = now;
    has_cleaned_ = true;
    return {};
}

Result<HouseRound> Housekeeping::round() {
    HouseRound round;
    BELAY_CHECK(pack(round));
    BELAY_CHECK(retain(round));
    BELAY_CHECK(clean(round));
    return round;
}

}  // namespace belay::server

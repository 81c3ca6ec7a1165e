#include "server/keeper/job_keeper.h"

#include "core/log.h"
#include "server/state/job_store.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::server {

using core::Result;
using core::Time;

namespace {

constexpr core::Duration kStateWait = std::chrono::seconds(10);
// Before what was kept last: uploads that were acknowledged then and not followed yet.
constexpr core::Duration kCatchUpSlack = std::chrono::minutes(10);
// Without anything that was kept: steps that run were told of by their agents at the latest a day ago, or are told again.
constexpr core::Duration kFirstCatchUp = std::chrono::hours(24);
// What other belayd have stored since the last look, with what was on its way then.
constexpr core::Duration kLookBack = std::chrono::minutes(2);
constexpr size_t kMostSeen = 100'000;

}  // namespace

Job job_of(const FollowedJob& followed) {
    Job job{.key = followed.key, .cluster = followed.cluster, .id = followed.id, .restart = followed.restart};
    if (followed.slurm) {
        const SlurmSaid& said = *followed.slurm;
        job.array_job = said.array_job;
        job.array_task = said.array_task;
        job.submit = said.submit;
        job.user = said.user;
        job.account = said.account;
        job.name = said.name;
        job.partition = said.partition;
        job.slurm_state = said.state;
        job.origin = JobOrigin::kSlurm;
    }
    job.start = followed.begin();
    job.is_over = followed.over_since.has_value();
    if (job.is_over) job.end = followed.end();
    job.nodes = followed.node_names();
    return job;
}

JobKeeper::JobKeeper(KeeperParts parts, KeeperOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      store_(*parts_.database),
      sources_(parts_.sources ? parts_.sources : sources_in(*parts_.intake)),
      others_(*parts_.intake, Writers::kOthers) {
    if (parts_.slurm) slurm_.emplace(*parts_.slurm);
}

JobKeeper::~JobKeeper() {
    stop();
}

core::Deadline JobKeeper::deadline() const {
    return core::Deadline::after(kStateWait);
}

void JobKeeper::saw(Accepted accepted) {
    const std::lock_guard lock(mutex_);
    // Who does not follow, or is far behind, reads it from the blocks.
    if (counts_.is_keeper && accepted.new_blocks > 0 && seen_.size() < kMostSeen)
        seen_.push_back(std::move(accepted));
}

void JobKeeper::say(std::string_view what, const core::Error& error) {
    core::log_warning("{}: {}", what, error.headline());
    const std::lock_guard lock(mutex_);
    counts_.why = fmt::format("{}: {}", what, error.headline());
}

// Whether this belayd follows now.
Result<bool> JobKeeper::hold_lease() {
    const core::Duration now = parts_.clock->monotonic();
    if (lease_ && now - renewed_ < options_.lease / 3) return true;
    if (lease_) {
        BELAY_TRY(is_ours, lease_->renew(deadline()));
        renewed_ = now;
        if (is_ours) return true;
        lease_.reset();
        follower_.reset();
    }
    BELAY_TRY(taken,
              database::Lease::take(*parts_.database, "keeper", options_.name, options_.lease, deadline()));
    lease_ = std::move(taken);
    renewed_ = now;
    return lease_.has_value();
}

Result<> JobKeeper::read_stored(BlockTail& tail, const TimeRange& range) {
    BELAY_CHECK(parts_.intake->look());
    for (const std::string& node : parts_.intake->nodes())
        BELAY_CHECK(tail.read(node, range, [&](const stream::StreamId&, std::string_view piece) -> Result<> {
            BELAY_TRY(upload, read_upload(piece));
            follower_->take(upload);
            return {};
        }));
    return {};
}

// Uploads that come from here on are seen; those before are in the blocks.
Result<> JobKeeper::take_over() {
    {
        const std::lock_guard lock(mutex_);
        counts_.is_keeper = true;
        counts_.has_caught_up = false;
        seen_.clear();
    }
    BELAY_TRY(kept, store_.load(deadline()));
    const Time now = parts_.clock->now();
    const Time from = kept.until ? *kept.until - kCatchUpSlack : now - kFirstCatchUp;
    follower_.emplace(options_.follow, *parts_.clock, std::move(kept.state));
    BlockTail all(*parts_.intake);
    BELAY_CHECK(read_stored(all, {.begin = from}));
    looked_ = parts_.clock->monotonic();
    core::log_info("follows {} jobs", follower_->jobs());
    return {};
}

void JobKeeper::take_seen() {
    std::vector<Accepted> seen;
    {
        const std::lock_guard lock(mutex_);
        seen.swap(seen_);
    }
    for (const Accepted& accepted : seen) follower_->take(accepted);
}

void JobKeeper::take_made() {
    std::vector<Made> made;
    {
        const std::lock_guard lock(mutex_);
        made.swap(made_);
    }
    for (const Made& one : made) {
        const bool is_known = one.is_there ? follower_->cut_done(one.key) : follower_->cut_failed(one.key);
        if (is_known || !one.is_there) continue;
        if (const auto erased = parts_.records->erase(one.key); !erased)
            say("erase the record of " + one.key, erased.error());
    }
}

void JobKeeper::ask_slurm() {
    const core::Duration now = parts_.clock->monotonic();
    if (!slurm_ || (has_asked_slurm_ && now - slurm_asked_ < options_.slurm_interval)) return;
    slurm_asked_ = now;
    has_asked_slurm_ = true;
    const auto polled = slurm_->poll();
    if (!polled) {
        say("ask Slurm", polled.error());
        const std::lock_guard lock(mutex_);
        ++counts_.slurm_failures;
        return;
    }
    for (const slurm::ScontrolJob& job : polled->changed)
        follower_->take(said_by_slurm(options_.cluster, job));
    if (polled->failed > 0)
        core::log_warning("Slurm did not describe {} jobs: {}", polled->failed, polled->why);
}

Result<> JobKeeper::act(const JobAction& action) {
    using Kind = JobAction::Kind;
    const Time now = parts_.clock->now();
    switch (action.kind) {
        case Kind::kKnown:
        case Kind::kChanged: {
            const Job job = job_of(action.job);
            BELAY_CHECK(put_job(*parts_.database, job, now, deadline()));
            if (job.is_over) parts_.hub->finish(job.key, nlohmann::json{{"state", job.slurm_state}}.dump());
            return {};
        }
        case Kind::kMerged: {
            BELAY_TRY(is_known, set_phase(*parts_.database, action.job.key, RecordPhase::kErased,
                                          "a part of " + action.into, now, deadline()));
            (void)is_known;
            BELAY_TRY(was_there, parts_.records->erase(action.job.key));
            (void)was_there;
            return {};
        }
        case Kind::kCut:
        case Kind::kRecut: {
            const std::lock_guard lock(mutex_);
            waiting_.push_back({action.kind, action.job});
            changed_.notify_all();
            return {};
        }
    }
    return {};
}

Result<> JobKeeper::save(bool at_once) {
    const core::Duration now = parts_.clock->monotonic();
    if (!at_once && now - saved_ < options_.save_interval) return {};
    saved_ = now;
    return store_.save(follower_->state(), parts_.clock->now(), deadline());
}

Result<> JobKeeper::round() {
    BELAY_TRY(is_keeper, hold_lease());
    if (!is_keeper) {
        const std::lock_guard lock(mutex_);
        counts_.is_keeper = counts_.has_caught_up = false;
        seen_.clear();
        waiting_.clear();
        return {};
    }
    if (!follower_) BELAY_CHECK(take_over());
    take_seen();
    take_made();
    ask_slurm();
    const core::Duration now = parts_.clock->monotonic();
    if (now - looked_ >= options_.look_interval) {
        looked_ = now;
        BELAY_CHECK(read_stored(others_, {.begin = parts_.clock->now() - kLookBack}));
    }
    // What cannot be done now is lost to this follower: it is made again, from what was kept.
    for (const JobAction& action : follower_->step())
        if (auto done = act(action); !done) {
            follower_.reset();
            const std::lock_guard lock(mutex_);
            counts_.has_caught_up = false;
            return std::unexpected(std::move(done.error()).context("follow " + action.job.key));
        }
    BELAY_CHECK(save(false));
    const std::lock_guard lock(mutex_);
    counts_.has_caught_up = true;
    counts_.jobs = follower_->jobs();
    counts_.waiting_records = waiting_.size();
    return {};
}

Result<> JobKeeper::make_record(const Making& making) {
    const std::string& key = making.job.key;
    const Time now = parts_.clock->now();
    BELAY_TRY(job, find_job(*parts_.database, key, deadline()));
    if (!job || job->phase == RecordPhase::kErased) return {};
    BELAY_TRY(is_begun, set_phase(*parts_.database, key, RecordPhase::kCutting, "", now, deadline()));
    if (!is_begun) return {};
    const JobToCut cut = to_cut(making.job);
    BELAY_CHECK(parts_.intake->look());
    const auto built = making.kind == JobAction::Kind::kRecut ? parts_.records->rebuild(sources_, key, cut)
                                                              : parts_.records->build(sources_, key, cut);
    const RecordPhase phase = built ? RecordPhase::kSealed : RecordPhase::kFailed;
    BELAY_TRY(is_there, set_phase(*parts_.database, key, phase, built ? "" : built.error().message(),
                                  parts_.clock->now(), deadline()));
    if (!built) return std::unexpected(built.error());
    // Erased while it was made.
    if (!is_there) {
        BELAY_TRY(was_there, parts_.records->erase(key));
        (void)was_there;
        return {};
    }
    BELAY_TRY(judged, parts_.records->judge(key));
    for (const JudgeRun& run : judged.runs)
        if (run.why) core::log_warning("{} of {}: {}", run.what, key, *run.why);
    return {};
}

void JobKeeper::make(const Making& making) {
    const auto made = make_record(making);
    if (!made) say("make the record of " + making.job.key, made.error());
    const std::lock_guard lock(mutex_);
    ++(made ? counts_.records_made : counts_.records_failed);
    // What no stream knows of will not come by asking again: late blocks ask for it.
    const bool is_final = made || made.error().cause() == core::Cause::kNotFound;
    made_.push_back({.key = making.job.key, .is_there = is_final});
}

bool JobKeeper::make_one() {
    std::optional<Making> making;
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) return false;
        making = std::move(waiting_.front());
        waiting_.pop_front();
    }
    make(*making);
    return true;
}

void JobKeeper::start() {
    auto rounds = [this] {
        for (;;) {
            if (const auto done = round(); !done) {
                say("follow jobs", done.error());
                const std::lock_guard lock(mutex_);
                ++counts_.failed_rounds;
            }
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, options_.round, [this] { return is_stopping_; })) return;
        }
    };
    auto making = [this] {
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
                if (is_stopping_) return;
            }
            make_one();
        }
    };
    threads_.emplace_back(rounds);
    for (size_t i = 0; i < options_.makers; ++i) threads_.emplace_back(making);
}

void JobKeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
        is_stopping_ = true;
        changed_.notify_all();
    }
    threads_.clear();
    if (!lease_) return;
    if (follower_) {
        take_seen();
        take_made();
        if (const auto saved = save(true); !saved) say("keep what is followed", saved.error());
    }
    if (const auto given = lease_->give_back(deadline()); !given) say("give the lease back", given.error());
    lease_.reset();
}

KeeperCounts JobKeeper::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

}  // namespace belay::server

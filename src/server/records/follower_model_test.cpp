// The follower beside a second model, which keeps all that was told of each job and looks through it at every step. Which job a
// row is of, the model knows from the one who made it up.
#include "server/records/follower_testing.h"
#include "server/records/job_follower.h"
#include "server/records/job_key.h"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using core::Time;

// Slurm tells what changes, and is heard by each follower.
FollowOptions options_of_play() {
    return {.slurm_silence = std::chrono::hours(100)};
}

// A job as it really was, in seconds.
struct RealJob {
    int64_t id = 0;
    int64_t restart = 0;
    int begin = 0, end = 0;
    bool is_in_slurm = false;
    std::vector<std::string> nodes;
};

// One of these happens to the follower.
struct Happening {
    int at = 0;
    std::optional<std::pair<size_t, SeenShare>> share;  // of which job
    std::optional<std::pair<size_t, SlurmSaid>> slurm;
    std::optional<NodeRows> rows;
};

class Story {
  public:
    explicit Story(uint64_t seed) : random_(seed) {
        make_jobs();
        for (const std::string& node : kNodes) make_uploads(node);
        for (size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i].is_in_slurm) make_words(i);
        std::ranges::stable_sort(happenings, {}, &Happening::at);
    }
    std::vector<RealJob> jobs;
    std::vector<Happening> happenings;
    static constexpr int kEnd = 20'000;

  private:
    static inline const std::vector<std::string> kNodes{"n1", "n2", "n3"};
    int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

    // Those of one number follow each other after more time than anything is late.
    void make_jobs() {
        for (int64_t id = 1; id <= 3; ++id)
            for (int at = below(1000); at < kEnd - 9000;) {
                RealJob job{.id = id,
                            .restart = below(2),
                            .begin = at,
                            .end = at + 20 + below(1500),
                            .is_in_slurm = below(2) == 0,
                            .nodes = {}};
                for (const std::string& node : kNodes)
                    if (job.nodes.empty() || below(2) == 0) job.nodes.push_back(node);
                at = job.end + 2500 + below(2000);
                jobs.push_back(job);
            }
    }

    // What an agent uploads every ten seconds, some of it much later, and some out of order.
    void make_uploads(const std::string& node) {
        std::map<int, std::vector<std::pair<size_t, SeenShare>>> told;  // by the second
        for (size_t i = 0; i < jobs.size(); ++i)
            if (std::ranges::find(jobs[i].nodes, node) != jobs[i].nodes.end()) make_steps(i, node, told);
        int behind = 1, until = 0;
        uint64_t block = 1;
        for (int second = 10; second <= kEnd; second += 10, ++block) {
            if (second >= until) {
                behind = below(4) == 0 ? below(400) : 1;
                until = second + below(2000);
            }
            const auto first = told.lower_bound(second - 9), last = told.upper_bound(second);
            // Without the step that is there all the time, others could be taken for several jobs.
            const bool begins = std::any_of(first, last, [](const auto& rows) {
                return std::ranges::any_of(
                    rows.second, [](const auto& row) { return row.second.step_id == "0" && !row.second.t1; });
            });
            const int delay = !begins && below(60) == 0 ? behind + below(900) : behind;
            for (auto at = first; at != last; ++at)
                for (const auto& share : at->second)
                    happenings.push_back({.at = second + delay, .share = share, .slurm = {}, .rows = {}});
            const NodeRows rows{.cluster = "alps",
                                .node = node,
                                .writer = after(0),
                                .first = after(second - 9),
                                .last = after(second),
                                .blocks = {{block, block + 1}}};
            for (int times = below(20) == 0 ? 2 : 1; times > 0; --times)
                happenings.push_back({.at = second + delay, .share = {}, .slurm = {}, .rows = rows});
        }
    }

    // On one node: one step all the time, and others in it.
    void make_steps(size_t number, const std::string& node,
                    std::map<int, std::vector<std::pair<size_t, SeenShare>>>& told) {
        const RealJob& job = jobs[number];
        const int count = 1 + below(3);
        for (int step = 0; step < count; ++step) {
            int from = job.begin, to = job.end;
            if (step > 0) from += below(to - from);
            if (step > 0) to -= below(to - from + 1);
            ToldStep row{.told = from + 1.0,
                         .t0 = static_cast<double>(from),
                         .job = job.id,
                         .node = node,
                         .step = std::to_string(step),
                         .restart = job.restart};
            told[from + 1].emplace_back(number, share(row));
            row.told = to + 2.0;
            row.t1 = to;
            told[to + 2].emplace_back(number, share(row));
        }
    }

    void make_words(size_t number) {
        const RealJob& job = jobs[number];
        const SlurmSaid said = running(job.begin - 5, job.begin, job.nodes, job.id, job.restart);
        const int first = job.begin + below(200), over = job.end + below(300);
        if (first < over)
            happenings.push_back({.at = first, .share = {}, .slurm = std::pair(number, said), .rows = {}});
        happenings.push_back(
            {.at = over, .share = {}, .slurm = std::pair(number, ended(said, job.end)), .rows = {}});
    }

    std::mt19937_64 random_;
};

// All that was told of one job, and what was asked for.
class ModelJob {
  public:
    std::vector<SeenShare> shares;
    std::optional<SlurmSaid> slurm;
    std::optional<Time> heard, over_since, first_cut, asked;
    bool is_stale = false, is_cutting = false, is_done = false;
    std::string key;

    bool is_known() const { return !shares.empty() || slurm; }

    // The row of each step on each node that was written last.
    std::map<std::pair<std::string, std::string>, SeenShare> steps() const {
        std::map<std::pair<std::string, std::string>, SeenShare> latest;
        for (const SeenShare& share : shares) {
            auto [entry, is_new] = latest.try_emplace({share.node, share.step_id}, share);
            if (!is_new &&
                (share.told > entry->second.told || (share.told == entry->second.told && share.t1)))
                entry->second = share;
        }
        return latest;
    }
    bool has_open_step() const {
        const auto latest = steps();
        return std::ranges::any_of(latest, [](const auto& step) { return !step.second.t1; });
    }
    Time begin() const {
        Time begin = slurm ? *slurm->start : Time::max();
        for (const SeenShare& share : shares) begin = std::min(begin, share.t0);
        return begin;
    }
    Time end() const {
        Time end = slurm && slurm->end ? *slurm->end : Time::min();
        for (const SeenShare& share : shares)
            if (share.t1) end = std::max(end, *share.t1);
        return end == Time::min() ? begin() : end;
    }
    std::set<std::string> nodes() const {
        std::set<std::string> names;
        if (slurm) names.insert(slurm->nodes.begin(), slurm->nodes.end());
        for (const SeenShare& share : shares) names.insert(share.node);
        return names;
    }
    // All that a record of it would depend on.
    std::string picture() const {
        std::string text = slurm ? fmt::format("{} {}", slurm->state, slurm->is_over) : "";
        for (const auto& [name, share] : steps())
            text +=
                fmt::format(" {}/{}:{}-{}@{}", name.first, name.second, core::to_nanoseconds(share.t0),
                            share.t1 ? core::to_nanoseconds(*share.t1) : 0, core::to_nanoseconds(share.told));
        return text + fmt::format(" {} {}", core::to_nanoseconds(begin()), core::to_nanoseconds(end()));
    }
    bool is_over(Time now, const FollowOptions& options) const {
        if (slurm) return slurm->is_over;
        return !shares.empty() && !has_open_step() &&
               now >= (over_since ? end() : std::max(end(), *heard)) + options.quiet;
    }
};

class Model {
  public:
    Model(const FollowOptions& options, size_t jobs) : options_(options), jobs_(jobs) {}

    void take(const Happening& happening, Time now) {
        if (happening.share) {
            ModelJob& job = jobs_[happening.share->first];
            const std::string before = job.picture();
            name(job, happening.share->second.t0, happening.share->second.job_id,
                 happening.share->second.restart);
            job.shares.push_back(happening.share->second);
            if (job.picture() != before) job.heard = now;
            if (job.asked && job.picture() != before) job.is_stale = true;
        }
        if (happening.slurm) {
            ModelJob& job = jobs_[happening.slurm->first];
            const std::string before = job.picture();
            const SlurmSaid& said = happening.slurm->second;
            name(job, said.submit, said.id, said.restart);
            job.slurm = said;
            if (job.asked && job.picture() != before) job.is_stale = true;
        }
        if (happening.rows) take(*happening.rows);
    }

    // "cut KEY", "recut KEY", sorted.
    std::vector<std::string> step(Time now) {
        std::vector<std::string> words;
        for (ModelJob& job : jobs_) {
            if (!job.is_known()) continue;
            const bool over = job.is_over(now, options_);
            if (over && !job.over_since) job.over_since = now;
            if (!over && job.over_since && job.asked) job.is_stale = true;
            if (!over) job.over_since.reset();
            if (!is_due(job, now)) continue;
            words.push_back((job.first_cut ? "recut " : "cut ") + job.key);
            job.is_cutting = true;
            job.is_stale = false;
            job.asked = now;
        }
        std::ranges::sort(words);
        return words;
    }
    void answer(bool is_done, Time now) {
        for (ModelJob& job : jobs_) {
            if (!job.is_cutting) continue;
            job.is_cutting = false;
            if (is_done && !job.first_cut) job.first_cut = now;
            if (!is_done) job.is_stale = true;
        }
    }
    const std::vector<ModelJob>& jobs() const { return jobs_; }

  private:
    static void name(ModelJob& job, Time moment, int64_t id, int64_t restart) {
        if (job.is_known()) return;
        job.key = to_text(JobKey{.cluster = "alps",
                                 .id = id,
                                 .restart = restart,
                                 .seconds = moment.time_since_epoch() / std::chrono::seconds(1)});
    }
    void take(const NodeRows& rows) {
        if (!taken_.emplace(rows.node, rows.blocks[0].first).second) return;
        arrived_[rows.node] = std::max(arrived_.try_emplace(rows.node, rows.last).first->second, rows.last);
        for (ModelJob& job : jobs_)
            if (job.is_known() && job.asked && job.nodes().contains(rows.node) && rows.first <= job.end() &&
                rows.last >= job.begin())
                job.is_stale = true;
    }
    bool is_due(const ModelJob& job, Time now) const {
        if (job.is_cutting || !job.over_since || job.shares.empty()) return false;
        if (job.asked && now - *job.asked < options_.recut_pause) return false;
        if (job.first_cut && !job.is_stale) return false;
        if (now > std::max(*job.over_since, job.first_cut.value_or(*job.over_since)) + options_.recut_within)
            return false;
        size_t missing = 0, behind = 0;
        for (const std::string& node : job.nodes()) {
            const auto at = arrived_.find(node);
            if (at == arrived_.end())
                ++missing;
            else if (at->second < job.end() + options_.beyond)
                ++behind;
        }
        if (missing + behind == 0 && !job.has_open_step()) return true;
        const core::Duration waited = now - std::max(job.end(), *job.over_since);
        return waited >= options_.longest_wait || (waited >= options_.grace && behind == 0);
    }

    FollowOptions options_;
    std::vector<ModelJob> jobs_;
    std::map<std::string, Time> arrived_;
    std::set<std::pair<std::string, uint64_t>> taken_;
};

// Plays a story to both.
class Play {
  public:
    explicit Play(uint64_t seed)
        : story_(seed), random_(seed + 1'000'000), model_(options_of_play(), story_.jobs.size()) {
        follower_.emplace(options_of_play(), clock_);
    }

    void run() {
        size_t next = 0;
        constexpr int kStep = 5;
        for (int second = 0; second <= Story::kEnd; second += kStep) {
            for (; next < story_.happenings.size() && story_.happenings[next].at <= second; ++next)
                take(story_.happenings[next]);
            const std::vector<std::string> expected = model_.step(clock_.now());
            ASSERT_EQ(acts(), expected) << "at " << second;
            if (!expected.empty()) answer();
            cuts += expected.size();
            if (random_() % 100 == 0) start_again();
            clock_.advance(seconds(kStep));
        }
        check_end();
    }
    size_t cuts = 0;

  private:
    void take(const Happening& happening) {
        model_.take(happening, clock_.now());
        if (happening.share) follower_->take(happening.share->second);
        if (happening.slurm) follower_->take(happening.slurm->second);
        if (happening.rows) {
            // What was told to the follower before this one would be news to it.
            const std::pair name(happening.rows->node, happening.rows->blocks[0].first);
            if (taken_.insert(name).second || taken_by_this_.contains(name)) {
                follower_->take(*happening.rows);
                taken_by_this_.insert(name);
            }
        }
    }
    std::vector<std::string> acts() {
        std::vector<std::string> words;
        for (const JobAction& action : follower_->step()) {
            EXPECT_NE(action.kind, JobAction::Kind::kMerged);
            if (action.kind == JobAction::Kind::kCut) words.push_back("cut " + action.job.key);
            if (action.kind == JobAction::Kind::kRecut) words.push_back("recut " + action.job.key);
        }
        std::ranges::sort(words);
        return words;
    }
    // Of all that is being cut.
    void answer() {
        const bool is_done = random_() % 5 != 0;
        model_.answer(is_done, clock_.now());
        const FollowerState state = follower_->state();
        for (const FollowedJob& job : state.jobs) {
            if (job.stage != JobStage::kCutting) continue;
            EXPECT_TRUE(is_done ? follower_->cut_done(job.key) : follower_->cut_failed(job.key));
        }
    }
    void start_again() {
        FollowerState state = follower_->state();
        follower_.emplace(options_of_play(), clock_, state);
        taken_by_this_.clear();
        EXPECT_EQ(follower_->state(), state);
    }
    // Of each job that was, there is one, with all that belongs to it, and a record that has all of it.
    void check_end() {
        ASSERT_EQ(follower_->jobs(), story_.jobs.size());
        for (size_t i = 0; i < story_.jobs.size(); ++i) {
            const RealJob& real = story_.jobs[i];
            const FollowedJob* job = follower_->find(model_.jobs()[i].key);
            ASSERT_NE(job, nullptr) << model_.jobs()[i].key;
            EXPECT_EQ(job->id, real.id);
            EXPECT_EQ(job->begin(), after(real.begin));
            EXPECT_EQ(job->end(), after(real.end));
            EXPECT_EQ(job->node_names(), real.nodes);
            EXPECT_EQ(job->slurm.has_value(), real.is_in_slurm);
            EXPECT_TRUE(job->first_cut) << job->key;
            EXPECT_FALSE(job->is_stale) << job->key;
        }
    }

    Story story_;
    std::mt19937_64 random_;
    core::ManualClock clock_{kMorning};
    Model model_;
    std::optional<JobFollower> follower_;
    std::set<std::pair<std::string, uint64_t>> taken_, taken_by_this_;
};

TEST(server_records, jobs_are_followed_as_a_second_model_does) {
    size_t cuts = 0;
    for (uint64_t seed = 0; seed < 24 && !HasFatalFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Play play(seed);
        play.run();
        cuts += play.cuts;
    }
    EXPECT_GT(cuts, 250U) << "there was something to compare";
}

}  // namespace
}  // namespace belay::server

// For tests of the follower: events in a few words.
#pragma once

#include "record/cut/cut_testing.h"
#include "server/records/job_follower.h"

#include <algorithm>
#include <string>
#include <vector>

namespace belay::server::testing {

inline const core::Time kMorning = core::time_from_nanoseconds(1'764'000'000'000'000'000);
inline core::Duration seconds(double count) {
    return core::Duration(static_cast<int64_t>(count * 1e9));
}
inline core::Time after(double count) {
    return kMorning + seconds(count);
}

// A step as an agent tells it at the second `told`.
struct ToldStep {
    double told = 0;
    double t0 = 0;
    std::optional<double> t1 = {};
    int64_t job = 7;
    std::string node = "n1";
    std::string step = "0";
    int64_t restart = 0;
    double writer = 0;  // when its agent was started
};
inline SeenShare share(const ToldStep& step) {
    SeenShare share{.cluster = "alps",
                    .node = step.node,
                    .job_id = step.job,
                    .step_id = step.step,
                    .restart = step.restart,
                    .t0 = after(step.t0),
                    .told = after(step.told),
                    .writer = after(step.writer)};
    if (step.t1) share.t1 = after(*step.t1);
    return share;
}

inline SlurmSaid running(double submit, double start, std::vector<std::string> nodes = {"n1"},
                         int64_t job = 7, int64_t restart = 0) {
    return {.cluster = "alps",
            .id = job,
            .restart = restart,
            .submit = after(submit),
            .state = "RUNNING",
            .user = "ada",
            .start = after(start),
            .nodes = std::move(nodes)};
}
inline SlurmSaid ended(SlurmSaid said, double end) {
    said.state = "COMPLETED";
    said.end = after(end);
    said.is_over = true;
    return said;
}

// A follower whose clock is moved by the test.
class Follower {
  public:
    explicit Follower(const FollowOptions& options = {}, FollowerState state = {})
        : options_(options), follower(options, clock, std::move(state)) {}

    // Moves the clock to the second.
    void at(double second) {
        if (after(second) > clock.now()) clock.advance(after(second) - clock.now());
    }
    void step_told(const ToldStep& step) { follower.take(share(step)); }
    // Rows of these seconds have come.
    void rows(double first, double last, const std::string& node = "n1", double writer = 0,
              std::vector<BlockRun> blocks = {}) {
        follower.take(NodeRows{.cluster = "alps",
                               .node = node,
                               .writer = after(writer),
                               .first = after(first),
                               .last = after(last),
                               .blocks = std::move(blocks)});
    }
    // "known alps-7-0-1764000010", "merged KEY KEY" …; the keys without their cluster and beginning.
    std::vector<std::string> acts() {
        std::vector<std::string> words;
        for (const JobAction& action : follower.step()) {
            constexpr const char* kNames[] = {"merged", "known", "changed", "cut", "recut"};
            std::string text = kNames[static_cast<size_t>(action.kind)];
            text += " " + short_key(action.job.key);
            if (!action.into.empty()) text += " into " + short_key(action.into);
            words.push_back(std::move(text));
        }
        return words;
    }
    // The acts of each second up to and with this one; changes are left out.
    std::vector<std::string> acts_until(double second) {
        std::vector<std::string> all;
        while (clock.now() < after(second)) {
            clock.advance(std::min(seconds(1), after(second) - clock.now()));
            for (std::string& act : acts())
                if (!act.starts_with("changed"))
                    all.push_back(std::to_string((clock.now() - kMorning) / std::chrono::seconds(1)) + ": " +
                                  act);
        }
        return all;
    }
    static std::string short_key(const std::string& key) {
        std::string text = key.substr(key.find('-') + 1);
        const size_t seconds = text.find("17640");
        return seconds == std::string::npos ? text : text.replace(seconds, 5, "");
    }
    std::vector<FollowedJob> jobs() const { return follower.state().jobs; }

    core::ManualClock clock{kMorning};

  private:
    FollowOptions options_;

  public:
    JobFollower follower;
};

}  // namespace belay::server::testing

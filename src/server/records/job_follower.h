// Which jobs there are, and when the record of each is to be cut: out of what agents and Slurm say, in whatever order it comes.
//
//   JobFollower follower({}, clock, std::move(state));
//   follower.take(accepted);                            // what came with an upload
//   follower.take(said_by_slurm("alps", job));          // what Slurm says
//   for (const JobAction& action : follower.step()) …   // every second or so
//   follower.cut_done(key);
//
// A job is a cluster, a number, how often it was requeued, and a time: Slurm uses numbers again. Where Slurm has said of a job when it
// was submitted, that tells it from others, and the steps that began in its time are its. Where it has not, steps of
// one number between which there is no longer pause than `quiet` are one job. So an interactive allocation that is idle for longer
// becomes several jobs there, until Slurm says that they are one.
//
// Without clocks of its own, files or threads. Not thread-safe.
#pragma once

#include "core/time.h"
#include "server/blocks/intake.h"
#include "server/records/followed_job.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::server {

struct FollowOptions {
    // A job of which Slurm says nothing is over when all its steps have ended, this long ago, and nothing was heard of it since.
    core::Duration quiet = std::chrono::seconds(60);
    // Its record is cut when rows of all its nodes have come that are this much later than its end, and the ends of its steps,
    core::Duration beyond = std::chrono::seconds(5);
    // or this long after its end, or after it was found to be over, if no node from which rows do come is behind,
    core::Duration grace = std::chrono::seconds(120);
    // or this long after that, whatever is missing.
    core::Duration longest_wait = std::chrono::minutes(15);
    // And again where something came late, not more often than this, for so long after the job was over and first cut.
    core::Duration recut_pause = std::chrono::minutes(10);
    core::Duration recut_within = std::chrono::hours(24);
    // Clocks of nodes and of Slurm, which tells whole seconds, may differ by this.
    core::Duration clock_slack = kClockSlack;
    // Slurm tells what changes. A job that ran when Slurm was last heard by an earlier follower, and of which this one has heard
    // nothing for so long after Slurm's first word, has ended when one without Slurm would have;
    core::Duration slurm_silence = std::chrono::minutes(15);
    // and so has one of which Slurm has said nothing for this long.
    core::Duration slurm_forgets = std::chrono::hours(12);
    // An agent that was started again tells the steps that it finds within this; others have ended.
    core::Duration retold_within = std::chrono::seconds(60);
    // The steps on a node from which nothing comes for so long have ended.
    core::Duration node_silence = std::chrono::hours(24);
    // For so long after the last news a job that is done is known, so that what comes late does not make another of it. Rows that
    // are older are not stored either.
    core::Duration remembered = std::chrono::days(7);
    // Beyond this many jobs, none becomes known by what an agent says alone.
    size_t most_jobs = 1'000'000;
};

// Rows of a node that were stored.
struct NodeRows {
    std::string cluster;
    std::string node;
    core::Time writer;       // when their stream began
    core::Time first, last;  // times of the rows
    // Numbers of their blocks, so that what is told again does not count as news; empty: all counts.
    std::vector<BlockRun> blocks = {};
};

// How far a node's rows have come.
struct NodeProgress {
    std::string cluster;
    std::string node;
    core::Time writer;  // when the latest of its streams began
    core::Time until;   // of the latest row
    core::Time heard;   // by belayd's clock
    bool operator==(const NodeProgress&) const = default;
};

// All that a follower knows.
struct FollowerState {
    std::vector<FollowedJob> jobs;
    std::vector<NodeProgress> nodes;
    bool operator==(const FollowerState&) const = default;
};

struct JobAction {
    enum class Kind : uint8_t {
        kMerged,  // it is a part of the job `into`: what was kept of it by its own key is to go, its record too
        kKnown,    // a new job
        kChanged,  // what is said of it, or whether it is over
        kCut,      // its record is to be cut: RecordStore::build() with to_cut(job)
        kRecut,    // likewise: rebuild()
    };
    Kind kind = Kind::kKnown;
    FollowedJob job;   // as it is now
    std::string into;  // a key
};

class JobFollower {
  public:
    // With what an earlier one knew; records that it had asked for without an answer are asked for again. The clock outlives this.
    JobFollower(const FollowOptions& options, const core::Clock& clock, FollowerState state = {});

    void take(const Accepted& accepted);
    // What is stored, whether it was taken before or not.
    void take(const Upload& upload);
    void take(const SeenShare& share);
    void take(const NodeRows& rows);
    // Jobs that have not started are not followed.
    void take(const SlurmSaid& said);
    // Slurm does not know the number now, so what had it is over.
    void slurm_forgot(const std::string& cluster, int64_t id);

    // What is to be done by now. Of a job whose record was asked for nothing more is asked before cut_done() or cut_failed().
    std::vector<JobAction> step();
    // False where the key has become none: the record is to be erased.
    bool cut_done(std::string_view key);
    // It is asked for again, as after something came late.
    bool cut_failed(std::string_view key);

    FollowerState state() const;
    // nullptr where there is none; valid until the next call.
    const FollowedJob* find(std::string_view key) const;
    size_t jobs() const { return jobs_.size(); }
    // Shares that were not believed, or came for too many jobs.
    uint64_t ignored() const { return ignored_; }

  private:
    using NodeName = std::pair<std::string, std::string>;  // cluster, node
    using JobNumber = std::pair<std::string, int64_t>;     // cluster, number
    using Jobs = std::map<std::string, FollowedJob, std::less<>>;

    FollowedJob* find_own(std::string_view key);
    void take_shares(const stream::StreamId& stream, const std::vector<StatedShare>& shares);
    bool are_new(const NodeRows& rows);
    std::vector<FollowedJob*> jobs_of(const std::string& cluster, int64_t id);
    bool is_owner(const FollowedJob& job, const SeenShare& share) const;
    std::vector<FollowedJob*> owners_of(const SeenShare& share);
    std::vector<FollowedJob*> parts_of(const SlurmSaid& said);
    void end_earlier_ones(const SlurmSaid& said);
    FollowedJob& make(const std::string& cluster, int64_t id, int64_t restart, core::Time moment);
    FollowedJob& unite(std::vector<FollowedJob*> parts);
    void index(const FollowedJob& job);
    void forget(const std::string& key);
    void note_news(FollowedJob& job);

    void close_lost_steps(FollowedJob& job, core::Time now) const;
    bool is_running_in_slurm(const FollowedJob& job, core::Time now) const;
    bool is_over(const FollowedJob& job, core::Time now) const;
    bool is_ready(const FollowedJob& job, core::Time now) const;
    bool is_due(const FollowedJob& job, core::Time now) const;
    bool is_forgotten(const FollowedJob& job, core::Time now) const;
    void look_at(FollowedJob& job, core::Time now);
    void act(FollowedJob& job, core::Time now, std::vector<JobAction>& actions) const;

    FollowOptions options_;
    const core::Clock* clock_;
    Jobs jobs_;
    std::map<JobNumber, std::set<std::string>> by_number_;
    std::map<NodeName, std::set<std::string>> by_node_;
    std::map<NodeName, NodeProgress> nodes_;
    std::map<NodeName, std::map<core::Time, Received>> taken_;  // blocks of each stream
    std::map<std::string, core::Time> slurm_began_;  // by cluster: when this follower heard of Slurm first
    std::vector<JobAction> merged_;                  // that step() has not told yet
    uint64_t made_ = 0;
    uint64_t ignored_ = 0;
};

}  // namespace belay::server

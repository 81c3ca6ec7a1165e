// Follows the jobs of a site and keeps a record of each: what agents send and Slurm says goes into a JobFollower, and what that asks
// for is done.
//
//   JobKeeper keeper({.database = &database, .intake = intake.get(), .records = &store, .hub = &hub, .slurm = slurm_sources()}, options);
//   keeper.saw(accepted);          // from any thread, for each upload
//   keeper.start();                // threads of its own; stop() or the destructor ends them
//
// Of several belayd with one database one follows, by a lease; the others take uploads and answer requests. One that takes over reads
// what came meanwhile from the blocks.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "database/database.h"
#include "database/lease.h"
#include "server/blocks/block_tail.h"
#include "server/blocks/intake.h"
#include "server/keeper/follower_store.h"
#include "server/live/hub.h"
#include "server/records/cut_blocks.h"
#include "server/records/job_follower.h"
#include "server/records/record_store.h"
#include "server/state/job.h"
#include "server/watch/slurm_watch.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace belay::server {

struct KeeperParts {
    database::Database* database = nullptr;
    Intake* intake = nullptr;
    StreamSources sources = {};  // for cuts; empty: what the intake has
    const RecordStore* records = nullptr;
    LiveHub* hub = nullptr;
    std::optional<SlurmSources> slurm = {};  // nothing: Slurm is not asked
    core::Clock* clock = &core::system_clock();
};

struct KeeperOptions {
    std::string name;     // of this belayd, for people who look at the lease
    std::string cluster;  // whose Slurm is asked
    FollowOptions follow = {};
    core::Duration round = std::chrono::seconds(1);
    core::Duration slurm_interval = std::chrono::seconds(10);
    core::Duration save_interval = std::chrono::seconds(5);
    core::Duration look_interval = std::chrono::seconds(10);  // at what other belayd have stored
    core::Duration lease = std::chrono::seconds(30);
    size_t makers = 1;  // records that are made at a time
};

// What it has done so far.
struct KeeperCounts {
    bool is_keeper = false;      // whether this belayd is the one that follows
    bool has_caught_up = false;  // and knows what came before it began to
    uint64_t jobs = 0;           // followed now
    uint64_t records_made = 0, records_failed = 0;
    uint64_t waiting_records = 0;
    uint64_t slurm_failures = 0;
    uint64_t failed_rounds = 0;
    std::string why;  // the last trouble
};

class JobKeeper {
  public:
    JobKeeper(KeeperParts parts, KeeperOptions options);
    ~JobKeeper();
    JobKeeper(const JobKeeper&) = delete;
    JobKeeper& operator=(const JobKeeper&) = delete;

    // Thread-safe, quick.
    void saw(Accepted accepted);
    void start();
    // Ends after the round and the record in hand; gives the lease back. Records that were asked for are asked for again by the next.
    void stop();
    KeeperCounts counts() const;

    // One round of what start() does again and again, for tests; records are made by make_one() then. Errors: kSystem.
    core::Result<> round();
    // Makes the record that waits longest; false where none waits.
    bool make_one();

  private:
    struct Making {
        JobAction::Kind kind = JobAction::Kind::kCut;
        FollowedJob job;
    };
    struct Made {
        std::string key;
        bool is_there = false;
    };

    core::Result<bool> hold_lease();
    core::Result<> take_over();
    core::Result<> read_stored(BlockTail& tail, const TimeRange& range);
    void take_seen();
    void take_made();
    void ask_slurm();
    core::Result<> act(const JobAction& action);
    core::Result<> save(bool at_once);
    void make(const Making& making);
    core::Result<> make_record(const Making& making);
    void say(std::string_view what, const core::Error& error);
    core::Deadline deadline() const;

    KeeperParts parts_;
    KeeperOptions options_;
    std::optional<SlurmWatch> slurm_;
    FollowerStore store_;
    StreamSources sources_;
    BlockTail others_;  // what other belayd have stored
    // Of the thread of rounds.
    std::optional<database::Lease> lease_;
    std::optional<JobFollower> follower_;
    core::Duration slurm_asked_{}, saved_{}, looked_{}, renewed_{};
    bool has_asked_slurm_ = false;

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::vector<Accepted> seen_;
    std::deque<Making> waiting_;
    std::vector<Made> made_;
    KeeperCounts counts_;
    bool is_stopping_ = false;
    std::vector<std::jthread> threads_;
};

// A followed job as belayd's state has it.
Job job_of(const FollowedJob& followed);

}  // namespace belay::server

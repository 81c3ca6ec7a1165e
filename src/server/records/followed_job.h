// What is known of a job that is followed (job_follower.h), as plain values that somebody else can keep. Pure.
#pragma once

#include "core/time.h"
#include "server/records/cut_blocks.h"
#include "slurm/scontrol.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// A row of `allocation` about a node, as an upload states it (blocks/upload.h).
struct SeenShare {
    std::string cluster;
    std::string node;
    int64_t job_id = 0;
    std::string step_id;  // empty: the batch script
    int64_t restart = 0;
    core::Time t0;
    std::optional<core::Time> t1;  // nothing while it runs
    core::Time told;               // when the row was written
    core::Time writer;             // when its stream began
};

// What Slurm says of a job. Texts and lists that are empty, and times that are missing, are not known.
struct SlurmSaid {
    std::string cluster;
    int64_t id = 0;
    int64_t restart = 0;
    core::Time submit;  // of this run
    std::string state, user, account, name, partition;
    std::optional<int64_t> array_job, array_task;
    std::optional<core::Time> start;
    std::optional<core::Time> end;  // only once it is over
    bool is_over = false;
    std::vector<std::string> nodes;
    bool operator==(const SlurmSaid&) const = default;
};

SlurmSaid said_by_slurm(std::string_view cluster, const slurm::ScontrolJob& job);
// As the accounting says it, which knows the cluster but neither user nor name.
SlurmSaid said_by_slurm(std::string_view cluster, const slurm::JobEnd& job);

// A step of the job on a node, by the row that was written last.
struct FollowedStep {
    std::string step;  // empty: the batch script
    core::Time t0;
    std::optional<core::Time> t1;
    core::Time told;
    core::Time writer;
    bool operator==(const FollowedStep&) const = default;
};

struct FollowedNode {
    // A step is forgotten where there are more: the ended one that was told first.
    static constexpr size_t kMostSteps = 1024;

    std::string node;
    core::Time first = core::Time::max();  // that any step began
    core::Time last = core::Time::min();   // that any step ended
    std::vector<FollowedStep> steps;
    core::Time forgotten = core::Time::min();  // the last row about a step that was forgotten

    bool has_open_step() const;
    // True if that was news.
    bool take(const FollowedStep& row);
    bool operator==(const FollowedNode&) const = default;
};

enum class JobStage : uint8_t {
    kOpen,     // it has no record: it runs, or not all has come
    kCutting,  // its record was asked for
    kCut,      // there is one
    kDone,     // and nothing more will be asked for
};

struct FollowedJob {
    std::string key;
    uint64_t made = 0;  // keys that were made before it
    std::string cluster;
    int64_t id = 0;
    int64_t restart = 0;
    std::optional<SlurmSaid> slurm;
    std::vector<FollowedNode> nodes;  // of which agents said that it was there, sorted
    JobStage stage = JobStage::kOpen;
    bool is_told = false;     // that it is known
    bool is_changed = false;  // since that was told
    bool is_stale = false;    // something of it came after its record was asked for
    // By belayd's clock.
    core::Time heard;                           // news of it from an agent, the last time
    core::Time slurm_heard;                     // of it from Slurm, news or not
    std::optional<core::Time> over_since = {};  // it was found to be over
    std::optional<core::Time> first_cut = {};   // the first record was there
    std::optional<core::Time> asked = {};       // the last record was asked for
    // It was over by then at the latest, since its number was used again.
    std::optional<core::Time> ended_by = {};

    bool has_shares() const { return !nodes.empty(); }
    bool has_open_step() const;
    // When it began, and when it ended, as far as that is known; of a job that runs the end of its last step that ended, if
    // any.
    core::Time begin() const;
    core::Time end() const;
    // On which it was: as Slurm says, or where agents have other names for nodes than Slurm, as they say.
    std::vector<std::string> node_names() const;
    bool operator==(const FollowedJob&) const = default;
};

// All of `other` becomes this job's, which keeps its key. At most one of the two is known to Slurm.
void merge_into(FollowedJob& job, FollowedJob other);

// What RecordStore::build() needs.
JobToCut to_cut(const FollowedJob& job);

}  // namespace belay::server

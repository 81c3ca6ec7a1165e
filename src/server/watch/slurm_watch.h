// Who runs what, as Slurm says it: looks at the queue now and then, and asks for each job that is new or has changed.
//
//   SlurmWatch watch(slurm_sources());
//   BELAY_TRY(changed, watch.poll());
//
// The list of the queue holds numbers and states only; all else is asked for job by job. Names and comments of jobs are their users',
// line breaks included, and in the list of all jobs one user's text could pass for another user's job.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "slurm/scontrol.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct QueuedJob {
    uint64_t id = 0;  // of an array's task, its own
    std::string state;
    std::string
        submit;  // as Slurm prints it: a number that comes again is another job, a job that is requeued is submitted anew
    bool operator==(const QueuedJob&) const = default;
};

// What `squeue --format=%A|%T|%V --noheader --states=all --array` prints. Errors: kSystem for a line that is not of this form.
core::Result<std::vector<QueuedJob>> parse_queue(std::string_view text);

struct SlurmSources {
    std::function<core::Result<std::vector<QueuedJob>>()> queue;
    // Errors: as slurm::query_job.
    std::function<core::Result<slurm::ScontrolJob>(uint64_t id)> job;
};
// Slurm's own commands, each within `timeout`.
SlurmSources slurm_sources(core::Duration timeout = std::chrono::seconds(20));

// ClusterName in what `scontrol show config` prints; nothing where it is not there.
std::optional<std::string> cluster_name_in(std::string_view text);
// Asks for it. Errors: kSystem, kNotFound where Slurm is missing.
core::Result<std::string> query_cluster_name(core::Duration timeout = std::chrono::seconds(20));

class SlurmWatch {
  public:
    // `most_asked`: jobs that one poll asks for; the rest waits for the next.
    explicit SlurmWatch(SlurmSources sources, size_t most_asked = 200)
        : sources_(std::move(sources)), most_asked_(most_asked) {}

    struct Polled {
        std::vector<slurm::ScontrolJob> changed;  // pending ones too
        size_t waiting = 0;                       // that were not asked for yet
        size_t failed = 0;                        // Slurm did not say; they are asked for again
        std::string why = {};                     // the first of those, for a log
    };
    // Errors: kSystem, where the queue cannot be seen: kNotFound where Slurm is missing.
    core::Result<Polled> poll();

  private:
    SlurmSources sources_;
    size_t most_asked_;
    std::map<uint64_t, QueuedJob> told_;  // as they were when they were asked for
};

}  // namespace belay::server

// How a job ended and what it had asked for: what slurmctld tells while it remembers the job (scontrol.h),
// and the accounting afterwards (sacct.h).
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::slurm {

struct MemoryRequest {
    core::ByteSize size;
    std::string_view per = {};  // "a node", "a CPU", or "" for all of it
    bool operator==(const MemoryRequest&) const = default;
};

// Nothing where it is not known, or Slurm was not told.
struct JobEnd {
    uint64_t job_id = 0;
    std::optional<uint64_t> uid = {};
    std::string state = {};  // PENDING, RUNNING, COMPLETED, …
    std::optional<uint64_t> restarts = {};
    core::Time submit = {};                // of this run: Slurm submits a job anew when it requeues it
    std::optional<core::Time> start = {};  // missing while it waits (Slurm shows a guess)
    std::optional<core::Time> end = {};    // while it runs: when its time limit is over
    std::vector<std::string> nodes = {};   // given to it; none while it waits
    std::optional<int> exit_code = {};     // of the batch script, once it is over
    std::optional<int> exit_signal = {};
    std::optional<core::Duration> time_limit = {};  // missing where there is none
    std::optional<MemoryRequest> memory = {};       // asked for
    // What only the accounting tells.
    std::optional<std::string> cluster = {};
    std::optional<uint64_t> cancelled_by = {};       // the id of a user
    std::optional<core::ByteSize> most_memory = {};  // of the task that held most, as far as Slurm sampled it
    // "0", "batch": a job goes on after a step that met its memory limit, and may end as FAILED.
    std::optional<std::string> out_of_memory_step = {};

    bool is_over() const;
};

// Memory as Slurm's commands print it, in powers of 1024 and without a unit in bytes: "100M", "1.50G",
// "4096K". Nothing for other texts.
std::optional<core::ByteSize> parse_memory(std::string_view text);

// "STATUS:SIGNAL" into exit_code and exit_signal. Errors: kSystem, naming `program`.
core::Result<> read_exit(std::string_view text, std::string_view program, JobEnd& job);

}  // namespace belay::slurm

#include "observe/job_end.h"

#include "core/units.h"

#include <algorithm>

namespace belay::observe {

namespace {

core::Duration run_time(const slurm::ScontrolJob& job) {
    return job.start && job.end ? std::max(*job.end - *job.start, core::Duration(0)) : core::Duration(0);
}

std::string what_was_exceeded(const slurm::ScontrolJob& job) {
    if (job.state == "TIMEOUT" && job.time_limit)
        return fmt::format(", its time limit is {}", core::format_duration(*job.time_limit));
    if (job.state == "OUT_OF_MEMORY" && job.memory) return fmt::format(", it had asked for {}", *job.memory);
    if (job.exit_signal.value_or(0) != 0) return fmt::format(", by signal {}", *job.exit_signal);
    if (job.exit_code.value_or(0) != 0) return fmt::format(", with exit status {}", *job.exit_code);
    return "";
}

}  // namespace

bool is_same_run(const slurm::ScontrolJob& job, const record::JobFacts& recorded) {
    if (!recorded.id || job.job_id != static_cast<uint64_t>(*recorded.id)) return false;
    if (job.restarts != static_cast<uint64_t>(recorded.restart)) return false;
    if (recorded.submit) return job.submit == *recorded.submit;
    return std::ranges::all_of(recorded.nodes, [&](const std::string& node) {
        return std::ranges::find(job.nodes, node) != job.nodes.end();
    });
}

stream::Event job_end_event(const slurm::ScontrolJob& job) {
    std::optional<int64_t> code = job.exit_code;
    if (job.exit_signal.value_or(0) != 0) code = -*job.exit_signal;
    return {.kind = "job_end",
            .severity = job.state == "COMPLETED" ? "info" : "critical",
            .source = kJobEndOwner,
            .subject = job.state,
            .code = code,
            .value = core::to_seconds(run_time(job)),
            .message = fmt::format("Slurm ended job {} after {}: {}{}", job.job_id,
                                   core::format_duration(run_time(job)), job.state, what_was_exceeded(job))};
}

}  // namespace belay::observe

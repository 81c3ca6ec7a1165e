#include "observe/job_end.h"

#include "core/units.h"
#include "slurm/sacct.h"
#include "slurm/scontrol.h"

#include <algorithm>

namespace belay::observe {

using core::Error;
using core::Result;
using slurm::JobEnd;

namespace {

constexpr std::string_view kOutOfMemory = "OUT_OF_MEMORY";

core::Duration run_time(const JobEnd& job) {
    return job.start && job.end ? std::max(*job.end - *job.start, core::Duration(0)) : core::Duration(0);
}

std::string time_limit(const JobEnd& job) {
    return job.time_limit ? fmt::format(", asked for {}", core::format_duration(*job.time_limit)) : "";
}

std::string memory(const JobEnd& job) {
    std::string text;
    if (job.memory) {
        text = fmt::format(", asked for {}", core::format_binary(job.memory->size));
        if (!job.memory->per.empty())
            text += fmt::format(" {}", job.memory->per);
        else if (job.nodes.size() > 1)
            text += fmt::format(" on {} nodes", job.nodes.size());
    }
    // Slurm samples it now and then, and processes that grow fast end between two samples.
    if (job.most_memory)
        text += fmt::format(", Slurm saw {} in use by a task", core::format_binary(*job.most_memory));
    return text;
}

std::string who_cancelled(const JobEnd& job) {
    if (!job.cancelled_by) return "";
    return fmt::format(" by user {}{}", *job.cancelled_by, job.cancelled_by == job.uid ? ", its owner" : "");
}

// A script goes on after a step that met the memory limit, and mostly fails then.
bool step_ran_out_of_memory(const JobEnd& job) {
    return job.state == "FAILED" && job.out_of_memory_step.has_value();
}

std::string exit_status(const JobEnd& job) {
    if (step_ran_out_of_memory(job))
        return fmt::format(", its step {} {}{}", *job.out_of_memory_step, kOutOfMemory, memory(job));
    if (job.exit_signal.value_or(0) != 0) return fmt::format(", by signal {}", *job.exit_signal);
    if (job.exit_code.value_or(0) != 0) return fmt::format(", with exit status {}", *job.exit_code);
    return "";
}

// What is told of an end besides its state; of the others, how the script ended.
struct EndDetail {
    std::string_view state;
    std::string (*tell)(const JobEnd&);
};
constexpr EndDetail kDetails[] = {
    {"TIMEOUT", time_limit}, {kOutOfMemory, memory}, {"CANCELLED", who_cancelled}};

std::string detail(const JobEnd& job) {
    const auto* row = std::ranges::find(kDetails, job.state, &EndDetail::state);
    std::string text = row == std::end(kDetails) ? "" : row->tell(job);
    return text.empty() ? exit_status(job) : text;
}

// The run of the job in the accounting; nothing if it is not over.
Result<std::optional<JobEnd>> accounted_end(const record::JobFacts& recorded, core::Duration timeout) {
    BELAY_TRY(runs, slurm::query_accounted_runs(static_cast<uint64_t>(*recorded.id), timeout));
    const auto run =
        std::ranges::find_if(runs, [&](const JobEnd& one) { return is_same_run(one, recorded); });
    if (run == runs.end())
        return core::system_error("Slurm's accounting does not know job {} as it was recorded", *recorded.id);
    if (!run->is_over()) return std::nullopt;
    return std::move(*run);
}

// By whom a job was cancelled, what memory it used, and how its steps ended: slurmctld does not tell.
constexpr std::string_view kAccountingKnowsMore[] = {"CANCELLED", "FAILED", kOutOfMemory};

bool accounting_knows_more(const JobEnd& job) {
    return std::ranges::find(kAccountingKnowsMore, job.state) != std::end(kAccountingKnowsMore);
}

bool is_nobody_to_ask(const Error& error) {
    return error.kind() == core::ErrorKind::kSystem && error.cause() == core::Cause::kNotFound;
}

KnownEnd with_accounting(const record::JobFacts& recorded, core::Duration timeout, JobEnd job) {
    auto accounted = accounted_end(recorded, timeout);
    if (!accounted && is_nobody_to_ask(accounted.error())) return {std::move(job)};
    if (!accounted) return {std::move(job), std::move(accounted.error())};
    if (!*accounted)
        return {std::move(job), core::system_error("the job is not over in Slurm's accounting yet").error()};
    job.cancelled_by = (*accounted)->cancelled_by;
    job.most_memory = (*accounted)->most_memory;
    job.out_of_memory_step = (*accounted)->out_of_memory_step;
    return {std::move(job)};
}

Error not_this_run(const record::JobFacts& recorded) {
    return core::system_error("slurmctld knows another job {}", *recorded.id).error();
}

}  // namespace

bool is_same_run(const JobEnd& job, const record::JobFacts& recorded) {
    if (!recorded.id || job.job_id != static_cast<uint64_t>(*recorded.id)) return false;
    if (job.cluster && !recorded.cluster.empty() && *job.cluster != recorded.cluster) return false;
    if (job.restarts && *job.restarts != static_cast<uint64_t>(recorded.restart)) return false;
    if (recorded.submit) return job.submit == *recorded.submit;
    // Slurm tells a task the start of its job since 22.05; a run in the accounting has no number of restarts.
    if (!job.restarts && recorded.start) return job.start == recorded.start;
    return std::ranges::all_of(recorded.nodes, [&](const std::string& node) {
        return std::ranges::find(job.nodes, node) != job.nodes.end();
    });
}

Result<std::optional<KnownEnd>> ask_job_end(const record::JobFacts& recorded, core::Duration timeout) {
    Result<JobEnd> known = slurm::query_job(static_cast<uint64_t>(*recorded.id), timeout);
    if (known && is_same_run(*known, recorded)) {
        if (!known->is_over()) return std::nullopt;
        if (accounting_knows_more(*known)) return with_accounting(recorded, timeout, std::move(*known));
        return KnownEnd{std::move(*known)};
    }
    Error why = known ? not_this_run(recorded) : std::move(known.error());
    if (is_nobody_to_ask(why)) return std::nullopt;
    auto accounted = accounted_end(recorded, timeout);
    if (!accounted)
        return std::unexpected(std::move(why).as(core::ErrorKind::kSystem).also(accounted.error()));
    if (!*accounted) return std::nullopt;
    return KnownEnd{std::move(**accounted)};
}

namespace {

// As grave as the rules of findings take it: who cancels a job wanted it to end.
std::string_view severity_of(std::string_view state) {
    if (state == "COMPLETED") return "info";
    return state == "CANCELLED" || state == "PREEMPTED" ? "warning" : "critical";
}

}  // namespace

stream::Event job_end_event(const JobEnd& job) {
    std::optional<int64_t> code = job.exit_code;
    if (job.exit_signal.value_or(0) != 0) code = -*job.exit_signal;
    return {.kind = "job_end",
            .severity = severity_of(job.state),
            .source = kJobEndOwner,
            .subject = step_ran_out_of_memory(job) ? std::string(kOutOfMemory) : job.state,
            .code = code,
            .value = core::to_seconds(run_time(job)),
            .message = fmt::format("Slurm ended job {}: {}{}, ran {}", job.job_id, job.state, detail(job),
                                   core::format_duration(run_time(job)))};
}

}  // namespace belay::observe

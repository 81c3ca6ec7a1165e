#include "server/watch/slurm_watch.h"

#include "core/text.h"
#include "core/utf8.h"
#include "slurm/command.h"

#include <algorithm>
#include <set>

namespace belay::server {

using core::Result;

namespace {

constexpr std::string_view kPending = "PENDING";

// Jobs that run or have run are more urgent than those that wait.
std::vector<QueuedJob> by_urgency(std::vector<QueuedJob> queue) {
    std::ranges::stable_sort(queue, {}, [](const QueuedJob& job) { return job.state == kPending; });
    return queue;
}

}  // namespace

Result<std::vector<QueuedJob>> parse_queue(std::string_view text) {
    std::vector<QueuedJob> queue;
    for (const std::string_view line : core::split(text, '\n')) {
        if (line.empty()) continue;
        const auto fields = core::split(line, '|');
        const auto id = core::parse_number<uint64_t>(core::trim(fields.front()));
        const bool is_whole = fields.size() == 3 && id && *id > 0 && !fields[1].empty() && !fields[2].empty();
        if (!is_whole)
            return core::system_error("squeue printed a line that is not of a job: \"{}\"",
                                      core::printable(line));
        queue.push_back({.id = *id, .state = std::string(fields[1]), .submit = std::string(fields[2])});
    }
    return queue;
}

SlurmSources slurm_sources(core::Duration timeout) {
    return {.queue = [timeout]() -> Result<std::vector<QueuedJob>> {
                BELAY_TRY(output, slurm::run_slurm_command({"squeue", "--format=%A|%T|%V", "--noheader",
                                                            "--states=all", "--array"},
                                                           timeout));
                if (!output.status.success()) return slurm::failed_command("squeue", output);
                return parse_queue(output.out);
            },
            .job = [timeout](uint64_t id) { return slurm::query_job(id, timeout); }};
}

std::optional<std::string> cluster_name_in(std::string_view text) {
    for (const std::string_view line : core::split(text, '\n')) {
        const size_t sign = line.find('=');
        if (sign == std::string_view::npos || core::trim(line.substr(0, sign)) != "ClusterName") continue;
        const std::string_view name = core::trim(line.substr(sign + 1));
        if (!name.empty()) return std::string(name);
    }
    return std::nullopt;
}

Result<std::string> query_cluster_name(core::Duration timeout) {
    BELAY_TRY(output, slurm::run_slurm_command({"scontrol", "show", "config"}, timeout));
    if (!output.status.success()) return slurm::failed_command("scontrol show config", output);
    auto name = cluster_name_in(output.out);
    if (!name) return core::system_error("scontrol show config says no ClusterName");
    return std::move(*name);
}

Result<SlurmWatch::Polled> SlurmWatch::poll() {
    BELAY_TRY(queue, sources_.queue());
    std::set<uint64_t> seen;
    Polled polled;
    for (QueuedJob& queued : by_urgency(std::move(queue))) {
        seen.insert(queued.id);
        const auto told = told_.find(queued.id);
        if (told != told_.end() && told->second == queued) continue;
        if (polled.changed.size() + polled.failed >= most_asked_) {
            ++polled.waiting;
            continue;
        }
        auto job = sources_.job(queued.id);
        if (job) {
            polled.changed.push_back(std::move(*job));
            told_[queued.id] = std::move(queued);
        } else if (job.error().cause() !=
                   core::Cause::kNotFound) {  // that it has forgotten since is no failure
            ++polled.failed;
            if (polled.why.empty()) polled.why = job.error().headline();
        }
    }
    std::erase_if(told_, [&](const auto& entry) { return !seen.contains(entry.first); });
    return polled;
}

}  // namespace belay::server

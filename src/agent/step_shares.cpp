#include "agent/step_shares.h"

#include "gpu/held.h"
#include "slurm/node_share.h"

#include <algorithm>
#include <optional>

namespace belay::agent {

using observe::StepShare;
using observe::collect::StepOnNode;

namespace {

// A task has its environment some milliseconds after it was started; one that clears it never shows it.
constexpr int kLooksForEnvironment = 3;

bool names_gpus(const core::Environment& environment) {
    return environment.contains("SLURM_STEP_GPUS") || environment.contains("SLURM_JOB_GPUS") ||
           environment.contains("CUDA_VISIBLE_DEVICES");
}

StepShare share_of(const StepOnNode& step, core::Time now) {
    StepShare share{.job_id = step.name.job_id,
                    .step_id = step_column(step.name),
                    .from = std::min(step.started.value_or(now), now)};
    if (!step.environment) return share;
    const slurm::NodeShare said = slurm::read_node_share(*step.environment);
    share.restart = said.restart.value_or(0);
    share.cpus = said.cpus;
    share.tasks = said.tasks;
    share.first_task = said.first_task;
    return share;
}

}  // namespace

void StepShares::look(core::Time now, std::span<const StepOnNode> steps, stream::Batch& rows) {
    for (const StepOnNode& step : steps) {
        if (step.name.step == "extern") continue;
        const bool is_alone = std::ranges::all_of(
            steps, [&](const StepOnNode& other) { return other.name.job_id == step.name.job_id; });
        see(open_[{step.daemon, step.start_ticks}], step, is_alone, now, rows);
    }
    for (auto it = open_.begin(); it != open_.end();) {
        const bool has_ended = it->second.seen != now;
        if (has_ended) close(it->second, now, rows);
        it = has_ended ? open_.erase(it) : std::next(it);
    }
}

void StepShares::see(Open& open, const StepOnNode& step, bool is_alone, core::Time now, stream::Batch& rows) {
    open.seen = now;
    if (!open.is_told) {
        const core::Time from = open.looks == 0 ? share_of(step, now).from : open.share.from;
        open.share = share_of(step, now);
        open.share.from = from;
        if (!step.environment && !step.is_hidden && ++open.looks < kLooksForEnvironment) return;
        open.environment = step.environment.value_or(core::Environment());
        open.is_told = true;
        open.is_alone = is_alone;
        tell(open, now, std::nullopt, std::nullopt, rows);
    }
    tell_devices(open, now, rows);
}

// Of a step of whose environment nothing is known, it is not known what it holds either.
void StepShares::tell_devices(Open& open, core::Time now, stream::Batch& rows) {
    if (open.environment.empty() || (!open.is_alone && !names_gpus(open.environment))) return;
    for (size_t held : gpu::held_devices(devices_, open.environment)) {
        const std::string& device = devices_[held].uuid;
        if (std::ranges::find(open.devices, device) != open.devices.end()) continue;
        open.devices.push_back(device);
        tell(open, now, device, std::nullopt, rows);
    }
}

void StepShares::tell(const Open& open, core::Time now, const std::optional<std::string>& device,
                      std::optional<core::Time> until, stream::Batch& rows) const {
    observe::add_allocation(rows, now, node_, open.share, device, until);
}

void StepShares::tell_open(core::Time now, stream::Batch& rows) const {
    for (const auto& [key, open] : open_) {
        if (!open.is_told) continue;
        tell(open, now, std::nullopt, std::nullopt, rows);
        for (const std::string& device : open.devices) tell(open, now, device, std::nullopt, rows);
    }
}

void StepShares::close(Open& open, core::Time now, stream::Batch& rows) {
    const core::Time end = std::max(open.share.from, open.seen + (now - open.seen) / 2);
    tell(open, now, std::nullopt, end, rows);
    for (const std::string& device : open.devices) tell(open, now, device, end, rows);
}

}  // namespace belay::agent

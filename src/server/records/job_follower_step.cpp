// What JobFollower::step() finds to do.
#include "server/records/job_follower.h"

#include <algorithm>

namespace belay::server {

using core::Time;

// Steps whose end nobody will tell: an agent that was started again does not find them, or the node is gone. A row that is told
// later counts all the same.
void JobFollower::close_lost_steps(FollowedJob& job, Time now) const {
    for (FollowedNode& node : job.nodes) {
        const auto progress = nodes_.find(NodeName{job.cluster, node.node});
        for (FollowedStep& step : node.steps) {
            if (step.t1) continue;
            if (progress == nodes_.end()) {
                if (now - job.heard >= options_.node_silence) step.t1 = std::max(step.t0, step.told);
            } else {
                const NodeProgress& come = progress->second;
                if (come.writer > step.writer && come.until >= come.writer + options_.retold_within)
                    step.t1 = std::max({step.t0, step.told, come.writer});
                else if (now - come.heard >= options_.node_silence)
                    step.t1 = std::max({step.t0, step.told, come.until});
            }
            if (step.t1) node.last = std::max(node.last, *step.t1);
        }
    }
}

// As far as that can still be believed.
bool JobFollower::is_running_in_slurm(const FollowedJob& job, Time now) const {
    if (!job.slurm || job.slurm->is_over || now - job.slurm_heard >= options_.slurm_forgets) return false;
    const auto began = slurm_began_.find(job.cluster);
    return began == slurm_began_.end() || job.slurm_heard >= began->second ||
           now < began->second + options_.slurm_silence;
}

bool JobFollower::is_over(const FollowedJob& job, Time now) const {
    if (job.ended_by || (job.slurm && job.slurm->is_over)) return true;
    if (is_running_in_slurm(job, now)) return false;
    if (!job.has_shares() || job.has_open_step()) return false;
    // What comes late of a job that is over does not make it run again.
    return now >= (job.over_since ? job.end() : std::max(job.end(), job.heard)) + options_.quiet;
}

bool JobFollower::is_ready(const FollowedJob& job, Time now) const {
    const Time wanted = job.end() + options_.beyond;
    bool is_missing = false, is_behind = false;
    for (const std::string& name : job.node_names()) {
        const auto progress = nodes_.find(NodeName{job.cluster, name});
        is_missing |= progress == nodes_.end();
        is_behind |= progress != nodes_.end() && progress->second.until < wanted;
    }
    if (!is_missing && !is_behind && !job.has_open_step()) return true;
    const core::Duration waited = now - std::max(job.end(), *job.over_since);
    return waited >= options_.longest_wait || (waited >= options_.grace && !is_behind);
}

bool JobFollower::is_due(const FollowedJob& job, Time now) const {
    const bool is_asked = job.stage == JobStage::kCutting || job.stage == JobStage::kDone;
    if (is_asked || !job.over_since || !job.has_shares()) return false;
    if (job.asked && now < *job.asked + options_.recut_pause) return false;
    if (job.first_cut && !job.is_stale) return false;
    return is_ready(job, now);
}

bool JobFollower::is_forgotten(const FollowedJob& job, Time now) const {
    const Time news = std::max(
        {job.heard, job.slurm_heard, job.over_since.value_or(job.heard), job.asked.value_or(job.heard)});
    return (job.stage == JobStage::kDone || !job.has_shares()) && now > news + options_.remembered;
}

void JobFollower::look_at(FollowedJob& job, Time now) {
    close_lost_steps(job, now);
    const bool over = is_over(job, now);
    if (over != job.over_since.has_value()) {
        job.is_changed = true;
        // One that goes on is cut again at its end.
        if (!over) note_news(job);
        if (job.stage == JobStage::kDone) job.stage = job.first_cut ? JobStage::kCut : JobStage::kOpen;
        job.over_since = over ? std::optional(now) : std::nullopt;
    }
    if (job.stage == JobStage::kCutting || !job.over_since) return;
    if (now > std::max(*job.over_since, job.first_cut.value_or(*job.over_since)) + options_.recut_within)
        job.stage = JobStage::kDone;
}

void JobFollower::act(FollowedJob& job, Time now, std::vector<JobAction>& actions) const {
    using Kind = JobAction::Kind;
    if (!job.is_told || job.is_changed) {
        const Kind kind = job.is_told ? Kind::kChanged : Kind::kKnown;
        job.is_told = true;
        job.is_changed = false;
        actions.push_back({.kind = kind, .job = job, .into = {}});
    }
    if (!is_due(job, now)) return;
    job.stage = JobStage::kCutting;
    job.is_stale = false;
    job.asked = now;
    actions.push_back({.kind = job.first_cut ? Kind::kRecut : Kind::kCut, .job = job, .into = {}});
}

std::vector<JobAction> JobFollower::step() {
    const Time now = clock_->now();
    std::vector<JobAction> actions = std::exchange(merged_, {});
    std::vector<std::string> forgotten;
    for (auto& [key, job] : jobs_) {
        if (is_forgotten(job, now)) {
            forgotten.push_back(key);
            continue;
        }
        look_at(job, now);
        act(job, now, actions);
    }
    for (const std::string& key : forgotten) forget(key);
    return actions;
}

}  // namespace belay::server

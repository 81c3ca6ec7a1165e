#include "server/records/followed_job.h"

#include <algorithm>
#include <set>
#include <utility>

namespace belay::server {

using core::Time;

namespace {

std::optional<int64_t> signed_number(const std::optional<uint64_t>& number) {
    return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

std::vector<FollowedNode>::iterator place_of(std::vector<FollowedNode>& nodes, const std::string& name) {
    return std::ranges::lower_bound(nodes, name, {}, &FollowedNode::node);
}

template <typename Value>
void take_later(std::optional<Value>& value, const std::optional<Value>& other) {
    if (other) value = std::max(value.value_or(*other), *other);
}

}  // namespace

SlurmSaid said_by_slurm(std::string_view cluster, const slurm::JobEnd& job) {
    SlurmSaid said{.cluster = job.cluster.value_or(std::string(cluster)),
                   .id = static_cast<int64_t>(job.job_id),
                   .restart = static_cast<int64_t>(job.restarts.value_or(0)),
                   .submit = job.submit,
                   .state = job.state,
                   .start = job.start,
                   .is_over = job.is_over(),
                   .nodes = job.nodes};
    if (said.is_over) said.end = job.end;  // before that it is when the time limit is over
    return said;
}

SlurmSaid said_by_slurm(std::string_view cluster, const slurm::ScontrolJob& job) {
    SlurmSaid said = said_by_slurm(cluster, static_cast<const slurm::JobEnd&>(job));
    said.user = job.user;
    said.account = job.account.value_or("");
    said.name = job.name;
    said.partition = job.partition.value_or("");
    said.array_job = signed_number(job.array_job_id);
    said.array_task = signed_number(job.array_task);
    return said;
}

bool FollowedNode::has_open_step() const {
    return std::ranges::any_of(steps, [](const FollowedStep& step) { return !step.t1; });
}

bool FollowedNode::take(const FollowedStep& row) {
    const Time first_before = first, last_before = last;
    first = std::min(first, row.t0);
    if (row.t1) last = std::max(last, *row.t1);
    const bool is_wider = first != first_before || last != last_before;
    const auto known = std::ranges::find(steps, row.step, &FollowedStep::step);
    if (known != steps.end()) {
        // Of two rows that were written at once the one with an end is the later.
        const bool is_later = row.told > known->told || (row.told == known->told && row.t1 && !known->t1);
        const Time t0 = std::min(known->t0, row.t0);
        if (is_later) *known = row;
        known->t0 = t0;
        return is_later || is_wider;
    }
    if (!row.t1 && row.told <= forgotten) return is_wider;
    if (steps.size() >= kMostSteps) {
        auto oldest = steps.end();
        for (auto step = steps.begin(); step != steps.end(); ++step)
            if (step->t1 && (oldest == steps.end() || step->told < oldest->told)) oldest = step;
        if (oldest == steps.end()) return is_wider;
        forgotten = std::max(forgotten, oldest->told);
        steps.erase(oldest);
    }
    steps.push_back(row);
    return true;
}

bool FollowedJob::has_open_step() const {
    return std::ranges::any_of(nodes, &FollowedNode::has_open_step);
}

Time FollowedJob::begin() const {
    Time begin = slurm && slurm->start ? *slurm->start : Time::max();
    for (const FollowedNode& node : nodes) begin = std::min(begin, node.first);
    return begin;
}

Time FollowedJob::end() const {
    Time end = Time::min();
    if (slurm && slurm->is_over && slurm->end) end = *slurm->end;
    for (const FollowedNode& node : nodes) end = std::max(end, node.last);
    if (ended_by && (has_open_step() || end == Time::min())) end = std::max(end, *ended_by);
    return end == Time::min() ? begin() : end;
}

std::vector<std::string> FollowedJob::node_names() const {
    std::vector<std::string> seen;
    for (const FollowedNode& node : nodes) seen.push_back(node.node);
    if (!slurm || slurm->nodes.empty()) return seen;
    const std::set<std::string> known(slurm->nodes.begin(), slurm->nodes.end());
    const bool has_same_names = seen.empty() || std::ranges::any_of(seen, [&](const std::string& name) {
                                    return known.contains(name);
                                });
    return has_same_names ? slurm->nodes : seen;
}

void merge_into(FollowedJob& job, FollowedJob other) {
    for (FollowedNode& node : other.nodes) {
        const auto place = place_of(job.nodes, node.node);
        if (place == job.nodes.end() || place->node != node.node) {
            job.nodes.insert(place, std::move(node));
            continue;
        }
        for (const FollowedStep& step : node.steps) place->take(step);
        place->first = std::min(place->first, node.first);
        place->last = std::max(place->last, node.last);
        place->forgotten = std::max(place->forgotten, node.forgotten);
    }
    if (other.slurm) job.slurm = std::move(other.slurm);
    job.heard = std::max(job.heard, other.heard);
    job.slurm_heard = std::max(job.slurm_heard, other.slurm_heard);
    take_later(job.ended_by, other.ended_by);
    take_later(job.asked, other.asked);
    job.over_since.reset();
    job.is_changed = true;
    job.is_stale = true;
}

JobToCut to_cut(const FollowedJob& job) {
    JobToCut cut{.cluster = job.cluster,
                 .id = job.id,
                 .restart = job.restart,
                 .nodes = job.node_names(),
                 .range = {job.begin(), job.end()},
                 .is_over = job.over_since.has_value(),
                 .told = {}};
    if (!job.slurm) return cut;
    const SlurmSaid& said = *job.slurm;
    // A task of an array has a number of its own, by which agents know it; people know it by the array's.
    cut.told = {.cluster = job.cluster,
                .id = said.array_task ? said.array_job.value_or(job.id) : job.id,
                .array_task = said.array_task,
                .restart = job.restart,
                .submit = said.submit,
                .account = said.account,
                .name = said.name,
                .user = said.user,
                .nodes = said.nodes,
                .start = said.start,
                .end = said.end};
    return cut;
}

}  // namespace belay::server

#include "server/records/job_follower.h"

#include "server/records/job_key.h"

#include <algorithm>

namespace belay::server {

using core::Time;

namespace {

// Fields that are not known do not take the place of those that are. Whether anything was news.
bool update(SlurmSaid& known, const SlurmSaid& said) {
    const SlurmSaid before = known;
    for (std::string SlurmSaid::* field :
         {&SlurmSaid::state, &SlurmSaid::user, &SlurmSaid::account, &SlurmSaid::name, &SlurmSaid::partition})
        if (!(said.*field).empty()) known.*field = said.*field;
    for (std::optional<int64_t> SlurmSaid::* field : {&SlurmSaid::array_job, &SlurmSaid::array_task})
        if (said.*field) known.*field = said.*field;
    for (std::optional<Time> SlurmSaid::* field : {&SlurmSaid::start, &SlurmSaid::end})
        if (said.*field) known.*field = said.*field;
    if (!said.nodes.empty()) known.nodes = said.nodes;
    known.is_over |= said.is_over;
    return known != before;
}

}  // namespace

JobFollower::JobFollower(const FollowOptions& options, const core::Clock& clock, FollowerState state)
    : options_(options), clock_(&clock) {
    for (NodeProgress& node : state.nodes)
        nodes_.insert_or_assign(NodeName{node.cluster, node.node}, std::move(node));
    for (FollowedJob& job : state.jobs) {
        if (job.stage == JobStage::kCutting) {
            job.stage = job.first_cut ? JobStage::kCut : JobStage::kOpen;
            job.is_stale = true;
            job.asked.reset();
        }
        made_ = std::max(made_, job.made + 1);
        const std::string key = job.key;
        index(jobs_.insert_or_assign(key, std::move(job)).first->second);
    }
}

FollowerState JobFollower::state() const {
    FollowerState state;
    for (const auto& [key, job] : jobs_) state.jobs.push_back(job);
    for (const auto& [name, node] : nodes_) state.nodes.push_back(node);
    return state;
}

const FollowedJob* JobFollower::find(std::string_view key) const {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : &found->second;
}

FollowedJob* JobFollower::find_own(std::string_view key) {
    const auto found = jobs_.find(key);
    return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<FollowedJob*> JobFollower::jobs_of(const std::string& cluster, int64_t id) {
    std::vector<FollowedJob*> jobs;
    const auto found = by_number_.find({cluster, id});
    if (found == by_number_.end()) return jobs;
    for (const std::string& key : found->second) jobs.push_back(find_own(key));
    return jobs;
}

void JobFollower::index(const FollowedJob& job) {
    by_number_[{job.cluster, job.id}].insert(job.key);
    for (const FollowedNode& node : job.nodes) by_node_[{job.cluster, node.node}].insert(job.key);
    if (job.slurm)
        for (const std::string& node : job.slurm->nodes) by_node_[{job.cluster, node}].insert(job.key);
}

void JobFollower::forget(const std::string& key) {
    const auto found = jobs_.find(key);
    const FollowedJob& job = found->second;
    auto drop = [&](auto& index, const auto& name) {
        const auto entry = index.find(name);
        if (entry == index.end()) return;
        entry->second.erase(key);
        if (entry->second.empty()) index.erase(entry);
    };
    drop(by_number_, JobNumber{job.cluster, job.id});
    for (const FollowedNode& node : job.nodes) drop(by_node_, NodeName{job.cluster, node.node});
    if (job.slurm)
        for (const std::string& node : job.slurm->nodes) drop(by_node_, NodeName{job.cluster, node});
    jobs_.erase(found);
}

FollowedJob& JobFollower::make(const std::string& cluster, int64_t id, int64_t restart, Time moment) {
    JobKey key{.cluster = cluster_in_key(cluster),
               .id = id,
               .restart = restart,
               .seconds = std::chrono::floor<std::chrono::seconds>(moment.time_since_epoch()).count()};
    while (jobs_.contains(to_text(key))) ++key.number;
    FollowedJob job{.key = to_text(key), .made = made_++, .cluster = cluster, .id = id, .restart = restart};
    const std::string text = job.key;
    return jobs_.emplace(text, std::move(job)).first->second;
}

// The one whose key was made first.
FollowedJob& JobFollower::unite(std::vector<FollowedJob*> parts) {
    std::ranges::sort(parts, {}, [](const FollowedJob* job) { return job->made; });
    FollowedJob& job = *parts.front();
    for (FollowedJob* part : parts) {
        if (part == &job) continue;
        FollowedJob other = *part;
        forget(other.key);
        if (other.is_told)
            merged_.push_back({.kind = JobAction::Kind::kMerged, .job = other, .into = job.key});
        merge_into(job, std::move(other));
    }
    if (parts.size() > 1) index(job);
    return job;
}

// Of a job whose record was asked for.
void JobFollower::note_news(FollowedJob& job) {
    if (job.asked) job.is_stale = true;
}

void JobFollower::take_shares(const stream::StreamId& stream, const std::vector<StatedShare>& shares) {
    for (const StatedShare& share : shares)
        take(SeenShare{.cluster = stream.cluster,
                       .node = stream.node,
                       .job_id = share.job_id,
                       .step_id = share.step_id,
                       .restart = share.restart,
                       .t0 = share.t0,
                       .t1 = share.t1,
                       .told = share.told,
                       .writer = stream.began});
}

void JobFollower::take(const Accepted& accepted) {
    const stream::StreamId& stream = accepted.stream;
    take_shares(stream, accepted.shares);
    if (accepted.first_time && accepted.last_time)
        take(NodeRows{.cluster = stream.cluster,
                      .node = stream.node,
                      .writer = stream.began,
                      .first = *accepted.first_time,
                      .last = *accepted.last_time,
                      .blocks = accepted.new_runs});
}

void JobFollower::take(const Upload& upload) {
    const stream::StreamId stream = upload.session.stream();
    take_shares(stream, upload.shares);
    for (const UploadedBlock& block : upload.blocks)
        if (block.first_time && block.last_time)
            take(NodeRows{.cluster = stream.cluster,
                          .node = stream.node,
                          .writer = stream.began,
                          .first = *block.first_time,
                          .last = *block.last_time,
                          .blocks = {{block.number, block.number + 1}}});
}

bool JobFollower::is_owner(const FollowedJob& job, const SeenShare& share) const {
    if (job.restart != share.restart) return false;
    if (job.slurm) {
        const bool is_open = !job.slurm->is_over && !job.ended_by && job.stage != JobStage::kDone;
        const core::Duration slack = options_.clock_slack;
        return share.t0 >= *job.slurm->start - slack && (is_open || share.t0 <= job.end() + slack);
    }
    const bool is_open = job.has_open_step() && !job.ended_by;
    // Of a step that runs it is known that it did when that was told.
    const Time until = share.t1.value_or(std::max(share.t0, share.told));
    return until >= job.begin() - options_.quiet && (is_open || share.t0 <= job.end() + options_.quiet);
}

// Of those that Slurm knows it is one at most: that which began last before the step did.
std::vector<FollowedJob*> JobFollower::owners_of(const SeenShare& share) {
    std::vector<FollowedJob*> owners = jobs_of(share.cluster, share.job_id);
    std::erase_if(owners, [&](const FollowedJob* job) { return !is_owner(*job, share); });
    const FollowedJob* known = nullptr;
    for (const FollowedJob* job : owners)
        if (job->slurm && (known == nullptr || *job->slurm->start > *known->slurm->start)) known = job;
    std::erase_if(owners, [&](const FollowedJob* job) { return job->slurm && job != known; });
    return owners;
}

void JobFollower::take(const SeenShare& share) {
    const Time now = clock_->now();
    constexpr core::Duration kDay = std::chrono::hours(24);
    const bool is_possible = share.job_id > 0 && share.restart >= 0 && record::is_possible(share.t0) &&
                             record::is_possible(share.told) && (!share.t1 || *share.t1 >= share.t0);
    if (!is_possible || share.told > now + kDay || share.told < now - options_.remembered) {
        ++ignored_;
        return;
    }
    std::vector<FollowedJob*> owners = owners_of(share);
    if (owners.empty() && jobs_.size() >= options_.most_jobs) {
        ++ignored_;
        return;
    }
    const bool is_new = owners.empty();
    FollowedJob& job =
        is_new ? make(share.cluster, share.job_id, share.restart, share.t0) : unite(std::move(owners));
    const Time begin = job.begin();
    auto place = std::ranges::lower_bound(job.nodes, share.node, {}, &FollowedNode::node);
    const bool is_new_node = place == job.nodes.end() || place->node != share.node;
    if (is_new_node) place = job.nodes.insert(place, FollowedNode{.node = share.node, .steps = {}});
    const bool is_news = place->take(
        {.step = share.step_id, .t0 = share.t0, .t1 = share.t1, .told = share.told, .writer = share.writer});
    if (is_news) job.heard = std::max(job.heard, now);
    job.is_changed |= is_new_node || job.begin() != begin;
    if (is_news) note_news(job);
    if (is_new_node) index(job);
}

// From now on they are not.
bool JobFollower::are_new(const NodeRows& rows) {
    if (rows.blocks.empty()) return true;
    constexpr size_t kMostStreams = 64;  // of a node, that are told apart
    std::map<Time, Received>& streams = taken_[NodeName{rows.cluster, rows.node}];
    Received& taken = streams[rows.writer];
    if (streams.size() > kMostStreams && streams.begin()->first != rows.writer)
        streams.erase(streams.begin());
    bool any = false;
    for (const BlockRun& run : rows.blocks) {
        any |= !taken.missing_in(run).empty();
        taken.add(run);
    }
    return any;
}

void JobFollower::take(const NodeRows& rows) {
    const Time now = clock_->now();
    const Time last = std::min(rows.last, now + options_.clock_slack);  // a clock may be wrong
    auto [entry, is_new] = nodes_.try_emplace(
        NodeName{rows.cluster, rows.node},
        NodeProgress{
            .cluster = rows.cluster, .node = rows.node, .writer = rows.writer, .until = last, .heard = now});
    NodeProgress& node = entry->second;
    node.writer = std::max(node.writer, rows.writer);
    node.until = std::max(node.until, last);
    if (!are_new(rows)) return;
    node.heard = now;
    const auto there = by_node_.find(NodeName{rows.cluster, rows.node});
    if (there == by_node_.end()) return;
    for (const std::string& key : there->second) {
        FollowedJob& job = *find_own(key);
        if (job.asked && rows.first <= job.end() && rows.last >= job.begin()) note_news(job);
    }
}

// Jobs of agents alone that began in the time of the one that Slurm speaks of.
std::vector<FollowedJob*> JobFollower::parts_of(const SlurmSaid& said) {
    std::vector<FollowedJob*> parts = jobs_of(said.cluster, said.id);
    const core::Duration slack = options_.clock_slack;
    std::erase_if(parts, [&](const FollowedJob* job) {
        if (job->restart != said.restart) return true;
        if (job->slurm) return job->slurm->submit != said.submit;
        const std::optional<Time> end = said.is_over ? said.end : std::nullopt;
        return !said.start || job->begin() < *said.start - slack || (end && job->begin() > *end + slack);
    });
    return parts;
}

// A job that is requeued is another run, which is submitted anew: of the one before Slurm says nothing from then on, nor of
// another that had the number.
void JobFollower::end_earlier_ones(const SlurmSaid& said) {
    for (FollowedJob* job : jobs_of(said.cluster, said.id)) {
        const bool is_itself =
            job->restart == said.restart && job->slurm && job->slurm->submit == said.submit;
        const bool is_over = job->over_since || job->ended_by || (job->slurm && job->slurm->is_over);
        if (is_itself || is_over || job->restart > said.restart) continue;
        const Time begin = job->slurm ? job->slurm->submit : job->begin() + options_.clock_slack;
        if (begin >= said.submit) continue;
        job->ended_by = said.submit;
        note_news(*job);
    }
}

void JobFollower::take(const SlurmSaid& said) {
    if (said.id <= 0 || said.restart < 0 || !record::is_possible(said.submit)) return;
    if (said.start && !record::is_possible(*said.start)) return;
    const Time now = clock_->now();
    slurm_began_.try_emplace(said.cluster, now);
    end_earlier_ones(said);
    std::vector<FollowedJob*> parts = parts_of(said);
    if (parts.empty() && !said.start) return;
    FollowedJob& job =
        parts.empty() ? make(said.cluster, said.id, said.restart, said.submit) : unite(std::move(parts));
    bool is_news = !job.slurm;
    if (!job.slurm) job.slurm = said;
    is_news |= update(*job.slurm, said);
    if (job.slurm->is_over && !job.slurm->end && !job.ended_by) job.ended_by = now;
    job.slurm_heard = now;
    job.is_changed |= is_news;
    if (is_news) note_news(job);
    index(job);
}

void JobFollower::slurm_forgot(const std::string& cluster, int64_t id) {
    for (FollowedJob* job : jobs_of(cluster, id)) {
        if (!job->slurm || job->slurm->is_over || job->ended_by || job->over_since) continue;
        job->ended_by = clock_->now();
        note_news(*job);
    }
}

bool JobFollower::cut_done(std::string_view key) {
    FollowedJob* job = find_own(key);
    if (job == nullptr) return false;
    if (job->stage != JobStage::kCutting) return true;
    job->stage = JobStage::kCut;
    if (!job->first_cut) job->first_cut = clock_->now();
    return true;
}

bool JobFollower::cut_failed(std::string_view key) {
    FollowedJob* job = find_own(key);
    if (job == nullptr) return false;
    if (job->stage != JobStage::kCutting) return true;
    job->stage = job->first_cut ? JobStage::kCut : JobStage::kOpen;
    job->is_stale = true;
    return true;
}

}  // namespace belay::server

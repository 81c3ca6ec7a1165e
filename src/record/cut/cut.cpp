#include "record/cut/cut.h"

#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace belay::record {

using core::Result;
using schema::column;
using schema::kEvent;
using schema::kGpu;
using schema::kProcess;

namespace {

bool has_value(const stream::Batch& batch, size_t column, size_t row) {
    return batch.values(column).present[row] != 0;
}

}  // namespace

Result<Cut> Cut::plan(std::vector<StreamFacts> streams, const CutRequest& request) {
    Cut cut(std::move(streams));
    cut.request_ = request;
    cut.sort_streams();
    if (!cut.choose_run())
        return core::bad_input("no step of job {}{} was seen on any of these nodes", request.job_id,
                               request.restart ? fmt::format(", restart {},", *request.restart) : "")
            .because(core::Cause::kNotFound);
    for (auto& [name, node] : cut.nodes_) cut.take_shares(node);
    std::erase_if(cut.nodes_, [](const auto& entry) { return entry.second.shares.empty(); });
    if (cut.nodes_.empty())
        return core::bad_input("job {} has no step {} on these nodes", request.job_id,
                               request.step.value_or(""))
            .because(core::Cause::kNotFound);
    return cut;
}

// Of the streams of one source on a node, each ends where the next one begins.
void Cut::sort_streams() {
    until_.assign(streams_.size(), kOpen);
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> sources;
    for (size_t i = 0; i < streams_.size(); ++i) {
        nodes_[streams_[i].session.node].streams.push_back(i);
        sources[{streams_[i].session.node, streams_[i].session.source}].push_back(i);
    }
    auto began = [&](size_t i) { return streams_[i].session.began; };
    for (auto& [name, node] : nodes_) std::ranges::stable_sort(node.streams, {}, began);
    for (auto& [source, list] : sources) {
        std::ranges::stable_sort(list, {}, began);
        for (size_t i = 0; i + 1 < list.size(); ++i) until_[list[i]] = began(list[i + 1]);
    }
}

bool Cut::is_of_job(const Share& share) const {
    if (share.job_id != request_.job_id) return false;
    return !request_.within || request_.within->holds(share.from);
}

// A job that was requeued ran more than once.
bool Cut::choose_run() {
    std::map<int64_t, core::Time> runs;  // by restart: when it began
    for (const StreamFacts& stream : streams_)
        for (const Share& share : stream.shares) {
            if (!is_of_job(share)) continue;
            auto [entry, is_new] = runs.try_emplace(share.restart, share.from);
            if (!is_new) entry->second = std::min(entry->second, share.from);
        }
    if (!request_.restart && !runs.empty()) request_.restart = runs.rbegin()->first;
    auto run = request_.restart ? runs.find(*request_.restart) : runs.end();
    if (run == runs.end()) return false;
    if (runs.size() > 1) run_ = {run->second, std::next(run) == runs.end() ? kOpen : std::next(run)->second};
    return true;
}

bool Cut::is_wanted(const Share& share) const {
    if (!is_of_job(share) || share.restart != *request_.restart) return false;
    return !request_.step || share.step_id.value_or("batch") == *request_.step;
}

// A share is told when it begins and when it ends, and again by a writer that was started meanwhile. One that
// no later writer knows of ended after the last row of the one that did.
void Cut::take_shares(Node& node) {
    using Key = std::pair<std::optional<std::string>, std::optional<std::string>>;
    std::map<Key, Share> shares;
    core::Time last = core::Time::min();
    for (size_t i : node.streams) {
        std::set<Key> known;
        for (const Share& share : streams_[i].shares) {
            if (!is_wanted(share)) continue;
            const Key key{share.step_id, share.device};
            auto [entry, is_new] = shares.try_emplace(key, share);
            Share& whole = entry->second;
            if (!is_new && known.insert(key).second && !share.to) whole.to.reset();
            known.insert(key);
            whole.from = std::min(whole.from, share.from);
            if (share.to) whole.to = std::max(whole.to.value_or(*share.to), *share.to);
        }
        for (auto& [key, share] : shares)
            if (!share.to && !known.contains(key)) share.to = std::max(share.from, last);
        last = streams_[i].last;
        for (const auto& [device, row] : streams_[i].devices) node.known.try_emplace(device, row);
    }
    std::vector<Interval> held;
    std::map<std::string, std::vector<Interval>> devices;
    for (auto& [key, share] : shares) {
        if (!share.to && request_.ended) share.to = std::max(share.from, *request_.ended);
        const Interval interval{share.from, share.to.value_or(kOpen)};
        (share.device ? devices[*share.device] : held).push_back(interval);
        node.shares.push_back(share);
    }
    node.held = united(std::move(held));
    for (auto& [device, intervals] : devices) node.devices[device] = united(std::move(intervals));
    node.counted_in = {core::Time::min(), last};
}

bool Cut::concerns(size_t stream) const {
    auto node = nodes_.find(streams_[stream].session.node);
    if (node == nodes_.end() || node->second.held.empty()) return false;
    return streams_[stream].last >= node->second.held.front().from &&
           streams_[stream].session.start < node->second.held.back().to;
}

namespace {

// What an agent tells when it meets it and not again holds for jobs that come later, too.
bool is_told_once(std::string_view kind) {
    constexpr std::string_view kKinds[] = {"kernel_log_unread", "gpu_unread", "gpu_counters_unread",
                                           "collector_failed"};
    return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// It is told of a job from the job's beginning on.
void begin_with_job(stream::Batch& events, core::Time start) {
    for (int64_t& time : events.values(0).integers) time = std::max(time, core::to_nanoseconds(start));
}

}  // namespace

bool Cut::is_ours(const Node& node, const stream::Batch& batch, size_t row) const {
    const core::Time time = core::time_from_nanoseconds(batch.values(0).integers[row]);
    const schema::Table& table = batch.table();
    if (&table == &kProcess) {
        constexpr size_t kJob = column(kProcess, "job_id"), kStep = column(kProcess, "step_id");
        if (!has_value(batch, kJob, row) || batch.values(kJob).integers[row] != request_.job_id) return false;
        if (run_ && !run_->holds(time)) return false;
        if (request_.within && !request_.within->holds(time)) return false;
        const std::string step = has_value(batch, kStep, row) ? batch.values(kStep).texts[row] : "batch";
        return !request_.step || step == *request_.step;
    }
    if (&table == &kGpu || &table == &kEvent) {
        const size_t device_column = &table == &kGpu ? column(kGpu, "device") : column(kEvent, "device");
        const std::string& device = batch.values(device_column).texts[row];
        auto held = node.devices.find(device);
        if (held != node.devices.end()) return is_in(held->second, time);
        // An event may concern something else of the node: a link, a disk.
        if (&table == &kGpu || node.known.contains(device)) return false;
    }
    if (&table == &kEvent && is_told_once(batch.values(column(kEvent, "kind")).texts[row]))
        return !node.held.empty() && time < node.held.back().to;
    return is_in(node.held, time);
}

stream::Batch Cut::rows(size_t stream, const stream::Batch& batch) const {
    stream::Batch ours(batch.table());
    auto node = nodes_.find(streams_[stream].session.node);
    const schema::Table* table = &batch.table();
    if (node == nodes_.end() || table == &schema::kAllocation || table == &schema::kCoverage ||
        table == &schema::kGpuDevice)
        return ours;
    size_t first = 0, count = 0;  // of a run of rows that are taken together
    for (size_t row = 0; row <= batch.rows(); ++row) {
        const bool is_taken = row < batch.rows() && has_value(batch, 0, row) &&
                              is_possible(core::time_from_nanoseconds(batch.values(0).integers[row])) &&
                              core::time_from_nanoseconds(batch.values(0).integers[row]) < until_[stream] &&
                              is_ours(node->second, batch, row);
        if (is_taken && count++ == 0) first = row;
        if (is_taken || count == 0) continue;
        ours.append(batch, first, count);
        count = 0;
    }
    if (table == &kEvent && !ours.empty()) begin_with_job(ours, node->second.held.front().from);
    return ours;
}

std::vector<std::string> Cut::nodes() const {
    std::vector<std::string> names;
    for (const auto& [name, node] : nodes_) names.push_back(name);
    return names;
}

Manifest Cut::manifest() const {
    Manifest manifest;
    manifest.job.id = request_.job_id;
    manifest.job.restart = request_.restart.value_or(0);
    manifest.job.nodes = nodes();
    bool has_ended = true;
    core::Time end = core::Time::min();
    for (const auto& [name, node] : nodes_) {
        const stream::Session& session = streams_[node.streams.front()].session;
        manifest.job.cluster = session.cluster;
        manifest.interval = session.interval;
        manifest.flush = session.flush;
        manifest.software["belay"] = session.version;
        for (const Share& share : node.shares) {
            manifest.job.start = std::min(manifest.job.start.value_or(share.from), share.from);
            has_ended &= share.to.has_value();
            end = std::max(end, share.to.value_or(end));
        }
    }
    if (has_ended) manifest.job.end = end;
    return manifest;
}

}  // namespace belay::record

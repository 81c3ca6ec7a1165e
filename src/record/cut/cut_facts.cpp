// What a cut says of a node in rows of its own: who had it, which GPUs there are, and the coverage of the
// job's time.
#include "record/cut/cut.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "stream/event.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace belay::record {

using schema::column;
using schema::kAllocation;
using schema::kCoverage;

namespace {

// How many of the evenly spaced moments of a span lie in an interval.
int64_t moments_in(const CountedSpan& span, const Interval& interval) {
    // The moment k, from 1 to `expected`, is start + k * step.
    const double step =
        static_cast<double>((span.end - span.start).count()) / static_cast<double>(span.expected);
    auto before = [&](core::Time time) {  // moments before this time
        if (time <= span.start) return int64_t{0};
        if (time > span.end) return span.expected;
        const double moments = static_cast<double>((time - span.start).count()) / step;
        return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(moments - 1e-6)) - 1, 0, span.expected);
    };
    return before(interval.to) - before(interval.from);
}

// The times are sorted.
int64_t times_in(const std::vector<core::Time>& times, const Interval& interval) {
    const auto first = std::ranges::lower_bound(times, interval.from);
    return std::max<int64_t>(std::ranges::lower_bound(times, interval.to) - first, 0);
}

void add_row(stream::Batch& rows, const std::string& node, const schema::Table& table, const Interval& span,
             core::Duration interval, int64_t expected, int64_t received) {
    if (expected <= 0) return;
    rows.add_row(span.to, node);
    rows.set(column(kCoverage, "table_name"), table.name);
    rows.set(column(kCoverage, "start"), span.from);
    rows.set(column(kCoverage, "interval_seconds"), core::to_seconds(interval));
    rows.set(column(kCoverage, "expected"), expected);
    rows.set(column(kCoverage, "received"), received);
}

}  // namespace

// The counts of streams that could be read as a whole.
std::vector<CountedSpan> Cut::spans_of(const Node& node, const schema::Table& table) const {
    std::vector<CountedSpan> spans;
    for (size_t i : node.streams) {
        auto counted = streams_[i].counted.find(&table);
        if (streams_[i].is_damaged || counted == streams_[i].counted.end()) continue;
        for (const CountedSpan& span : counted->second)
            if (span.start < until_[i]) spans.push_back(span);
    }
    std::ranges::stable_sort(spans, {}, &CountedSpan::start);
    return spans;
}

void Cut::add_coverage(const Node& node, const std::string& name, const schema::Table& table,
                       stream::Batch& rows) const {
    Intervals held = node.held;
    if (&table == &schema::kGpu) {
        std::vector<Interval> all;
        for (const auto& [device, intervals] : node.devices)
            all.insert(all.end(), intervals.begin(), intervals.end());
        held = united(std::move(all));
    }
    const std::vector<CountedSpan> spans = spans_of(node, table);
    std::vector<core::Time> times;
    for (size_t i : node.streams)
        if (auto sampled = streams_[i].sampled.find(&table); sampled != streams_[i].sampled.end())
            times.insert(times.end(), sampled->second.begin(), sampled->second.end());
    std::ranges::sort(times);
    const auto [first, last] = std::ranges::unique(times);
    times.erase(first, last);
    const core::Duration period = streams_[node.streams.back()].session.interval;

    // What nobody counted: before and after a stream, between two, where one was killed or damaged. A sample
    // at its very start was counted with what lies before it.
    auto add_uncounted = [&](const Interval& span, bool is_begin) {
        if (span.to <= span.from || period.count() <= 0) return;
        const int64_t due = (span.to - span.from) / period;
        const Interval sampled{is_begin ? span.from : span.from + core::Duration(1), span.to};
        add_row(rows, name, table, span, period, due, std::min(due, times_in(times, sampled)));
    };
    size_t next = 0;  // span, before which all end before the interval, and so before those that follow
    for (Interval interval : held) {
        if (interval.to == kOpen)
            interval.to = std::max(interval.from, node.counted_in.to + core::Duration(1));
        core::Time at = interval.from;
        while (next < spans.size() && spans[next].end <= interval.from) ++next;
        for (const CountedSpan& span : std::span(spans).subspan(next)) {
            if (span.start >= interval.to) break;
            if (span.end <= at) continue;
            add_uncounted({at, span.start}, at == interval.from);
            const Interval part{std::max(at, span.start),
                                std::min(span.end + core::Duration(1), interval.to)};
            const int64_t expected = moments_in(span, part);
            const double share = static_cast<double>(span.received) / static_cast<double>(span.expected);
            add_row(rows, name, table, {part.from, std::min(span.end, interval.to)}, period, expected,
                    static_cast<int64_t>(std::lround(static_cast<double>(expected) * share)));
            at = std::min(std::max(at, span.end), interval.to);
        }
        add_uncounted({at, interval.to}, at == interval.from);
    }
}

void Cut::add_allocation(const Node& node, const std::string& name, stream::Batch& rows) const {
    for (const Share& share : node.shares) {
        rows.add_row(share.to.value_or(share.from), name);
        rows.set(column(kAllocation, "job_id"), share.job_id);
        rows.set(column(kAllocation, "step_id"), share.step_id);
        rows.set(column(kAllocation, "restart"), share.restart);
        rows.set(column(kAllocation, "device"), share.device);
        rows.set(column(kAllocation, "first_task"), share.first_task);
        rows.set(column(kAllocation, "tasks"), share.tasks);
        rows.set(column(kAllocation, "cpus"), share.cpus);
        rows.set(column(kAllocation, "t0"), share.from);
        rows.set(column(kAllocation, "t1"), share.to);
    }
}

// A device was found before the job began: in its record it is told when the job got it.
void Cut::add_devices(const Node& node, stream::Batch& rows) const {
    for (const auto& [device, intervals] : node.devices) {
        auto known = node.known.find(device);
        if (known == node.known.end() || intervals.empty()) continue;
        stream::Batch row = known->second;
        int64_t& time = row.values(0).integers[0];
        time = std::max(time, core::to_nanoseconds(intervals.front().from));
        rows.append(row);
    }
}

std::vector<stream::Batch> Cut::facts(const std::string& name) const {
    const Node& node = nodes_.at(name);
    stream::Batch allocation(kAllocation), devices(schema::kGpuDevice), coverage(kCoverage),
        events(schema::kEvent);
    add_allocation(node, name, allocation);
    add_devices(node, devices);
    for (const schema::Table* table : schema::tables())
        if (table->cadence == schema::Cadence::kPeriodic) add_coverage(node, name, *table, coverage);
    for (size_t i : node.streams)
        if (streams_[i].is_damaged && concerns(i))
            stream::add_event(events, std::max(streams_[i].session.start, node.held.front().from), name,
                              {.kind = "stream_lost",
                               .severity = "warning",
                               .source = "agent",
                               .subject = name,
                               .message = "a part of what the agent wrote could not be read"});
    std::vector<stream::Batch> all;
    for (stream::Batch* batch : {&allocation, &devices, &coverage, &events})
        if (!batch->empty()) all.push_back(std::move(*batch));
    return all;
}

}  // namespace belay::record

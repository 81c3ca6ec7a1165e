// For the tests of the cut: a node whose agent sampled it every second, and jobs that had parts of it.
#pragma once

#include "record/cut/cut.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"

#include <set>
#include <string>
#include <vector>

namespace belay::record::testing {

using schema::column;

inline core::Time at(double seconds) {
    return core::time_from_nanoseconds(1'700'000'000'000'000'000 + static_cast<int64_t>(seconds * 1e9));
}

// What a step was given.
struct GivenStep {
    int64_t job = 0;
    std::string step;  // "batch" or a number
    double from = 0, to = 0;
    std::set<std::string> devices = {};
    double cpus = 0;  // that its one process keeps busy, from its start on
};

// The batches of one stream from tick `first` to tick `last`, one a second; those in `missed` were not taken.
struct GivenStream {
    std::string node = "n1";
    int first = 1, last = 100;
    std::set<int> missed = {};
    double began = 0;
};

inline double gpu_use(const std::string& device, int tick) {
    return static_cast<double>((tick * 7 + static_cast<int>(device.back()) * 13) % 100) / 100;
}

class StreamMaker {
  public:
    StreamMaker(GivenStream stream, std::vector<GivenStep> steps, std::vector<std::string> devices)
        : given_(std::move(stream)), steps_(std::move(steps)), devices_(std::move(devices)) {
        for (const std::string& device : devices_) {
            stream::Batch& rows = add(schema::kGpuDevice, given_.began);
            rows.set(column(schema::kGpuDevice, "device"), device);
            rows.set(column(schema::kGpuDevice, "weight"), 1.0);
        }
        for (int tick = given_.first; tick <= given_.last; ++tick) add_tick(tick);
        for (const GivenStep& step : steps_) add_shares(step);
        for (const schema::Table* table : {&schema::kHost, &schema::kProcess, &schema::kGpu})
            add_counts(*table);
    }

    const std::vector<stream::Batch>& batches() const { return batches_; }
    StreamFacts facts() const {
        StreamFacts facts({.node = given_.node,
                           .start = at(given_.began),
                           .interval = std::chrono::seconds(1),
                           .flush = std::chrono::seconds(2),
                           .source = "agent",
                           .began = at(given_.began)});
        FactsRoom room;
        for (const stream::Batch& batch : batches_) facts.add(batch, room);
        return facts;
    }
    stream::Batch& add(const schema::Table& table, double time) {
        batches_.emplace_back(table).add_row(at(time), given_.node);
        return batches_.back();
    }

  private:
    void add_tick(int tick) {
        if (given_.missed.contains(tick)) return;
        add(schema::kHost, tick);
        for (size_t i = 0; i < steps_.size(); ++i) {
            const GivenStep& step = steps_[i];
            if (tick < step.from || tick >= step.to) continue;
            stream::Batch& rows = add(schema::kProcess, tick);
            rows.set(column(schema::kProcess, "pid"), static_cast<int64_t>(i));
            rows.set(column(schema::kProcess, "job_id"), step.job);
            if (step.step != "batch") rows.set(column(schema::kProcess, "step_id"), step.step);
            rows.set(column(schema::kProcess, "cpu_user_seconds_total"), (tick - step.from) * step.cpus);
        }
        for (const std::string& device : devices_) {
            stream::Batch& rows = add(schema::kGpu, tick);
            rows.set(column(schema::kGpu, "device"), device);
            rows.set(column(schema::kGpu, "sm_active_ratio"), gpu_use(device, tick));
        }
    }

    // As the agent tells them: at its next tick, and at the tick that finds it gone.
    void add_shares(const GivenStep& step) {
        if (step.from > given_.last || step.to < given_.first) return;
        std::vector<std::string> whose{""};
        whose.insert(whose.end(), step.devices.begin(), step.devices.end());
        for (const std::string& device : whose)
            for (bool has_ended : {false, true}) {
                if (has_ended && step.to > given_.last) continue;
                stream::Batch& rows =
                    add(schema::kAllocation, has_ended ? step.to : std::max(step.from, given_.began));
                rows.set(column(schema::kAllocation, "job_id"), step.job);
                if (step.step != "batch") rows.set(column(schema::kAllocation, "step_id"), step.step);
                rows.set(column(schema::kAllocation, "restart"), 0);
                if (!device.empty()) rows.set(column(schema::kAllocation, "device"), device);
                rows.set(column(schema::kAllocation, "t0"), at(step.from));
                if (has_ended) rows.set(column(schema::kAllocation, "t1"), at(step.to));
            }
    }

    // As the agent writes them: at most two samples a row, all taken or all missed.
    void add_counts(const schema::Table& table) {
        for (int tick = given_.first; tick <= given_.last;) {
            const bool taken = !given_.missed.contains(tick);
            const int end = tick < given_.last && given_.missed.contains(tick + 1) != taken ? tick + 1 : tick;
            stream::Batch& rows = add(schema::kCoverage, end);
            rows.set(column(schema::kCoverage, "table_name"), table.name);
            rows.set(column(schema::kCoverage, "start"), at(tick - 1));
            rows.set(column(schema::kCoverage, "expected"), end - tick + 1);
            rows.set(column(schema::kCoverage, "received"), taken ? end - tick + 1 : 0);
            tick = end + 1;
        }
    }

    GivenStream given_;
    std::vector<GivenStep> steps_;
    std::vector<std::string> devices_;
    std::vector<stream::Batch> batches_;
};

// All rows that the cut gives of each table, facts included.
class CutRows {
  public:
    CutRows(const Cut& cut, const std::vector<StreamMaker>& streams) {
        for (size_t i = 0; i < streams.size(); ++i)
            for (const stream::Batch& batch : streams[i].batches()) take(cut.rows(i, batch));
        for (const std::string& node : cut.nodes())
            for (const stream::Batch& batch : cut.facts(node)) take(batch);
    }
    const stream::Batch& of(const schema::Table& table) {
        return tables_.try_emplace(&table, table).first->second;
    }
    // Expected and received samples of a table.
    std::pair<int64_t, int64_t> coverage(const schema::Table& table) {
        const stream::Batch& rows = of(schema::kCoverage);
        std::pair<int64_t, int64_t> sums{0, 0};
        for (size_t i = 0; i < rows.rows(); ++i) {
            if (rows.values(column(schema::kCoverage, "table_name")).texts[i] != table.name) continue;
            sums.first += rows.values(column(schema::kCoverage, "expected")).integers[i];
            sums.second += rows.values(column(schema::kCoverage, "received")).integers[i];
        }
        return sums;
    }

  private:
    void take(const stream::Batch& batch) {
        tables_.try_emplace(&batch.table(), batch.table()).first->second.append(batch);
    }
    std::map<const schema::Table*, stream::Batch> tables_;
};

}  // namespace belay::record::testing

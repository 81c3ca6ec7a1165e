// Node streams made up for tests of this folder: blocks as an agent uploads them, and the rows that are in them.
#pragma once

#include "core/time.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"
#include "stream/batch.h"
#include "stream/block_encoder.h"
#include "stream/segment.h"

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace belay::server::testing {

inline const core::Time kPackedBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// A row as tests know it again: its stream, table, time and number, which is its own.
using RowId = std::tuple<std::string, std::string, int64_t, int64_t>;

// The column that holds the number.
inline size_t number_column(const schema::Table& table) {
    if (&table == &schema::kHost) return column(schema::kHost, "forks_total");
    if (&table == &schema::kGpu) return column(schema::kGpu, "pcie_replays_total");
    if (&table == &schema::kProcess) return column(schema::kProcess, "read_calls_total");
    return column(schema::kEvent, "code");
}

class MadeStream {
  public:
    MadeStream(const std::string& node, uint64_t seed, core::Time began = kPackedBegan,
               const std::string& source = "agent")
        : random_(seed), time_(began) {
        session_ = {.node = node,
                    .start = began,
                    .interval = std::chrono::seconds(1),
                    .flush = std::chrono::seconds(2),
                    .version = "test",
                    .cluster = "c1",
                    .boot = "b-" + node,
                    .source = source,
                    .began = began};
        session_.task = std::nullopt;
    }

    const stream::Session& session() const { return session_; }
    void name_cluster(const std::string& cluster) { session_.cluster = cluster; }
    // Some seconds of samples: a block for each table that has rows. What it made is kept by the number of its first block.
    void add_seconds(int seconds) {
        std::map<const schema::Table*, stream::Batch> batches;
        for (const schema::Table* table : {&schema::kHost, &schema::kGpu, &schema::kProcess, &schema::kEvent})
            batches.emplace(table, stream::Batch(*table));
        for (int i = 0; i < seconds; ++i) {
            time_ += std::chrono::seconds(1) + std::chrono::nanoseconds(random_() % 2'000'000);
            add_second(batches);
        }
        for (const auto& [table, batch] : batches)
            for (const stream::RowsPayload& part : stream::encode_rows(batch)) {
                blocks_.push_back({next_, stream::encode_rows_block(part, static_cast<uint32_t>(next_)), {}});
                for (size_t row = 0; row < batch.rows(); ++row)
                    blocks_.back().rows.push_back({session_.node + "/" + session_.source + "/" +
                                                       std::to_string(core::to_nanoseconds(session_.began)),
                                                   std::string(table->name), batch.values(0).integers[row],
                                                   batch.values(number_column(*table)).integers[row]});
                ++next_;
                samples.emplace_back(batch);
            }
    }

    // The blocks from `from` to `to` - 1 as an upload; numbers count from 1.
    std::string piece(uint64_t from, uint64_t to) const {
        std::string bytes = stream::encode_head(session_);
        for (const Block& block : blocks_)
            if (block.number >= from && block.number < to) bytes += block.bytes;
        return bytes;
    }
    uint64_t end() const { return next_; }
    // Of the blocks from `from` to `to` - 1.
    std::vector<RowId> rows(uint64_t from, uint64_t to) const {
        std::vector<RowId> rows;
        for (const Block& block : blocks_)
            if (block.number >= from && block.number < to)
                rows.insert(rows.end(), block.rows.begin(), block.rows.end());
        return rows;
    }
    std::vector<RowId> rows() const { return rows(0, next_); }

    std::vector<stream::Batch> samples;  // all that was made, block by block

  private:
    struct Block {
        uint64_t number;
        std::string bytes;
        std::vector<RowId> rows;
    };

    void add_second(std::map<const schema::Table*, stream::Batch>& batches) {
        const std::string& node = session_.node;
        stream::Batch& host = batches.at(&schema::kHost);
        host.add_row(time_, node);
        host.set(column(schema::kHost, "load_1m"), static_cast<double>(random_() % 400) / 100);
        host.set(column(schema::kHost, "memory_free_bytes"), (random_() % 1'000'000) * 4096);
        busy_ += static_cast<double>(random_() % 200) / 100;
        host.set(column(schema::kHost, "cpu_user_seconds_total"), busy_);
        iowait_ += static_cast<double>(random_() % 30) / 100 - 0.05;
        host.set(column(schema::kHost, "cpu_iowait_seconds_total"), iowait_);
        host.set(number_column(schema::kHost), number_++);
        stream::Batch& gpu = batches.at(&schema::kGpu);
        for (size_t device = 0; device < energy_.size(); ++device) {
            gpu.add_row(time_, node);
            gpu.set(column(schema::kGpu, "device"), "GPU-" + node + "-" + std::to_string(device));
            if (random_() % 50 != 0)
                gpu.set(column(schema::kGpu, "sm_active_ratio"),
                        static_cast<double>(random_() % 10'000) / 1e4);
            gpu.set(column(schema::kGpu, "power_watts"), static_cast<double>(random_() % 7000) / 10);
            if (random_() % 200 == 0) energy_[device] = 0;  // the driver was loaded anew
            energy_[device] += static_cast<double>(random_() % 700'000) / 1000;
            gpu.set(column(schema::kGpu, "energy_joules_total"), energy_[device]);
            gpu.set(number_column(schema::kGpu), number_++);
        }
        stream::Batch& process = batches.at(&schema::kProcess);
        for (int64_t pid = 100; pid < 100 + static_cast<int64_t>(random_() % 4); ++pid) {
            process.add_row(time_, node);
            process.set(column(schema::kProcess, "pid"), pid);
            process.set(column(schema::kProcess, "start_time"),
                        session_.began - std::chrono::hours(24) - std::chrono::seconds(pid));
            process.set(column(schema::kProcess, "command"), "train");
            process.set(column(schema::kProcess, "resident_bytes"), (random_() % 10'000) * 4096);
            process.set(number_column(schema::kProcess), number_++);
        }
        if (random_() % 5 != 0) return;
        stream::Batch& event = batches.at(&schema::kEvent);
        event.add_row(time_, node);
        event.set(column(schema::kEvent, "kind"), "xid");
        event.set(column(schema::kEvent, "message"), "something happened \xE2\x82\xAC");
        event.set(number_column(schema::kEvent), number_++);
    }

    std::mt19937_64 random_;
    core::Time time_;
    stream::Session session_;
    uint64_t next_ = 1;  // 0 is the session
    std::vector<Block> blocks_;
    int64_t number_ = 1;
    double busy_ = 1000, iowait_ = 10;
    std::array<double, 2> energy_ = {5000, 7000};
};

}  // namespace belay::server::testing

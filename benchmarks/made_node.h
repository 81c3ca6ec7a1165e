// Samples of a node that is made up, some 340 values a second, for server_pack.cpp.
#pragma once

#include "core/time.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "stream/batch.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace belay {

using stream::Batch;

inline const core::Time kStart = core::time_from_nanoseconds(1'780'000'000'000'000'000);
inline constexpr int kGpus = 4;

// The samples of one node.
class MadeNode {
  public:
    explicit MadeNode(int number)
        : name_(fmt::format("node{:04}", number)), random_(static_cast<uint64_t>(number)) {
        for (Counter& counter : counters_) counter.value = static_cast<double>(random_() % 1'000'000'000);
    }
    const std::string& name() const { return name_; }

    void sample(int second, std::vector<Batch>& batches) {
        time_ = kStart + std::chrono::seconds(second) + std::chrono::microseconds(random_() % 300);
        const bool busy = second % 600 >= 20;  // every 600 s there is a checkpoint
        host(batches[0], busy);
        for (int device = 0; device < kGpus; ++device) gpu(batches[1], device, busy, second);
        for (int device = 0; device < 3; ++device) network(batches[2], device);
        for (int disk = 0; disk < 5; ++disk) filesystem(batches[3], disk);
        for (int pid = 0; pid < 8; ++pid) process(batches[4], pid, busy);
    }

  private:
    struct Counter {
        double value = 0;
    };
    double noise(double from, double to, double step) {
        const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
        return std::round((from + (to - from) * share) / step) * step;
    }
    double decimal(double from, double to, double steps) {
        return std::round(noise(from, to, 1 / steps) * steps) / steps;
    }
    int64_t count(size_t which, double most) {
        counters_[which].value += std::floor(noise(0, most, 1));
        return static_cast<int64_t>(counters_[which].value);
    }
    double ticks(size_t which, double from, double to, double per_second) {
        counters_[which].value += std::round(noise(from, to, 1 / per_second) * per_second);
        return counters_[which].value / per_second;
    }

    void host(Batch& rows, bool busy) {
        rows.add_row(time_, name_);
        size_t counter = 0;
        for (size_t i = 2; i < schema::kHost.columns.size(); ++i, ++counter) {
            const std::string_view name = schema::kHost.columns[i].name;
            if (name == "cpu_count")
                rows.set(i, 72);
            else if (name == "load_1m")
                rows.set(i, decimal(30, 34, 100));
            else if (name == "collection_seconds")
                rows.set(i, decimal(0.001, 0.003, 1e6));
            else if (name.starts_with("cpu_"))
                rows.set(i, ticks(counter, 0, busy ? 36 : 4, 100));
            else if (name.starts_with("pressure_"))
                rows.set(i, ticks(counter, 0, busy ? 0.05 : 0, 1e6));
            else if (name.ends_with("_total_bytes"))
                rows.set(i, int64_t{96} << 30);
            else if (name.ends_with("_bytes"))
                rows.set(i, count(counter, 200) / 100 * 4096 + (int64_t{5} << 30));
            else if (name.starts_with("threads_"))
                rows.set(i, static_cast<int64_t>(random_() % 40));
            else if (name == "oom_kills_total" || name.starts_with("compaction") ||
                     name.ends_with("major_total"))
                rows.set(i, 17);
            else
                rows.set(i, count(counter, 20'000));
        }
    }

    void gpu(Batch& rows, int device, bool busy, int second) {
        rows.add_row(time_, name_);
        rows.set(2, fmt::format("GPU-00000000-0000-0000-{}-{:012}", name_, device));
        const auto put = [&](std::string_view name, double value) {
            for (size_t i = 3; i < schema::kGpu.columns.size(); ++i)
                if (schema::kGpu.columns[i].name == name) {
                    if (schema::kGpu.columns[i].type == schema::ColumnType::kReal)
                        rows.set(i, value);
                    else
                        rows.set(i, static_cast<int64_t>(value));
                }
        };
        const double on = busy ? 1 : 0;
        put("engine_active_ratio", decimal(0.9, 1, 1e4) * on);
        put("sm_active_ratio", decimal(0.8, 0.9, 1e4) * on);
        put("sm_occupancy_ratio", decimal(0.3, 0.4, 1e4));
        put("tensor_active_ratio", decimal(0.4, 0.55, 1e4) * on);
        put("fp64_active_ratio", 0);
        put("fp32_active_ratio", decimal(0.06, 0.1, 1e4));
        put("fp16_active_ratio", decimal(0.02, 0.04, 1e4));
        put("integer_active_ratio", decimal(0.03, 0.05, 1e4));
        put("dram_active_ratio", decimal(0.3, 0.4, 1e4));
        put("utilization_ratio", decimal(0.95, 1, 100));
        put("memory_used_bytes", (60'000.0 + std::floor(second / 1e3)) * 1048576);
        put("memory_total_bytes", 81'559.0 * 1048576);
        put("clock_sm_hertz", noise(1695e6, 1815e6, 15e6));
        put("clock_memory_hertz", 2619e6);
        put("temperature_celsius", noise(55, 63, 1));
        put("memory_temperature_celsius", noise(65, 73, 1));
        put("power_watts", decimal(560, 640, 10));
        put("energy_joules_total", decimal(0, 1, 1e3) + 600.0 * second);
        put("clock_event_reasons", noise(0, 1, 1e-3) < 0.05 ? 4 : 0);
        put("pcie_sent_bytes_per_second", noise(0, 1e6, 1e3));
        put("pcie_received_bytes_per_second", noise(0, 1e6, 1e3));
        put("nvlink_sent_bytes_per_second", noise(0, 1e11, 1e7));
        put("nvlink_received_bytes_per_second", noise(0, 1e11, 1e7));
        for (const char* name :
             {"ecc_corrected_total", "ecc_uncorrected_total", "remapped_rows_total", "remap_pending",
              "remap_failed", "pcie_replays_total", "nvlink_errors_total", "tensor_double_active_ratio",
              "tensor_integer_active_ratio", "jpeg_active_ratio"})
            put(name, 0);
        put("tensor_half_active_ratio", decimal(0.4, 0.55, 1e4) * on);
        put("pcie_generation", 5);
        put("pcie_width", 16);
        put("processes", 1);
        put("power_violation_seconds_total", ticks(40 + static_cast<size_t>(device), 0, 0.02, 1e6));
        put("thermal_violation_seconds_total", 0);
    }

    void network(Batch& rows, int device) {
        rows.add_row(time_, name_);
        rows.set(2, fmt::format("hsn{}", device));
        for (size_t i = 3; i < schema::kNetwork.columns.size(); ++i) {
            const schema::Column& column = schema::kNetwork.columns[i];
            const bool is_quiet = column.name.find("errors") != std::string_view::npos ||
                                  column.name.find("dropped") != std::string_view::npos ||
                                  column.name.find("changes") != std::string_view::npos;
            if (column.type == schema::ColumnType::kBoolean)
                rows.set(i, column.name == "carrier");
            else if (column.name == "link_bits_per_second")
                rows.set(i, int64_t{200'000'000'000});
            else
                rows.set(i, is_quiet
                                ? 0
                                : count(50 + 12 * static_cast<size_t>(device) + i, device == 2 ? 0 : 30'000));
        }
    }

    void filesystem(Batch& rows, int disk) {
        const bool is_disk = disk < 2;
        rows.add_row(time_, name_);
        rows.set(2, is_disk ? "disk" : "mount");
        rows.set(3, is_disk ? fmt::format("nvme{}n1", disk) : fmt::format("/scratch{}", disk));
        for (size_t i = 4; i < schema::kFilesystem.columns.size(); ++i) {
            const schema::Column& column = schema::kFilesystem.columns[i];
            const bool of_disk = i >= schema::kFirstDiskQuantity;
            const size_t counter = 100 + 10 * static_cast<size_t>(disk) + i;
            if (of_disk != is_disk) continue;
            if (column.type == schema::ColumnType::kText)
                rows.set(i, "lustre");
            else if (column.type == schema::ColumnType::kBoolean)
                rows.set(i, column.name == "responsive");
            else if (column.type == schema::ColumnType::kReal)
                rows.set(i, ticks(counter, 0, 0.02, 1e3));
            else if (!is_disk)
                rows.set(i, (int64_t{1} << 45) - (counter % 2 == 0 ? count(counter, 4) / 4 * 1048576 : 0));
            else
                rows.set(i, column.name == "requests_in_flight" ? static_cast<int64_t>(random_() % 3)
                                                                : count(counter, 3) * 4096);
        }
    }

    void process(Batch& rows, int pid, bool busy) {
        rows.add_row(time_, name_);
        for (size_t i = 2; i < schema::kProcess.columns.size(); ++i) {
            const schema::Column& column = schema::kProcess.columns[i];
            const size_t counter = 200 + 30 * static_cast<size_t>(pid) + i;
            if (column.name == "start_time")
                rows.set(i, kStart - std::chrono::seconds(100 + pid));
            else if (column.name == "command")
                rows.set(i, "python");
            else if (column.name == "state")
                rows.set(i, busy && random_() % 8 != 0 ? "R" : "S");
            else if (column.type == schema::ColumnType::kText)
                rows.set(i, "0");
            else if (i < schema::kFirstProcessQuantity || column.name == "threads")
                rows.set(i, 1000 + pid);
            else if (column.name == "processor")
                rows.set(i, static_cast<int64_t>(random_() % 4) + 4 * pid);
            else if (column.type == schema::ColumnType::kReal)
                rows.set(i, ticks(counter, 0, busy ? 1 : 0.1, 100));
            else if (column.name.ends_with("_bytes"))
                rows.set(i, (int64_t{1} << 33) + count(counter, 50) / 40 * 4096);
            else
                rows.set(i, count(counter, busy ? 300 : 10));
        }
    }

    std::string name_;
    std::mt19937_64 random_;
    core::Time time_;
    std::vector<Counter> counters_ = std::vector<Counter>(500);
};

}  // namespace belay

// Small made-up recordings for the tests of this folder.
#pragma once

#include "core/file.h"
#include "record/archive/archive.h"
#include "record/import/import.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::record::import_testing {

inline const core::Time kNow = core::time_from_nanoseconds(1'800'000'000'000'000'000);

// The fields of gssr-record with C2C, in its order.
inline const std::vector<std::string> kFields = {"DEV_GPU_UTIL",
                                                 "DEV_FB_FREE",
                                                 "DEV_FB_USED",
                                                 "DEV_FB_RESERVED",
                                                 "PROF_SM_ACTIVE",
                                                 "PROF_SM_OCCUPANCY",
                                                 "PROF_PIPE_TENSOR_ACTIVE",
                                                 "PROF_PIPE_FP64_ACTIVE",
                                                 "PROF_PIPE_FP32_ACTIVE",
                                                 "PROF_PIPE_FP16_ACTIVE",
                                                 "PROF_DRAM_ACTIVE",
                                                 "PROF_PCIE_TX_BYTES",
                                                 "PROF_PCIE_RX_BYTES",
                                                 "PROF_NVLINK_RX_BYTES",
                                                 "PROF_NVLINK_TX_BYTES",
                                                 "PROF_C2C_TX_ALL_BYTES",
                                                 "PROF_C2C_RX_ALL_BYTES",
                                                 "DEV_TOTAL_ENERGY_CONSUMPTION",
                                                 "DEV_POWER_USAGE"};

inline std::string header(std::string_view order = "min,avg,max") {
    std::string parts[3] = {std::string(order.substr(0, 3)), std::string(order.substr(4, 3)),
                            std::string(order.substr(8, 3))};
    std::string text = "timestamp,gpuId";
    for (const std::string& field : kFields)
        for (const std::string& part : parts) text += ",DCGM_FI_" + field + "_" + part;
    return text + "\n";
}

// Three cells, as DCGM sums up a field.
struct Three {
    double minimum = 0;
    double average = 0;
    double maximum = 0;
};

// A GPU at work; `changed` replaces fields.
inline std::string row(int64_t seconds, int64_t gpu, const std::map<std::string, Three>& changed = {}) {
    std::map<std::string, Three> values = {{"DEV_GPU_UTIL", {90, 95, 100}},
                                           {"DEV_FB_FREE", {60000, 60000, 60000}},
                                           {"DEV_FB_USED", {20000, 20480, 21000}},
                                           {"DEV_FB_RESERVED", {1000, 1000, 1000}},
                                           {"PROF_SM_ACTIVE", {0.7, 0.8, 0.9}},
                                           {"PROF_SM_OCCUPANCY", {0.3, 0.4, 0.5}},
                                           {"PROF_PIPE_TENSOR_ACTIVE", {0.5, 0.6, 0.7}},
                                           {"PROF_PIPE_FP32_ACTIVE", {0.1, 0.1, 0.1}},
                                           {"PROF_DRAM_ACTIVE", {0.2, 0.25, 0.3}},
                                           {"PROF_PCIE_TX_BYTES", {1000, 2000, 3000}},
                                           {"PROF_PCIE_RX_BYTES", {4000, 5000, 6000}},
                                           {"PROF_NVLINK_RX_BYTES", {7000, 8000, 9000}},
                                           {"PROF_NVLINK_TX_BYTES", {10000, 11000, 12000}},
                                           {"PROF_C2C_TX_ALL_BYTES", {100, 200, 300}},
                                           {"PROF_C2C_RX_ALL_BYTES", {400, 500, 600}},
                                           {"DEV_TOTAL_ENERGY_CONSUMPTION", {0, 400000, 0}},
                                           {"DEV_POWER_USAGE", {390, 400, 410}}};
    for (const auto& [name, three] : changed) values[name] = three;
    std::string text = fmt::format("{},{}", seconds, gpu);
    for (const std::string& field : kFields) {
        Three three = values[field];
        text += fmt::format(",{},{},{}", three.minimum, three.average, three.maximum);
    }
    return text + "\n";
}

inline const std::map<std::string, Three> kIdle = {{"DEV_GPU_UTIL", {}},
                                                   {"PROF_SM_ACTIVE", {}},
                                                   {"PROF_PIPE_TENSOR_ACTIVE", {}},
                                                   {"PROF_NVLINK_TX_BYTES", {}},
                                                   {"DEV_POWER_USAGE", {100, 100, 100}},
                                                   {"DEV_TOTAL_ENERGY_CONSUMPTION", {0, 100000, 0}}};

// Rows of seconds `first` to `last`, of GPUs 0 to gpus − 1; idle until `onset`.
inline std::string rows(int64_t first, int64_t last, int64_t gpus, int64_t onset = 0) {
    std::string text;
    for (int64_t second = first; second <= last; ++second)
        for (int64_t gpu = 0; gpu < gpus; ++gpu)
            text += second < onset ? row(second, gpu, kIdle) : row(second, gpu);
    return text;
}

inline const std::string kMeta = R"({
    "gssr-record-version": "2.0",
    "date": "2026-03-01T13:00:00+0100",
    "cluster": "alps",
    "jobid": "4711",
    "jobname": "train",
    "nnodes": "2",
    "ntasks": "8",
    "ngpus": "4",
    "step_nnodes": "2",
    "step_ntasks": "8",
    "executable": "python",
    "arguments": "'train.py' '--lr' '3' "
}

)";

class Recording {
  public:
    Recording() : directory_(core::TemporaryDirectory::create("import_test").value()) {}
    std::filesystem::path source() const { return directory_.path() / "recording"; }
    std::filesystem::path record() const { return directory_.path() / "record"; }

    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((source() / name).parent_path());
        std::ofstream(source() / name, std::ios::binary) << text;
    }
    // A regular file, of which each read fails, for root too.
    void write_unreadable(const std::string& name) const {
        std::filesystem::create_directories((source() / name).parent_path());
        std::filesystem::remove(source() / name);
        std::filesystem::create_symlink("/proc/self/mem", source() / name);
    }
    // What is there beside the recording: the record, or what is left of one.
    size_t beside() const {
        const std::filesystem::directory_iterator all(directory_.path());
        return static_cast<size_t>(std::distance(all, std::filesystem::directory_iterator())) - 1;
    }
    ImportOptions options() const {
        return {.source = source(), .record = record(), .now = kNow, .version = "0"};
    }
    // The answer to SQL about the record, one text per row, values separated by blanks.
    std::vector<std::string> query(const std::string& sql) const {
        auto archive = Archive::open(record());
        EXPECT_TRUE(archive) << archive.error().message();
        auto answer = archive->query(sql);
        EXPECT_TRUE(answer) << answer.error().message();
        std::vector<std::string> lines;
        for (const auto& values : answer->rows) {
            std::string line;
            for (const Value& value : values) line += (line.empty() ? "" : " ") + text_of(value);
            lines.push_back(line);
        }
        return lines;
    }
    RecordInfo info() const { return Archive::open(record()).value().info().value(); }

  private:
    static std::string text_of(const Value& value) {
        if (const auto* text = std::get_if<std::string>(&value)) return *text;
        if (const auto* time = std::get_if<core::Time>(&value)) return core::format_time(*time);
        if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
        if (std::holds_alternative<std::monostate>(value)) return "null";
        return fmt::format("{:g}", as_double(value));
    }

    core::TemporaryDirectory directory_;
};

// That what could not be read was not taken for missing, and nothing was left.
inline void expect_not_read(const core::Result<Imported>& imported, const Recording& recording,
                            std::string_view name) {
    ASSERT_FALSE(imported) << name;
    EXPECT_EQ(imported.error().kind(), core::ErrorKind::kSystem) << name;
    EXPECT_EQ(imported.error().message(),
              fmt::format("cannot read {}: Input/output error", (recording.source() / name).string()));
    EXPECT_EQ(recording.beside(), 0U) << name;
}

// The sentences of the defects, one per line.
inline std::string told(const Imported& imported) {
    std::string text;
    for (const Defect& defect : imported.defects) text += defect.sentence() + "\n";
    return text;
}

}  // namespace belay::record::import_testing

// Records of GPUs for tests of what is read from them.
#pragma once

#include "core/file.h"
#include "record/archive/archive.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "score/digest_query.h"
#include "stream/segment.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace belay::score::testing {

inline const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'000'000'000);

inline constexpr int64_t kMemoryUsedBytes = 85'899'345'921;  // has more digits than a series holds

// A record in the making.
class RecordOfGpus {
  public:
    RecordOfGpus() : directory_(core::TemporaryDirectory::create("digest_test").value()) {
        record::Manifest manifest;
        manifest.created = kStart;
        EXPECT_TRUE(record::begin_record(path(), manifest));
    }
    std::filesystem::path path() const { return directory_.path() / "record"; }

    void device(const std::string& node, const std::string& uuid, int index) {
        if (!known_.insert({node, uuid}).second) return;
        devices_.add_row(kStart, node);
        devices_.set(schema::column(schema::kGpuDevice, "device"), uuid);
        devices_.set(schema::column(schema::kGpuDevice, "index"), index);
        devices_.set(schema::column(schema::kGpuDevice, "name"), "Synthetic GPU 80GB");
        devices_.set(schema::column(schema::kGpuDevice, "weight"), 1.0);
    }
    void held(const std::string& node, const std::string& uuid, int from, int to,
              const std::string& step = "0") {
        if (!uuid.empty()) device(node, uuid, 0);
        allocation_.add_row(kStart, node);
        allocation_.set(schema::column(schema::kAllocation, "step_id"), step);
        if (!uuid.empty()) allocation_.set(schema::column(schema::kAllocation, "device"), uuid);
        allocation_.set(schema::column(schema::kAllocation, "t0"), kStart + std::chrono::seconds(from));
        allocation_.set(schema::column(schema::kAllocation, "t1"), kStart + std::chrono::seconds(to));
    }
    // Samples in ]from, to] with a saturation.
    void samples(const std::string& node, const std::string& uuid, int from, int to, double saturation) {
        device(node, uuid, 0);
        for (int i = from + 1; i <= to; ++i) {
            gpu_.add_row(kStart + std::chrono::seconds(i), node);
            gpu_.set(schema::column(schema::kGpu, "device"), uuid);
            gpu_.set(schema::column(schema::kGpu, "dram_active_ratio"), 0.8 * saturation);
            for (size_t pipe : {schema::column(schema::kGpu, "tensor_active_ratio"),
                                schema::column(schema::kGpu, "fp64_active_ratio"),
                                schema::column(schema::kGpu, "fp32_active_ratio"),
                                schema::column(schema::kGpu, "fp16_active_ratio")})
                gpu_.set(pipe, 0.0);
            gpu_.set(schema::column(schema::kGpu, "sm_active_ratio"), 1.0);
            gpu_.set(schema::column(schema::kGpu, "memory_used_bytes"), kMemoryUsedBytes);
            gpu_.set(schema::column(schema::kGpu, "processes"), 1);
        }
    }
    // Without counters of pipes.
    void utilization(const std::string& node, const std::string& uuid, int from, int to, double share) {
        device(node, uuid, 0);
        for (int i = from + 1; i <= to; ++i) {
            gpu_.add_row(kStart + std::chrono::seconds(i), node);
            gpu_.set(schema::column(schema::kGpu, "device"), uuid);
            gpu_.set(schema::column(schema::kGpu, "utilization_ratio"), share);
        }
    }
    void counted(double interval) {
        coverage_.add_row(kStart, "n1");
        coverage_.set(schema::column(schema::kCoverage, "table_name"), "gpu");
        coverage_.set(schema::column(schema::kCoverage, "interval_seconds"), interval);
    }

    void seal() {
        write_once();
        EXPECT_TRUE(record::seal(path(), kStart));
    }
    Digest digest(bool sealed, const std::optional<std::string>& step = std::nullopt) {
        write_once();
        if (sealed) seal();
        auto archive = record::Archive::open(path());
        auto digest = read_digest(archive.value(), builtin_ceilings(), step);
        EXPECT_TRUE(digest) << digest.error().message();
        return digest.value_or(Digest{});
    }

  private:
    void write_once() {
        if (!std::exchange(written_, true)) write();
    }
    void write() {
        stream::Session session{.node = "n1",
                                .start = kStart,
                                .interval = std::chrono::seconds(1),
                                .flush = std::chrono::seconds(2)};
        auto writer = stream::SegmentWriter::create(record::segments_path(path()) / "n1-0.seg", session);
        ASSERT_TRUE(writer);
        for (const stream::Batch* batch : {&devices_, &allocation_, &gpu_, &coverage_})
            if (!batch->empty()) {
                ASSERT_TRUE(writer->append(*batch));
            }
        ASSERT_TRUE(writer->finish(kStart + std::chrono::seconds(1000)));
    }

    core::TemporaryDirectory directory_;
    std::set<std::pair<std::string, std::string>> known_;
    stream::Batch devices_{schema::kGpuDevice};
    stream::Batch allocation_{schema::kAllocation};
    stream::Batch gpu_{schema::kGpu};
    stream::Batch coverage_{schema::kCoverage};
    bool written_ = false;
};

}  // namespace belay::score::testing

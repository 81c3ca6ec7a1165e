// What a record's table `gpu` comes to, made in one pass: each device's windows as totals, as a distribution
// and as a series of at most kMostBuckets buckets, and the job second by second. Score, findings and report
// are made from it, so that a day of a thousand GPUs is read once.
#pragma once

#include "core/time.h"
#include "schema/tables/gpu_digest.h"
#include "score/ceilings.h"
#include "score/companion.h"
#include "score/total.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::score {

inline constexpr size_t kMostBuckets = 600;

// What is followed over time: schema::kGpuQuantities, by their index. Means are over the observed time of a
// bucket. Those that the model makes have names here.
inline constexpr size_t kQuantities = schema::kGpuQuantityCount;
inline constexpr size_t kIdle = schema::gpu_quantity("idle_share");  // the four shares, 0 to 1
inline constexpr size_t kGap = schema::gpu_quantity("gap_share");
inline constexpr size_t kUnsaturated = schema::gpu_quantity("unsaturated_share");
inline constexpr size_t kSaturated = schema::gpu_quantity("saturated_share");
inline constexpr size_t kUsed = schema::gpu_quantity("used_tensor_share");  // and the other limits after it
inline constexpr size_t used(Limit limit) {
    return kUsed + static_cast<size_t>(limit);
}
static_assert(used(Limit::kDram) == schema::gpu_quantity("used_dram_share"));
inline constexpr size_t kMemoryUsed = schema::gpu_quantity("memory_used_bytes");

// How much of a digest is made. Reading fewer columns of a large record takes half the time.
enum class Detail : uint8_t {
    kScore,  // what a score needs: of the quantities only the model's
    kFull,
};

inline constexpr size_t kHistogramBins = 20;  // of 0.05 each

struct GpuDigest {
    std::string node;
    std::string device;  // UUID
    int64_t index = 0;   // on the node
    std::string name;    // model; empty if it is not known
    std::string mig_profile;
    double weight = 1;
    DeviceCeilings ceilings;

    Totals totals;
    double energy_joules = 0;       // NaN if there is no counter
    double memory_total_bytes = 0;  // NaN if it was not sampled
    double flop_use = 0;            // OFU, NaN without clock or tensor pipe
    double link_bound_seconds = 0;
    double copy_driven_seconds = 0;      // device memory was used more than multiprocessors account for
    double uncounted_seconds = 0;        // observed without a limit: nothing ran, which is known
    double gap_unknown_seconds = 0;      // without engine or multiprocessors: idle and gap are not told apart
    double clock_unknown_seconds = 0;    // in which the clock counted as that of the ceilings
    double integer_unknown_seconds = 0;  // in which FP32 may hold integer work
    double pipes_mean =
        0;  // of the sum of the tensor, FP64, FP32 and FP16 pipes as sampled; NaN without them
    // Seconds of windows by their saturation.
    std::array<double, kHistogramBins> histogram{};
    // Of the whole job, the mean over the observed time or the highest sample, as the quantity says; NaN if
    // never sampled.
    std::array<double, kQuantities> whole{};
    std::array<std::vector<float>, kQuantities>
        series;  // Digest::buckets each; NaN where nothing was sampled

    double memory_peak_bytes() const { return whole[kMemoryUsed]; }
};

// The job in one second: means over the devices that were observed in it, by weight.
struct JobWindow {
    float observed = 0;  // of the allocated weight, 0 to 1
    float saturated = 0;
    float engine = 0;
    float sm = 0;
    float tensor = 0;  // as sampled
    float dram = 0;
    float power_watts = 0;
    float link_bytes_per_second = 0;  // PCIe, NVLink and C2C
};

struct Digest {
    core::Time start;  // of the allocation, or of the first sample if that is not known
    core::Time end;
    double interval_seconds = 1;  // of sampling
    double bucket_seconds = 1;
    size_t buckets = 0;
    std::vector<GpuDigest> gpus;     // by node and index; also devices without a sample
    std::vector<JobWindow> job;      // by second since `start`; NaN where nothing was observed
    std::vector<std::string> notes;  // what is wrong with the data, a sentence each
    bool empty() const { return gpus.empty(); }
};

}  // namespace belay::score

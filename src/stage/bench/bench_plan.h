// What a benchmark reads, and in which order: pure functions of sizes and a seed, so that a run can be
// repeated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace belay::stage {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): equal on
// every machine.
class BenchRandom {
  public:
    explicit BenchRandom(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint64_t below(uint64_t limit);  // 0 for a limit of 0
    double normal();                 // mean 0, standard deviation 1 (Box and Muller 1958)

  private:
    uint64_t state_;
};

// 0 to count - 1 in another order.
std::vector<uint64_t> shuffled_numbers(uint64_t count, uint64_t seed);

// Offsets of whole blocks of a file, none twice while there are enough of them.
std::vector<uint64_t> random_offsets(uint64_t file_bytes, uint64_t block_bytes, uint64_t count,
                                     uint64_t seed);

// What a model's training reads, and how long it computes (MLPerf Storage v2.0, storage-conf/workloads:
// *_h100.yaml, *_a100.yaml). How far readers are ahead follows from DLIO's prefetch_size of 2: its PyTorch
// loader (U-Net3D) has a batch in each reader, that of TensorFlow (the others) two batches and a sample in
// each reader.
struct EmulatedModel {
    std::string_view name;
    double record_bytes;  // mean
    double record_deviation;
    uint64_t samples_of_file;
    uint64_t batch;
    uint64_t readers;        // threads
    uint64_t ahead_samples;  // that they have taken before the accelerator did, at most
    uint64_t usual_steps;    // of an epoch here: enough that what was read ahead at its begin weighs little
    double h100_seconds;     // of compute in one step
    double a100_seconds;
    double pass_share;  // accelerator utilisation with which a system passes
};
std::span<const EmulatedModel> emulated_models();

// A file of an emulated data set: the sizes of its samples, which lie behind each other.
struct EmulatedFile {
    std::vector<uint64_t> samples = {};
    uint64_t bytes() const;
};
// Files for that many samples, or for as many as `most_bytes` hold, one at least. Sizes are drawn from the
// model's distribution, and are 1 KiB at least.
std::vector<EmulatedFile> plan_emulated_files(const EmulatedModel& model, uint64_t samples,
                                              uint64_t most_bytes, uint64_t seed);

struct SampleRead {
    uint64_t file =
        0;  // its number; of packed data, which are read through their index, the number of a sample
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool operator==(const SampleRead&) const = default;
};
// The reads of one epoch: files in another order in each, the samples of a file behind each other; from the
// beginning again where there are fewer than `samples`.
std::vector<SampleRead> plan_epoch(std::span<const EmulatedFile> files, uint64_t samples, uint64_t epoch,
                                   uint64_t seed);

// Of these, those of one accelerator: of each step of all of them a batch.
std::vector<SampleRead> reads_of_accelerator(std::span<const SampleRead> reads, uint64_t batch,
                                             uint64_t accelerator, uint64_t accelerators);

}  // namespace belay::stage

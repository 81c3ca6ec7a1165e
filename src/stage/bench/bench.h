// belay stage bench: how fast a file system is for what training does: read and write in order, read at
// random, make and find files, read many of them, read records of a shard, write and read checkpoints, and
// feed emulated accelerators.
//
// Everything happens in a directory of its own beneath the one that is named, which is removed at the end.
// Several nodes may measure at once (nodes.h). A read says what was done about the page cache of this
// node; what servers hold is not known here.
#pragma once

#include "stage/bench/bench_file.h"
#include "stage/bench/statistics.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace belay::stage {

// A training whose data are there already, packed.
struct GivenTraining {
    std::filesystem::path data;
    double compute_seconds = 0;  // of one step
    uint64_t batch = 1;          // samples of one step of one accelerator
    uint64_t workers = 4;   // that read, of each accelerator; 0: the program reads itself, between two steps
                            // (PyTorch's num_workers)
    uint64_t prefetch = 2;  // batches that each of them has ready (PyTorch's prefetch_factor)
};

struct BenchOptions {
    std::vector<std::string> tests = {};       // of bench_tests(); empty: all
    uint64_t bytes = uint64_t{1} << 30;        // of large files, of all threads together
    uint64_t block_bytes = uint64_t{1} << 20;  // of one read or write in order
    uint64_t random_bytes = 4096;              // of one read at random
    uint64_t operations = 10'000;              // reads at random, of all threads together
    uint64_t files = 2000;                     // of the tests of many files, and records of a shard
    uint64_t file_bytes = uint64_t{64} << 10;
    size_t threads = 4;
    DirectMode direct = DirectMode::kAuto;
    uint64_t seed = 1;
    std::vector<std::string> models = {"cosmoflow", "resnet50", "unet3d"};  // that are emulated
    bool a100 = false;                                                      // else an H100
    uint64_t accelerators = 1;
    std::optional<uint64_t> steps = {};  // of an epoch; nothing: as many as suit the model
    uint64_t epochs = 2;
    uint64_t nodes = 1;                       // that measure at once
    uint64_t rank = 0;                        // of this one
    std::optional<GivenTraining> given = {};  // only this is measured, and nothing is written
    double compute_factor = 1;                // of a step's compute time; tests set 0
    std::function<void(std::string_view phase)> progress = {};
    // Of several nodes that measure at once: waits until all have come to this part.
    std::function<core::Result<>(std::string_view part)> meet = {};
    const std::atomic<bool>* stop = nullptr;
};

struct BenchResult {
    std::string name;  // "sequential read"
    std::string unit;  // of `value`: "bytes/s", "operations/s"
    double value = 0;
    uint64_t operations = 0;
    uint64_t bytes = 0;
    double seconds = 0;             // until the last thread was done
    double first_done_seconds = 0;  // until the first was
    LatencySummary latency = {};    // of one operation
    std::string cache = {};         // what was done about the page cache
};

struct EmulationResult {
    std::string model;
    std::string accelerator = {};  // "H100"; nothing for a training of one's own
    uint64_t accelerators = 0;
    std::optional<Utilisation> utilisation = {};  // nothing where epochs are too short to have one
    std::optional<double> pass_share = {};        // nothing where no rule says what is enough
    uint64_t samples = 0;
    uint64_t distinct_samples = 0;
    double seconds = 0;
    double samples_per_second = 0;
    double bytes_per_second = 0;
    std::string cache = {};
    bool all_pass = true;  // of several nodes: each of them by itself
    // From the blocks of all epochs, the bytes that were read, and samples and seconds, which are there.
    void conclude(std::span<const Utilisation> blocks, uint64_t bytes);
    bool passes() const { return all_pass && utilisation && pass_share && utilisation->share >= *pass_share; }
};

struct BenchReport {
    std::string directory;
    std::string file_system;  // "ext4", or the number of its kind
    BenchOptions options = {};
    std::vector<BenchResult> results = {};
    std::vector<EmulationResult> emulations = {};
    std::vector<std::string> notes = {};
};

// "sequential", "random", "metadata", "files", "shard", "checkpoint", "training".
std::vector<std::string> bench_tests();

// `directory` is not used where a training is given. Errors: kBadInput for what cannot be measured; kSystem,
// kNoSpace where it does not fit, kCancelled once `stop` is set.
core::Result<BenchReport> run_bench(const std::filesystem::path& directory, const BenchOptions& options);

nlohmann::ordered_json to_json(const BenchReport& report);

// The same as other programs would measure it, where they are installed: command lines for a person to run.
std::vector<std::string> equal_commands(const BenchReport& report, bool has_elbencho, bool has_dlio);

// One quantity of two reports.
struct BenchChange {
    std::string name;
    double before = 0;
    double after = 0;
    double ratio() const { return before > 0 ? after / before : 0; }
};
struct BenchComparison {
    std::vector<BenchChange> changes = {};
    std::vector<std::string> differences =
        {};  // in what was measured, so that the numbers are not of one thing
};
// A report as --json printed it. Errors: kBadInput for any other text.
core::Result<nlohmann::ordered_json> parse_baseline(std::string_view text, const std::string& file);
// Errors: as parse_baseline().
core::Result<BenchComparison> compare_with_baseline(const BenchReport& report, std::string_view baseline,
                                                    const std::string& file);

}  // namespace belay::stage

// The training of well-known models as a file system sees it (DLIO): data like theirs, in files of our own.
#include "core/text.h"
#include "stage/bench/accelerators.h"
#include "stage/bench/bench_plan.h"

#include <algorithm>
#include <fcntl.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr size_t kReadBytes = size_t{4} << 20;
constexpr uint64_t kFewSteps = 5;  // times what is read ahead

std::string data_file(const EmulatedModel& model, uint64_t number) {
    return fmt::format("{}-{}", model.name, number);
}

EmulatedLoop loop_of(const EmulatedModel& model, const BenchOptions& options) {
    return {
        .accelerators = options.accelerators,
        .batch = model.batch,
        .readers = model.readers,
        .ahead_samples = model.ahead_samples,
        .compute_seconds = options.compute_factor * (options.a100 ? model.a100_seconds : model.h100_seconds)};
}

// What is read is thrown away, and of the page cache too, so that a sample that comes again is read from the
// file system again.
Result<> read_sample(const BenchFile& file, const SampleRead& sample, const AlignedBuffer& buffer) {
    BELAY_CHECK(file.read_all(sample.offset, sample.bytes, buffer));
    if (!file.is_direct())
        (void)posix_fadvise(file.fd(), static_cast<off_t>(sample.offset), static_cast<off_t>(sample.bytes),
                            POSIX_FADV_DONTNEED);
    return {};
}

Result<> emulate(BenchRun& run, const EmulatedModel& model) {
    const BenchOptions& options = run.options;
    const uint64_t steps = options.steps.value_or(model.usual_steps);
    const uint64_t samples = steps * model.batch * options.accelerators;
    const auto planned = plan_emulated_files(model, samples, options.bytes, options.seed);
    EmulationResult result{.model = std::string(model.name),
                           .accelerator = options.a100 ? "A100" : "H100",
                           .accelerators = options.accelerators,
                           .pass_share = model.pass_share};
    for (uint64_t number = 0; number < planned.size(); ++number) {
        BELAY_CHECK(write_bench_file(run, data_file(model, number), planned[number].bytes()));
        result.distinct_samples += planned[number].samples.size();
    }
    const EmulatedLoop loop = loop_of(model, options);
    std::vector<AlignedBuffer> buffers;  // one of each reader
    for (uint64_t reader = 0; reader < loop.accelerators * loop.readers; ++reader)
        buffers.emplace_back(kReadBytes);
    std::vector<Utilisation> blocks;
    uint64_t bytes = 0;
    CacheDrop drop;
    for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
        run.say(fmt::format("{}, epoch {}", model.name, epoch + 1));
        std::vector<BenchFile> files;
        for (uint64_t number = 0; number < planned.size(); ++number) {
            BELAY_TRY(file, drop.open(run, data_file(model, number)));
            files.push_back(std::move(file));
        }
        const auto reads = plan_epoch(planned, samples, epoch, options.seed);
        if (options.meet) BELAY_CHECK(options.meet(fmt::format("{}, epoch {}", model.name, epoch + 1)));
        BELAY_TRY(ran, run_emulated_epoch(run, loop, reads, [&](size_t reader, const SampleRead& sample) {
                      return read_sample(files[sample.file], sample, buffers[reader]);
                  }));
        blocks.insert(blocks.end(), ran.blocks.begin(), ran.blocks.end());
        result.seconds += ran.seconds;
        result.samples += reads.size();
        for (const SampleRead& read : reads) bytes += read.bytes;
    }
    result.conclude(blocks, bytes);
    result.cache = drop.describe();
    if (result.distinct_samples < samples)
        run.report.notes.push_back(fmt::format(
            "{}: an epoch reads {}, of which {} distinct; a larger --size makes more of them distinct",
            model.name, core::format_count(samples, "sample"),
            core::format_count(result.distinct_samples, "is", "are")));
    if (steps * model.batch < kFewSteps * model.ahead_samples)
        run.report.notes.push_back(
            fmt::format("{}: an epoch of {} is short: readers may be ahead by {:.1f} steps when it begins, "
                        "which makes the "
                        "utilisation look better",
                        model.name, core::format_count(steps, "step"),
                        static_cast<double>(model.ahead_samples) / static_cast<double>(model.batch)));
    run.report.emulations.push_back(std::move(result));
    // Another model needs the room.
    for (uint64_t number = 0; number < planned.size(); ++number) {
        BELAY_CHECK(run.directory.remove_file(data_file(model, number)));
        run.written.erase(data_file(model, number));
    }
    return {};
}

}  // namespace

Result<> emulate_training(BenchRun& run) {
    for (const std::string& name : run.options.models) {
        const auto model = std::ranges::find(emulated_models(), name, &EmulatedModel::name);
        BELAY_CHECK(emulate(run, *model));
    }
    run.report.notes.emplace_back(
        "training is emulated as MLPerf Storage v2 does it, but with less data than five times the memory "
        "and fewer steps: it is not a result of MLPerf Storage");
    return {};
}

}  // namespace belay::stage

// A training of one's own as a file system sees it: its packed data are read through their index, as the
// reader for programs does it (shard/reader), in batches and at the pace that people state.
#include "core/text.h"
#include "core/utf8.h"
#include "shard/reader/errors.h"
#include "stage/bench/accelerators.h"
#include "stage/dataset/dataset.h"

#include <algorithm>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Result;

EmulatedLoop loop_of(const GivenTraining& given, uint64_t accelerators) {
    const bool has_workers = given.workers > 0;
    return {.accelerators = accelerators,
            .batch = given.batch,
            .readers = std::max<uint64_t>(given.workers, 1),
            .ahead_samples = has_workers ? given.workers * given.prefetch * given.batch : given.batch,
            .reads_in_step = !has_workers,
            .compute_seconds = given.compute_seconds};
}

// Copied, as a program copies it that decodes it.
uint64_t read_sample(const shards::Dataset& data, uint64_t number, std::string& buffer) {
    uint64_t bytes = 0;
    for (const shards::Record& record : data.sample(number)) {
        buffer.assign(record.content);
        bytes += buffer.size();
    }
    return bytes;
}

Result<shard::Manifest> manifest_of(const BenchRun& run, uint64_t step_samples) {
    BELAY_TRY(manifest, read_manifest(run.directory));
    const std::string path = core::printable(run.directory.path().string());
    if (manifest.format != shard::Format::kTar)
        return bad_input("{} is an image, not tar shards", path)
            .hint("pack the data with: belay stage pack DIR -o OUT");
    if (manifest.samples() < step_samples)
        return bad_input("{} holds {}, but one step takes {}", path,
                         core::format_count(manifest.samples(), "sample"), step_samples)
            .hint("write a smaller --batch");
    return manifest;
}

// As the training shuffles them: every sample once, those of all shards mixed.
std::vector<SampleRead> epoch_order(uint64_t samples, uint64_t wanted, uint64_t seed) {
    std::vector<SampleRead> order;
    for (const uint64_t number : shuffled_numbers(samples, seed)) {
        if (order.size() == wanted) break;
        order.push_back({.file = number});
    }
    return order;
}

}  // namespace

Result<> emulate_given_training(BenchRun& run) {
    const BenchOptions& options = run.options;
    const EmulatedLoop loop = loop_of(*options.given, options.accelerators);
    const uint64_t node_samples = loop.batch * loop.accelerators;
    const uint64_t step_samples = node_samples * options.nodes;
    BELAY_TRY(manifest, manifest_of(run, step_samples));
    const uint64_t all_steps = manifest.samples() / step_samples;
    const uint64_t steps = std::min(options.steps.value_or(all_steps), all_steps);
    EmulationResult result{.model = manifest.name,
                           .accelerators = options.accelerators,
                           .distinct_samples = steps * node_samples};
    struct Reader {
        std::string buffer = {};
        uint64_t bytes = 0;
    };
    std::vector<Reader> readers(loop.accelerators * loop.readers);
    std::vector<Utilisation> blocks;
    CacheDrop drop;
    for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
        const std::string part = fmt::format("{}, epoch {}", core::printable(manifest.name), epoch + 1);
        run.say(part);
        // Before they are mapped: pages that are mapped stay.
        for (const shard::ManifestShard& shard : manifest.shards) BELAY_CHECK(drop.open(run, shard.path));
        BELAY_TRY(data, shard::with_reader_errors([&]() -> Result<std::unique_ptr<shards::Dataset>> {
                      return std::make_unique<shards::Dataset>(options.given->data.string());
                  }));
        if (data->size() < manifest.samples())
            return bad_input("{} holds fewer samples than its manifest says", options.given->data.string());
        // Each node a part of them, as the ranks of a training.
        const auto all = epoch_order(manifest.samples(), steps * step_samples, options.seed + epoch);
        const auto order = reads_of_accelerator(all, node_samples, options.rank, options.nodes);
        if (options.meet) BELAY_CHECK(options.meet(part));
        BELAY_TRY(ran, run_emulated_epoch(run, loop, order, [&](size_t number, const SampleRead& sample) {
                      Reader& reader = readers[number];
                      return shard::with_reader_errors([&]() -> Result<> {
                          reader.bytes += read_sample(*data, sample.file, reader.buffer);
                          return {};
                      });
                  }));
        blocks.insert(blocks.end(), ran.blocks.begin(), ran.blocks.end());
        result.samples += order.size();
        result.seconds += ran.seconds;
    }
    uint64_t bytes = 0;
    for (const Reader& reader : readers) bytes += reader.bytes;
    result.conclude(blocks, bytes);
    result.cache = drop.describe();
    run.report.emulations.push_back(std::move(result));
    return {};
}

}  // namespace belay::stage

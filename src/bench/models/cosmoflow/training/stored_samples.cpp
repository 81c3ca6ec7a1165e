#include "bench/models/cosmoflow/training/stored_samples.h"

#include "bench/models/cosmoflow/kernels.h"
#include "core/directory.h"
#include "core/file.h"
#include "core/output.h"
#include "core/parallel.h"
#include "core/program.h"
#include "shard/manifest.h"
#include "shard/reader/errors.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace belay::bench::cosmoflow {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

StoredSamples::StoredSamples(Reader read, uint32_t side)
    : read_(std::move(read)), values_per_sample_(kChannels * static_cast<size_t>(side) * side * side) {}

Result<StoredSamples> StoredSamples::open(const fs::path& path, uint32_t side, const Share& share) {
    BELAY_TRY(opened, core::Directory::open(path));
    auto directory = std::make_shared<const core::Directory>(std::move(opened));
    BELAY_TRY(manifest, directory->facts(shard::kManifestName));
    Reader read;
    if (manifest) {
        BELAY_TRY(data, shard::with_reader_errors([&]() -> Result<std::shared_ptr<const shards::Dataset>> {
                      return std::make_shared<const shards::Dataset>(path.string());
                  }));
        read = [data, side](const std::string& name, std::span<int16_t> counts) -> Result<Parameters> {
            const auto record = data->find(name);
            if (!record) return bad_input("it is not among the packed files");
            return decode_universe(record->content, side, counts);
        };
    } else {
        read = [directory, side](const std::string& name, std::span<int16_t> counts) -> Result<Parameters> {
            BELAY_TRY(bytes, directory->read_file(name, universe_bytes(side) + 1));
            return decode_universe(bytes, side, counts);
        };
    }
    StoredSamples samples(
        [read, path](const std::string& name, std::span<int16_t> counts) {
            return core::with_context(read(name, counts), (path / name).string());
        },
        side);
    Batch batch;
    for (const auto& [split, indices] :
         {std::pair(Split::kTrain, share.train), std::pair(Split::kEval, share.eval)})
        if (!indices.empty()) BELAY_CHECK(samples.load(split, std::span(indices).first(1), batch));
    return samples;
}

Result<> StoredSamples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
    batch.samples = indices.size();
    batch.inputs.resize(indices.size() * values_per_sample_);
    batch.targets.resize(indices.size() * kParameters);
    std::vector<int16_t> counts(values_per_sample_);
    for (size_t i = 0; i < indices.size(); ++i) {
        BELAY_TRY(parameters, read_(universe_name(split, indices[i]), counts));
        log_counts(counts, batch.inputs.data() + i * values_per_sample_);
        std::ranges::copy(parameters, batch.targets.begin() + static_cast<ptrdiff_t>(i * kParameters));
    }
    return {};
}

Result<> write_samples(const fs::path& path, uint32_t side, uint64_t seed, const Profile& profile,
                       int threads) {
    for (const char* split : {"train", "eval"}) BELAY_CHECK(core::make_directories(path / split));
    const auto train = static_cast<uint32_t>(profile.train_samples);
    const uint32_t all = train + static_cast<uint32_t>(profile.eval_samples);
    std::atomic<uint32_t> next = 0;
    // A generator has tables and buffers of its own: one for each thread.
    auto write_some = [&](size_t) -> Result<> {
        UniverseGenerator generator(side, seed);
        std::vector<int16_t> counts(generator.values_per_universe());
        for (uint32_t number = next++; number < all; number = next++) {
            const Split split = number < train ? Split::kTrain : Split::kEval;
            const uint32_t index = number < train ? number : number - train;
            const Parameters parameters = generator.make(split, index, counts);
            BELAY_CHECK(core::write_output(path / universe_name(split, index),
                                           encode_universe(side, parameters, counts)));
        }
        return {};
    };
    const auto count = static_cast<size_t>(std::max(threads, 1));
    return core::with_context(
        core::in_parallel(
            count, count,
            [&](size_t number) { return core::without_exceptions([&] { return write_some(number); }); }),
        fmt::format("cannot write {} samples", all));
}

}  // namespace belay::bench::cosmoflow

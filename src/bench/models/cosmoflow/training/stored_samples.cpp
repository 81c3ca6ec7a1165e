#include "bench/models/cosmoflow/training/stored_samples.h"

#include "bench/models/cosmoflow/kernels.h"

#include <algorithm>
#include <memory>

namespace belay::bench::cosmoflow {

using core::Result;

StoredSamples::StoredSamples(SampleFiles files, uint32_t side)
    : files_(std::move(files)),
      side_(side),
      values_per_sample_(kChannels * static_cast<size_t>(side) * side * side) {}

Result<StoredSamples> StoredSamples::open(const std::filesystem::path& path, uint32_t side,
                                          const Share& share) {
    BELAY_TRY(files, SampleFiles::open(path, universe_bytes(side)));
    StoredSamples samples(std::move(files), side);
    BELAY_CHECK(load_first(samples, share));
    return samples;
}

Result<> StoredSamples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
    batch.samples = indices.size();
    batch.inputs.resize(indices.size() * values_per_sample_);
    batch.targets.resize(indices.size() * kParameters);
    std::vector<int16_t> counts(values_per_sample_);
    for (size_t i = 0; i < indices.size(); ++i) {
        Parameters parameters{};
        BELAY_CHECK(files_.read(universe_name(split, indices[i]), [&](std::string_view bytes) -> Result<> {
            BELAY_TRY(decoded, decode_universe(bytes, side_, counts));
            parameters = decoded;
            return {};
        }));
        log_counts(counts, batch.inputs.data() + i * values_per_sample_);
        std::ranges::copy(parameters, batch.targets.begin() + static_cast<ptrdiff_t>(i * kParameters));
    }
    return {};
}

Result<> write_samples(const std::filesystem::path& path, uint32_t side, uint64_t seed,
                       const Profile& profile, int threads) {
    return write_sample_files(path, profile, threads, universe_name, [&] {
        auto generator = std::make_shared<UniverseGenerator>(side, seed);
        return [generator, side, counts = std::vector<int16_t>(generator->values_per_universe())](
                   Split split, uint32_t index) mutable {
            const Parameters parameters = generator->make(split, index, counts);
            return encode_universe(side, parameters, counts);
        };
    });
}

}  // namespace belay::bench::cosmoflow

#include "bench/models/cosmoflow/training/stored_samples.h"

#include "bench/models/cosmoflow/files/universe_directory.h"
#include "bench/models/cosmoflow/kernels.h"
#include "bench/models/cosmoflow/universe_file.h"
#include "bench/train/sample_files.h"
#include "core/directory.h"
#include "shard/manifest.h"

#include <algorithm>
#include <memory>

namespace belay::bench::cosmoflow {

namespace fs = std::filesystem;
using core::Result;

namespace {

enum class Layout { kPacked, kUniverses, kRecords };

// What the directory holds. One with half a million files is listed only where their names are not known beforehand.
Result<Layout> layout_of(const fs::path& path) {
    BELAY_TRY(directory, core::Directory::open(path));
    BELAY_TRY(manifest, directory.facts(shard::kManifestName));
    if (manifest) return Layout::kPacked;
    BELAY_TRY(first, directory.facts(universe_name(Split::kTrain, 0)));
    if (first) return Layout::kUniverses;
    BELAY_TRY(train, directory.facts("train"));
    if (train) {
        BELAY_TRY(beneath, directory.enter("train"));
        BELAY_TRY(names, beneath.list());
        if (std::ranges::any_of(names, is_universe_record_name)) return Layout::kRecords;
        if (std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(".universe"); }))
            return Layout::kUniverses;
    }
    return core::bad_input("{} has no samples of CosmoFlow", path.string())
        .hint(
            "it needs train/ and eval/ with what --write-data writes, loose or packed by \"belay stage "
            "pack\", or train/ and "
            "validation/ with *.tfrecord, as the data of MLPerf HPC have them");
}

}  // namespace

StoredSamples::StoredSamples(Read read, uint32_t side)
    : read_(std::move(read)), values_per_sample_(kChannels * static_cast<size_t>(side) * side * side) {}

Result<StoredSamples::Read> StoredSamples::reader_of(const DataSource& source, uint32_t side) {
    BELAY_TRY(layout, layout_of(source.listed_in()));
    if (layout == Layout::kRecords) {
        BELAY_TRY(opened, UniverseDirectory::open(source.directory, source.listed_in(), side));
        auto directory = std::make_shared<const UniverseDirectory>(std::move(opened));
        return [directory](Split split, uint32_t index, std::span<int16_t> counts) {
            return directory->read(split, index, counts);
        };
    }
    BELAY_TRY(files, SampleFiles::open(source.directory, universe_bytes(side)));
    return [files = std::move(files), side](Split split, uint32_t index,
                                            std::span<int16_t> counts) -> Result<Parameters> {
        Parameters parameters{};
        BELAY_CHECK(files.read(universe_name(split, index), [&](std::string_view bytes) -> Result<> {
            BELAY_TRY(decoded, decode_universe(bytes, side, counts));
            parameters = decoded;
            return {};
        }));
        return parameters;
    };
}

Result<StoredSamples> StoredSamples::open(const DataSource& source, uint32_t side, const Share& share) {
    BELAY_TRY(read, reader_of(source, side));
    StoredSamples samples(std::move(read), side);
    BELAY_CHECK(load_first(samples, share));
    return samples;
}

Result<> StoredSamples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
    batch.samples = indices.size();
    batch.inputs.resize(indices.size() * values_per_sample_);
    batch.targets.resize(indices.size() * kParameters);
    std::vector<int16_t> counts(values_per_sample_);
    for (size_t i = 0; i < indices.size(); ++i) {
        BELAY_TRY(parameters, read_(split, indices[i], counts));
        log_counts(counts, batch.inputs.data() + i * values_per_sample_);
        std::ranges::copy(parameters, batch.targets.begin() + static_cast<ptrdiff_t>(i * kParameters));
    }
    return {};
}

Result<std::vector<std::string>> files_of_share(const fs::path& path, uint32_t side, const Share& share) {
    BELAY_TRY(layout, layout_of(path));
    if (layout == Layout::kPacked) return std::vector<std::string>();
    if (layout == Layout::kUniverses) return names_of_share(share, universe_name);
    BELAY_TRY(directory, UniverseDirectory::open(path, path, side));
    return names_of_share(
        share, [&](Split split, uint32_t index) { return directory.samples().name(split, index); });
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

#include "bench/models/oc20/training/samples.h"

#include "bench/models/oc20/files/trajectories.h"
#include "bench/models/oc20/generator.h"
#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/structure_file.h"
#include "bench/train/sample_files.h"
#include "core/directory.h"
#include "core/program.h"
#include "shard/manifest.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace belay::bench::oc20 {

namespace fs = std::filesystem;
using core::Result;

namespace {

constexpr std::array kSplits = {Split::kTrain, Split::kEval};

const std::vector<uint32_t>& indices_of(const Share& share, Split split) {
    return split == Split::kTrain ? share.train : share.eval;
}

// Structures in memory, of both splits.
struct Store {
    std::array<std::vector<Structure>, 2> structures;
    std::array<std::unordered_map<uint32_t, size_t>, 2> places;
};

Result<std::shared_ptr<const Store>> make_store(const Size& size, uint64_t seed, const Share& share,
                                                int threads) {
    auto store = std::make_shared<Store>();
    for (size_t split = 0; split < kSplits.size(); ++split) {
        const std::vector<uint32_t>& indices = indices_of(share, kSplits[split]);
        std::vector<Structure>& structures = store->structures[split];
        structures.resize(indices.size());
        for (size_t place = 0; place < indices.size(); ++place) store->places[split][indices[place]] = place;
        BELAY_CHECK(on_threads(indices.size(), threads, [&] {
            return [&](size_t place) -> Result<> {
                structures[place] = make_structure(size, seed, kSplits[split], indices[place]);
                return {};
            };
        }));
    }
    return store;
}

}  // namespace

Result<Samples> Samples::make(const Size& size, uint64_t seed, const Share& share, int threads) {
    BELAY_TRY(store, core::with_context(
                         core::without_exceptions([&] { return make_store(size, seed, share, threads); }),
                         fmt::format("cannot make {} samples", share.train.size() + share.eval.size())));
    return Samples([store](Split split, uint32_t index) -> Result<Structure> {
        const size_t number = split == Split::kTrain ? 0 : 1;
        return store->structures[number][store->places[number].at(index)];
    });
}

Result<Samples> Samples::open(const Size& size, const fs::path& path, const Share& share) {
    Reader read;
    BELAY_TRY(are_own, Trajectories::are_in(path / "train"));
    if (are_own) {
        BELAY_TRY(train, Trajectories::open(path / "train"));
        BELAY_TRY(eval, Trajectories::open(path / "eval"));
        auto both = std::make_shared<const std::array<Trajectories, 2>>(
            std::array<Trajectories, 2>{std::move(train), std::move(eval)});
        read = [both, cutoff = size.cutoff](Split split, uint32_t index) {
            return (*both)[split == Split::kTrain ? 0 : 1].read(index, cutoff);
        };
    } else {
        BELAY_TRY(files, SampleFiles::open(path, maximum_structure_bytes()));
        read = [files = std::move(files), cutoff = size.cutoff](Split split,
                                                                uint32_t index) -> Result<Structure> {
            Structure structure;
            BELAY_CHECK(files.read(structure_name(split, index), [&](std::string_view bytes) -> Result<> {
                BELAY_TRY(decoded, decode_structure(bytes, cutoff));
                structure = std::move(decoded);
                return {};
            }));
            return structure;
        };
    }
    Samples samples(std::move(read));
    BELAY_CHECK(load_first(samples, share));
    return samples;
}

Result<> Samples::load(Split split, std::span<const uint32_t> indices, Batch& batch) const {
    batch.samples = indices.size();
    batch.inputs.clear();
    batch.targets.clear();
    for (uint32_t index : indices) {
        BELAY_TRY(structure, read_(split, index));
        append_to_batch(structure, batch.inputs, batch.targets);
    }
    return {};
}

Result<std::vector<std::string>> files_of_share(const fs::path& path, const Share& share) {
    BELAY_TRY(are_own, Trajectories::are_in(path / "train"));
    BELAY_TRY(directory, core::Directory::open(path));
    BELAY_TRY(manifest, directory.facts(shard::kManifestName));
    if (are_own || manifest) return std::vector<std::string>();
    return names_of_share(share, structure_name);
}

Result<> write_samples(const fs::path& path, const Size& size, uint64_t seed, const Profile& profile,
                       int threads) {
    return write_sample_files(path, profile, threads, structure_name, [&] {
        return [&](Split split, uint32_t index) {
            return encode_structure(make_structure(size, seed, split, index));
        };
    });
}

}  // namespace belay::bench::oc20

#include "bench/models/oc20/training/samples.h"

#include "bench/models/oc20/files/trajectories.h"
#include "bench/models/oc20/generator.h"
#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/structure_file.h"
#include "core/directory.h"
#include "core/output.h"
#include "core/parallel.h"
#include "core/program.h"
#include "shard/manifest.h"
#include "shard/reader/errors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

namespace belay::bench::oc20 {

namespace fs = std::filesystem;
using core::bad_input;
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
        std::atomic<size_t> next = 0;
        const auto count = static_cast<size_t>(std::max(threads, 1));
        BELAY_CHECK(core::in_parallel(count, count, [&](size_t) -> Result<> {
            for (size_t place = next++; place < indices.size(); place = next++)
                structures[place] = make_structure(size, seed, kSplits[split], indices[place]);
            return {};
        }));
    }
    return store;
}

using ReadByName = std::function<Result<Structure>(const std::string& name)>;

Result<ReadByName> reader_of_files(const fs::path& path, double cutoff) {
    BELAY_TRY(opened, core::Directory::open(path));
    auto directory = std::make_shared<const core::Directory>(std::move(opened));
    BELAY_TRY(manifest, directory->facts(shard::kManifestName));
    if (!manifest)
        return [directory, cutoff](const std::string& name) -> Result<Structure> {
            BELAY_TRY(bytes, directory->read_file(name, maximum_structure_bytes() + 1));
            return decode_structure(bytes, cutoff);
        };
    BELAY_TRY(data, shard::with_reader_errors([&]() -> Result<std::shared_ptr<const shards::Dataset>> {
                  return std::make_shared<const shards::Dataset>(path.string());
              }));
    return [data, cutoff](const std::string& name) -> Result<Structure> {
        const auto record = data->find(name);
        if (!record) return bad_input("it is not among the packed files");
        return decode_structure(record->content, cutoff);
    };
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
    if (Trajectories::are_in(path / "train")) {
        BELAY_TRY(train, Trajectories::open(path / "train"));
        BELAY_TRY(eval, Trajectories::open(path / "eval"));
        auto both = std::make_shared<const std::array<Trajectories, 2>>(
            std::array<Trajectories, 2>{std::move(train), std::move(eval)});
        read = [both, cutoff = size.cutoff](Split split, uint32_t index) {
            return (*both)[split == Split::kTrain ? 0 : 1].read(index, cutoff);
        };
    } else {
        BELAY_TRY(by_name, reader_of_files(path, size.cutoff));
        read = [by_name, path](Split split, uint32_t index) {
            const std::string name = structure_name(split, index);
            return core::with_context(by_name(name), (path / name).string());
        };
    }
    Samples samples(std::move(read));
    Batch batch;
    for (Split split : kSplits) {
        const std::vector<uint32_t>& indices = indices_of(share, split);
        if (!indices.empty()) BELAY_CHECK(samples.load(split, std::span(indices).first(1), batch));
    }
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

Result<> write_samples(const fs::path& path, const Size& size, uint64_t seed, const Profile& profile,
                       int threads) {
    for (const char* split : {"train", "eval"}) BELAY_CHECK(core::make_directories(path / split));
    const auto train = static_cast<uint32_t>(profile.train_samples);
    const uint32_t all = train + static_cast<uint32_t>(profile.eval_samples);
    std::atomic<uint32_t> next = 0;
    auto write_some = [&](size_t) -> Result<> {
        for (uint32_t number = next++; number < all; number = next++) {
            const Split split = number < train ? Split::kTrain : Split::kEval;
            const uint32_t index = number < train ? number : number - train;
            BELAY_CHECK(core::write_output(path / structure_name(split, index),
                                           encode_structure(make_structure(size, seed, split, index))));
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

}  // namespace belay::bench::oc20

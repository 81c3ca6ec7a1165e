#include "bench/train/sample_files.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/output.h"
#include "core/parallel.h"
#include "core/program.h"
#include "shard/manifest.h"
#include "shard/reader/errors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>

namespace belay::bench {

using core::Result;

namespace {

constexpr const char* kFewer =
    "the directory may hold fewer samples, or those of another model: --train-samples and --eval-samples say "
    "how many are "
    "taken, --write-data writes them";

std::array<std::pair<Split, std::span<const uint32_t>>, 2> by_split(const Share& share) {
    return {{{Split::kTrain, share.train}, {Split::kEval, share.eval}}};
}

}  // namespace

Result<> on_threads(size_t count, int threads,
                    const std::function<std::function<Result<>(size_t)>()>& start) {
    std::atomic<size_t> next = 0;
    const auto workers = static_cast<size_t>(std::max(threads, 1));
    return core::in_parallel(workers, workers, [&](size_t) {
        return core::without_exceptions([&]() -> Result<> {
            const auto work = start();
            for (size_t number = next++; number < count; number = next++) BELAY_CHECK(work(number));
            return {};
        });
    });
}

Result<> write_sample_files(const std::filesystem::path& directory, const Profile& profile, int threads,
                            std::string (*name)(Split split, uint32_t index),
                            const std::function<std::function<std::string(Split, uint32_t)>()>& start) {
    for (const char* split : {"train", "eval"}) BELAY_CHECK(core::make_directories(directory / split));
    BELAY_CHECK(core::Directory::open_trusted(directory));
    const auto train = static_cast<size_t>(profile.train_samples);
    const size_t all = train + static_cast<size_t>(profile.eval_samples);
    auto begin = [&]() -> std::function<Result<>(size_t)> {
        return [&, make = start()](size_t number) {
            const Split split = number < train ? Split::kTrain : Split::kEval;
            const auto index = static_cast<uint32_t>(number < train ? number : number - train);
            return core::write_output(directory / name(split, index), make(split, index));
        };
    };
    return core::with_context(on_threads(all, threads, begin), fmt::format("cannot write {} samples", all));
}

Result<SampleFiles> SampleFiles::open(const std::filesystem::path& path, size_t most_bytes) {
    BELAY_TRY(opened, core::Directory::open(path));
    BELAY_TRY(manifest, opened.facts(shard::kManifestName));
    if (!manifest) {
        auto directory = std::make_shared<const core::Directory>(std::move(opened));
        return SampleFiles([directory, most_bytes](const std::string& name, const auto& use) -> Result<> {
            auto bytes = directory->read_file(name, most_bytes + 1);
            if (!bytes && bytes.error().cause() == core::Cause::kNotFound)
                return std::unexpected(std::move(bytes.error()).hint(kFewer));
            if (!bytes) return std::unexpected(std::move(bytes.error()));
            return core::with_context(use(*bytes), directory->path_of(name).string());
        });
    }
    BELAY_TRY(data, shard::with_reader_errors([&]() -> Result<std::shared_ptr<const shards::Dataset>> {
                  return std::make_shared<const shards::Dataset>(path.string());
              }));
    return SampleFiles([data, path](const std::string& name, const auto& use) -> Result<> {
        const std::string shown = (path / name).string();
        const auto record = data->find(name);
        if (!record) return core::bad_input("{} is not among the packed files", shown).hint(kFewer);
        if (!record->is_intact())
            return core::bad_input("{} is damaged: its checksum is not that of the index", shown)
                .hint("see what else is, and get it back: belay stage verify, belay stage repair");
        return core::with_context(use(record->content), shown);
    });
}

Result<> SampleFiles::read(const std::string& name,
                           const std::function<Result<>(std::string_view bytes)>& use) const {
    return read_(name, use);
}

Result<std::vector<std::string>> names_of_share(
    const Share& share, const std::function<Result<std::string>(Split, uint32_t)>& name) {
    std::vector<std::string> names;
    for (const auto& [split, indices] : by_split(share))
        for (const uint32_t index : indices) {
            BELAY_TRY(its_name, name(split, index));
            names.push_back(std::move(its_name));
        }
    return names;
}

Result<> load_first(const Data& data, const Share& share) {
    Batch batch;
    for (const auto& [split, indices] : by_split(share))
        if (!indices.empty()) BELAY_CHECK(data.load(split, indices.first(1), batch));
    return {};
}

}  // namespace belay::bench

#include "bench/models/deepcam/training/samples.h"

#include "bench/models/deepcam/climate.h"
#include "bench/models/deepcam/climate_file.h"
#include "bench/models/deepcam/files/climate_directory.h"
#include "bench/train/sample_files.h"
#include "core/directory.h"
#include "core/program.h"
#include "shard/manifest.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace belay::bench::deepcam {

namespace {

namespace fs = std::filesystem;
using core::Result;

size_t cells_of(const Shape& image) {
    return static_cast<size_t>(image.cells());
}
size_t values_of(const Shape& image) {
    return cells_of(image) * static_cast<size_t>(image.channels);
}

// Data of samples that `read` writes one by one.
class Samples : public Data {
  public:
    using Read = std::function<Result<>(Split split, uint32_t index, std::span<float> values,
                                        std::span<uint8_t> mask)>;

    Samples(const Shape& image, Read read)
        : values_(values_of(image)), cells_(cells_of(image)), read_(std::move(read)) {}

    Result<> load(Split split, std::span<const uint32_t> indices, Batch& batch) const override {
        batch.samples = indices.size();
        batch.inputs.resize(indices.size() * values_);
        batch.targets.resize(indices.size() * cells_);
        std::vector<uint8_t> mask(cells_);
        for (size_t i = 0; i < indices.size(); ++i) {
            BELAY_CHECK(
                read_(split, indices[i], std::span(batch.inputs).subspan(i * values_, values_), mask));
            std::ranges::copy(mask, batch.targets.begin() + static_cast<ptrdiff_t>(i * cells_));
        }
        return {};
    }

  private:
    size_t values_, cells_;
    Read read_;
};

// What is kept in memory of one split.
struct Kept {
    std::vector<float> values;
    std::vector<uint8_t> masks;
    std::unordered_map<uint32_t, size_t> places;
};

Result<Kept> make_split(const Shape& image, uint64_t seed, Split split, const std::vector<uint32_t>& indices,
                        int threads) {
    Kept kept;
    auto start = [&] {
        auto generator = std::make_shared<ClimateGenerator>(image, seed);
        return [&, generator](size_t place) -> Result<> {
            generator->make(split, indices[place],
                            std::span(kept.values).subspan(place * values_of(image), values_of(image)),
                            std::span(kept.masks).subspan(place * cells_of(image), cells_of(image)));
            return {};
        };
    };
    auto made = core::without_exceptions([&]() -> Result<> {
        kept.values.resize(indices.size() * values_of(image));
        kept.masks.resize(indices.size() * cells_of(image));
        for (size_t place = 0; place < indices.size(); ++place) kept.places[indices[place]] = place;
        return on_threads(indices.size(), threads, start);
    });
    BELAY_CHECK(core::with_context(std::move(made), fmt::format("cannot make {} samples", indices.size())));
    return kept;
}

// Of files that write_samples() wrote.
Result<Samples::Read> reader_of_files(const fs::path& path, const Shape& image) {
    BELAY_TRY(files, SampleFiles::open(path, climate_bytes(image)));
    return Samples::Read([files = std::move(files), image](Split split, uint32_t index,
                                                           std::span<float> values, std::span<uint8_t> mask) {
        return files.read(climate_name(split, index),
                          [&](std::string_view bytes) { return decode_climate(bytes, image, values, mask); });
    });
}

Result<Samples::Read> reader_of(const DataSource& source, const Shape& image) {
    BELAY_TRY(is_own, ClimateDirectory::is_at(source.listed_in()));
    if (!is_own) return reader_of_files(source.directory, image);
    BELAY_TRY(opened, ClimateDirectory::open(source.directory, source.listed_in(), image));
    auto directory = std::make_shared<const ClimateDirectory>(std::move(opened));
    return Samples::Read(
        [directory](Split split, uint32_t index, std::span<float> values, std::span<uint8_t> mask) {
            return directory->read(split, index, values, mask);
        });
}

}  // namespace

Result<std::unique_ptr<Data>> make_samples(const Shape& image, uint64_t seed, const Share& share,
                                           int threads) {
    BELAY_TRY(train, make_split(image, seed, Split::kTrain, share.train, threads));
    BELAY_TRY(eval, make_split(image, seed, Split::kEval, share.eval, threads));
    auto kept = std::make_shared<const std::pair<Kept, Kept>>(std::move(train), std::move(eval));
    return std::make_unique<Samples>(
        image,
        [kept, image](Split split, uint32_t index, std::span<float> values,
                      std::span<uint8_t> mask) -> Result<> {
            const Kept& of_split = split == Split::kTrain ? kept->first : kept->second;
            const size_t place = of_split.places.at(index);
            std::ranges::copy(std::span(of_split.values).subspan(place * values.size(), values.size()),
                              values.begin());
            std::ranges::copy(std::span(of_split.masks).subspan(place * mask.size(), mask.size()),
                              mask.begin());
            return {};
        });
}

Result<std::unique_ptr<Data>> open_samples(const DataSource& source, const Shape& image, const Share& share) {
    BELAY_TRY(read, reader_of(source, image));
    auto samples = std::make_unique<Samples>(image, std::move(read));
    BELAY_CHECK(load_first(*samples, share));
    return samples;
}

Result<std::vector<std::string>> files_of_share(const fs::path& path, const Shape& image,
                                                const Share& share) {
    BELAY_TRY(is_own, ClimateDirectory::is_at(path));
    if (!is_own) {
        BELAY_TRY(directory, core::Directory::open(path));
        BELAY_TRY(manifest, directory.facts(shard::kManifestName));
        return manifest ? std::vector<std::string>() : names_of_share(share, climate_name);
    }
    BELAY_TRY(directory, ClimateDirectory::open(path, path, image));
    auto names = names_of_share(
        share, [&](Split split, uint32_t index) { return directory.samples().name(split, index); });
    if (names) names->emplace(names->begin(), kRangesName);
    return names;
}

Result<> write_samples(const fs::path& path, const Shape& image, uint64_t seed, const Profile& profile,
                       int threads) {
    return write_sample_files(path, profile, threads, climate_name, [&] {
        auto generator = std::make_shared<ClimateGenerator>(image, seed);
        return [generator, image, values = std::vector<float>(values_of(image)),
                mask = std::vector<uint8_t>(cells_of(image))](Split split, uint32_t index) mutable {
            generator->make(split, index, values, mask);
            return encode_climate(image, values, mask);
        };
    });
}

}  // namespace belay::bench::deepcam

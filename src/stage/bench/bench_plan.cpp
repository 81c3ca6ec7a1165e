#include "stage/bench/bench_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <unordered_set>

namespace belay::stage {

namespace {

constexpr double kLeastSample = 1024;
constexpr uint64_t kMostShuffled = uint64_t{1}
                                   << 24;  // blocks whose whole order is made; of more, offsets are drawn

constexpr std::array<EmulatedModel, 3> kModels = {{
    {"unet3d", 146'600'628, 68'341'808, 1, 7, 4, 28, 20, 0.323, 0.636, 0.9},
    {"resnet50", 114'660, 0, 1251, 400, 8, 808, 40, 0.224, 0.435, 0.9},
    {"cosmoflow", 2'828'486, 71'311, 1, 1, 4, 6, 500, 0.00350, 0.00551, 0.7},
}};

}  // namespace

uint64_t BenchRandom::next() {
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t value = state_;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

// The bias of a remainder is far below what is measured here.
uint64_t BenchRandom::below(uint64_t limit) {
    return limit == 0 ? 0 : next() % limit;
}

double BenchRandom::normal() {
    constexpr double kUnit = 0x1p-53;
    const double first = (static_cast<double>(next() >> 11U) + 1) * kUnit;
    const double second = static_cast<double>(next() >> 11U) * kUnit;
    return std::sqrt(-2 * std::log(first)) * std::cos(2 * std::numbers::pi * second);
}

std::vector<uint64_t> shuffled_numbers(uint64_t count, uint64_t seed) {
    std::vector<uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), uint64_t{0});
    BenchRandom random(seed);
    for (uint64_t at = count; at > 1; --at) std::swap(numbers[at - 1], numbers[random.below(at)]);
    return numbers;
}

std::vector<uint64_t> random_offsets(uint64_t file_bytes, uint64_t block_bytes, uint64_t count,
                                     uint64_t seed) {
    const uint64_t blocks = block_bytes > 0 ? file_bytes / block_bytes : 0;
    std::vector<uint64_t> offsets;
    if (blocks == 0) return offsets;
    BenchRandom random(seed);
    std::unordered_set<uint64_t> drawn;
    for (uint64_t round = 0; offsets.size() < count; ++round) {
        if (blocks <= kMostShuffled) {
            for (const uint64_t block : shuffled_numbers(blocks, random.next()))
                if (offsets.size() < count) offsets.push_back(block * block_bytes);
            continue;
        }
        const uint64_t block = random.below(blocks);
        if (drawn.size() < blocks / 2 && !drawn.insert(block).second) continue;
        offsets.push_back(block * block_bytes);
    }
    return offsets;
}

std::span<const EmulatedModel> emulated_models() {
    return kModels;
}

uint64_t EmulatedFile::bytes() const {
    return std::accumulate(samples.begin(), samples.end(), uint64_t{0});
}

std::vector<EmulatedFile> plan_emulated_files(const EmulatedModel& model, uint64_t samples,
                                              uint64_t most_bytes, uint64_t seed) {
    BenchRandom random(seed);
    std::vector<EmulatedFile> files;
    uint64_t bytes = 0;
    for (uint64_t planned = 0; planned < samples;) {
        EmulatedFile file;
        // The last file holds as many as are needed; so does the first where one alone would be too large.
        for (uint64_t at = 0; at < model.samples_of_file && planned < samples; ++at, ++planned) {
            const double size =
                std::max(kLeastSample, model.record_bytes + model.record_deviation * random.normal());
            if (bytes + static_cast<uint64_t>(size) > most_bytes && bytes > 0) {
                planned = samples;
                break;
            }
            file.samples.push_back(static_cast<uint64_t>(size));
            bytes += file.samples.back();
        }
        if (!file.samples.empty()) files.push_back(std::move(file));
    }
    return files;
}

std::vector<SampleRead> plan_epoch(std::span<const EmulatedFile> files, uint64_t samples, uint64_t epoch,
                                   uint64_t seed) {
    std::vector<SampleRead> reads;
    if (std::ranges::all_of(files, [](const EmulatedFile& file) { return file.samples.empty(); }))
        return reads;
    for (uint64_t round = 0; reads.size() < samples; ++round)
        for (const uint64_t number : shuffled_numbers(files.size(), seed + 1000 * epoch + round)) {
            uint64_t offset = 0;
            for (const uint64_t bytes : files[number].samples) {
                if (reads.size() < samples)
                    reads.push_back({.file = number, .offset = offset, .bytes = bytes});
                offset += bytes;
            }
        }
    return reads;
}

std::vector<SampleRead> reads_of_accelerator(std::span<const SampleRead> reads, uint64_t batch,
                                             uint64_t accelerator, uint64_t accelerators) {
    std::vector<SampleRead> mine;
    const uint64_t step = batch * accelerators;
    for (uint64_t begin = 0; step > 0 && begin + step <= reads.size(); begin += step) {
        const auto part = reads.subspan(begin + accelerator * batch, batch);
        mine.insert(mine.end(), part.begin(), part.end());
    }
    return mine;
}

}  // namespace belay::stage

// What benchmarks/stage lets run beside Belay's own commands: it makes a tree of small files, and reads such
// files as training does.
//
//   stage_reads tree DIR FILES             samples of a file of 1 to 4 KiB and one of 8 bytes, a thousand files to a directory
//   stage_reads images DIR FILES           files of 2 to 32 KiB, of which a third can be compressed, a thousand to a directory
//   stage_reads loose DIR READS SEED       reads the files of samples of a "tree" in random order by open(2), read(2), close(2)
//   stage_reads shards DIR READS SEED [ahead]  likewise from tar shards of such a tree, by the reader library; "ahead": each sample is
//                                          asked for some time before it is read
//   stage_reads epoch DIR SEED             all files of a directory once, in a shuffled order
//   stage_reads digests FILE               CRC32C and SHA-256 of a file as Belay computes them, as a share of ISA-L and OpenSSL
//
// Each prints its figure: files a second, or bytes a second.
#include "core/hash.h"
#include "shard/crc32c.h"
#include "shard/reader/shards.hpp"
#include "stage/dataset/pieces.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <isa-l/crc.h>
#include <openssl/evp.h>
#include <random>
#include <sstream>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kFilesOfDirectory = 1000;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string name_of(size_t number) {
    const size_t sample = number / 2;
    return fmt::format("d{:04d}/{:07d}.{}", number / kFilesOfDirectory, sample,
                       number % 2 == 0 ? "jpg" : "cls");
}

int make_tree(const fs::path& root, size_t files) {
    std::mt19937_64 random(1);
    std::string noise(1 << 20, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    for (size_t number = 0; number < files; ++number) {
        const fs::path path = root / name_of(number);
        if (number % kFilesOfDirectory == 0) fs::create_directories(path.parent_path());
        const size_t bytes = number % 2 == 0 ? 1024 + random() % 3072 : 8;
        std::ofstream(path, std::ios::binary)
            .write(noise.data() + random() % (noise.size() - bytes), static_cast<std::streamsize>(bytes));
    }
    return 0;
}

// Half of each file is noise; a third of all is one letter, as what a compressor finds in arrays and annotations.
int make_images(const fs::path& root, size_t files) {
    std::mt19937_64 random(1);
    std::string noise(1 << 20, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    for (size_t number = 0; number < files; ++number) {
        const fs::path path = root / fmt::format("d{:04d}/{:07d}.img", number / kFilesOfDirectory, number);
        if (number % kFilesOfDirectory == 0) fs::create_directories(path.parent_path());
        const size_t bytes = 2048 + random() % 30720;
        std::string content = noise.substr(random() % (noise.size() - bytes), bytes);
        content.replace(bytes / 3, bytes / 3, bytes / 3, 'x');
        std::ofstream(path, std::ios::binary) << content;
    }
    return 0;
}

uint64_t read_loose(int root, const std::string& name, std::string& buffer) {
    const int fd = openat(root, name.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot open " + name);
    uint64_t sum = 0;
    ssize_t size = 0;
    while ((size = read(fd, buffer.data(), buffer.size())) > 0) sum += static_cast<uint64_t>(size);
    close(fd);
    return sum;
}

// The numbers of samples of two files each, for so many reads.
std::vector<size_t> chosen(size_t samples, size_t reads, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<size_t> numbers(reads / 2);
    for (size_t& number : numbers) number = random() % samples;
    return numbers;
}

size_t files_in(const fs::path& tree) {
    size_t directories = 0;
    while (fs::exists(tree / fmt::format("d{:04d}", directories))) ++directories;
    return directories * kFilesOfDirectory;
}

int loose(const fs::path& tree, size_t reads, uint64_t seed) {
    const int root = open(tree.c_str(), O_PATH | O_DIRECTORY);
    std::vector<std::string> names;
    for (const size_t sample : chosen(files_in(tree) / 2, reads, seed))
        for (const size_t file : {2 * sample, 2 * sample + 1}) names.push_back(name_of(file));
    std::string buffer(1 << 20, '\0');
    uint64_t bytes = 0;
    const auto begin = Clock::now();
    for (const std::string& name : names) bytes += read_loose(root, name, buffer);
    fmt::print("{:.0f}\n", static_cast<double>(reads) / seconds_since(begin));
    return bytes > 0 ? 0 : 1;
}

// As many samples by their numbers. Opening the data set is not counted, as finding the names of loose files is not; how long it took goes
// to standard error.
int packed(const std::string& directory, size_t reads, uint64_t seed, bool asks_ahead) {
    constexpr size_t kAhead = 256;  // a batch of a loader
    const auto before = Clock::now();
    const belay::shards::Dataset data(directory);
    fmt::print(stderr, "{:.3f}\n", seconds_since(before));
    const auto samples = chosen(data.size(), reads, seed);
    std::string buffer(1 << 20, '\0');
    uint64_t bytes = 0;
    size_t files = 0;
    const auto begin = Clock::now();
    for (size_t i = 0; asks_ahead && i < std::min(kAhead, samples.size()); ++i) data.prefetch(samples[i]);
    for (size_t i = 0; i < samples.size(); ++i) {
        if (asks_ahead && i + kAhead < samples.size()) data.prefetch(samples[i + kAhead]);
        for (const auto& record : data.sample(samples[i])) {
            std::memcpy(buffer.data(), record.content.data(), record.content.size());
            bytes += record.content.size();
            ++files;
        }
    }
    fmt::print("{:.0f}\n", static_cast<double>(files) / seconds_since(begin));
    return bytes > 0 ? 0 : 1;
}

int epoch(const fs::path& tree, uint64_t seed) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(tree))
        if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), tree).string());
    std::ranges::sort(names);
    std::mt19937_64 random(seed);
    std::ranges::shuffle(names, random);
    const int root = open(tree.c_str(), O_PATH | O_DIRECTORY);
    std::string buffer(1 << 20, '\0');
    const auto begin = Clock::now();
    for (const std::string& name : names) (void)read_loose(root, name, buffer);
    fmt::print("{:.0f}\n", static_cast<double>(names.size()) / seconds_since(begin));
    return 0;
}

// What "stage verify" computes of a shard, against the libraries in a loop of the same blocks: bytes a second of the better of
// five rounds each, as a ratio. Both read from the page cache.
struct Digests {
    uint32_t crc = 0;
    belay::core::Sha256Digest sha{};
    auto operator<=>(const Digests&) const = default;
};

Digests by_belay(int fd, const std::string& path) {
    Digests found;
    belay::core::Sha256 hash;
    const auto read = belay::stage::read_pieces(fd, path, 0, UINT64_MAX, [&](std::string_view bytes) {
        found.crc = belay::shard::crc32c(bytes, found.crc);
        hash.update(bytes);
    });
    if (!read) throw std::runtime_error(read.error().message());
    found.sha = hash.finish();
    return found;
}

Digests by_libraries(int fd) {
    std::vector<unsigned char> block(belay::stage::kPieceBytes);
    unsigned crc = ~0U;
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
    off_t at = 0;
    for (ssize_t size = 0; (size = pread(fd, block.data(), block.size(), at)) > 0; at += size) {
        crc = crc32_iscsi(block.data(), static_cast<int>(size), crc);
        EVP_DigestUpdate(context, block.data(), static_cast<size_t>(size));
    }
    Digests found{.crc = ~crc};
    EVP_DigestFinal_ex(context, found.sha.data(), nullptr);
    EVP_MD_CTX_free(context);
    return found;
}

int digests(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY);
    const double bytes = static_cast<double>(fs::file_size(path));
    double alone = 0;
    double ours = 0;
    for (int round = 0; round < 5; ++round) {
        auto begin = Clock::now();
        const Digests expected = by_libraries(fd);
        alone = std::max(alone, bytes / seconds_since(begin));
        begin = Clock::now();
        const Digests seen = by_belay(fd, path);
        ours = std::max(ours, bytes / seconds_since(begin));
        if (seen != expected) return 1;
    }
    close(fd);
    fmt::print("{:.3f}\n", ours / alone);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    auto number = [&](size_t at) { return std::stoull(words.at(at)); };
    if (words.size() == 3 && words[0] == "tree") return make_tree(words[1], number(2));
    if (words.size() == 3 && words[0] == "images") return make_images(words[1], number(2));
    if (words.size() == 4 && words[0] == "loose") return loose(words[1], number(2), number(3));
    if (words.size() >= 4 && words[0] == "shards")
        return packed(words[1], number(2), number(3), words.size() == 5 && words[4] == "ahead");
    if (words.size() == 3 && words[0] == "epoch") return epoch(words[1], number(2));
    if (words.size() == 2 && words[0] == "digests") return digests(words[1]);
    fmt::print(stderr, "stage_reads: see the first lines of its source\n");
    return 2;
}

#include "stage/scan/probe.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include <zstd.h>

namespace belay::stage {

namespace {

using core::Descriptor;
using core::Result;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMostProblems = 10;  // that are named
constexpr uint64_t kMostReadOfAll = 256 * kMiB;
constexpr uint64_t kMostReadOfOne = 64 * kMiB;
constexpr uint64_t kMostCompared = 1024 * kMiB;
constexpr uint64_t kMostCompressedOfOne = kMiB;
constexpr Clock::duration kCompareTime = std::chrono::seconds(2);
constexpr size_t kBlockBytes = size_t{128} << 10;
constexpr int kZstdLevel = 3;
constexpr uint64_t kLocalBytes = 128 * kMiB;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_set(const std::atomic<bool>* stop) {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
}

// The next piece; 0 at the end and where it cannot be read.
size_t read_piece(int fd, std::vector<char>& buffer, size_t most) {
    ssize_t size = 0;
    do size = read(fd, buffer.data(), std::min(buffer.size(), most));
    while (size < 0 && errno == EINTR);
    return size > 0 ? static_cast<size_t>(size) : 0;
}

}  // namespace

Result<Speed> measure_reading(const core::Directory& root, const std::set<Candidate>& files, size_t workers,
                              const std::atomic<bool>* stop) {
    const std::vector<Candidate> order(files.begin(), files.end());
    std::mutex mutex;
    std::atomic<uint64_t> total = 0;
    Speed speed;
    double open_seconds = 0;
    const auto began = Clock::now();
    BELAY_CHECK(core::in_parallel(order.size(), workers, [&](size_t item) -> Result<> {
        static thread_local std::vector<char> buffer(kMiB);
        if (total >= kMostReadOfAll || is_set(stop)) return {};
        const auto begin = Clock::now();
        auto file = root.open_quietly(order[item].path);
        double opening = seconds_since(begin);
        if (!file) {
            if (file.error().cause() == core::Cause::kNotFound) return {};
            const std::lock_guard lock(mutex);
            if (++speed.problem_count <= kMostProblems)
                speed.problems.push_back({order[item].path, file.error().errno_value()});
            return {};
        }
        (void)posix_fadvise(file->get(), 0, 0, POSIX_FADV_DONTNEED);
        uint64_t bytes = 0;
        while (bytes < kMostReadOfOne && !is_set(stop)) {
            const size_t size = read_piece(file->get(), buffer, buffer.size());
            if (size == 0) break;
            bytes += size;
        }
        const auto begin_closing = Clock::now();
        file->reset();
        opening += seconds_since(begin_closing);
        total += bytes;
        const std::lock_guard lock(mutex);
        ++speed.opened;
        speed.read_bytes += bytes;
        open_seconds += opening;
        return {};
    }));
    speed.open_seconds = speed.opened > 0 ? open_seconds / static_cast<double>(speed.opened) : NAN;
    // Over the time that all of it took, less what went into opening, which is told by itself: workers do
    // that at the same time.
    const double at_once =
        static_cast<double>(std::clamp<size_t>(workers, 1, std::max<size_t>(order.size(), 1)));
    const double reading = std::max(seconds_since(began) - open_seconds / at_once, 1e-9);
    speed.read_bytes_per_second =
        speed.read_bytes > 0 ? static_cast<double>(speed.read_bytes) / reading : NAN;
    return speed;
}

namespace {

// Of the first MiB of a file: how large it is, and how large as blocks of an image. Nothing where it cannot
// be read.
std::optional<std::pair<uint64_t, uint64_t>> compressed_bytes(const core::Directory& root,
                                                              const std::string& path) {
    auto file = root.open_quietly(path);
    if (!file) return std::nullopt;
    static thread_local std::vector<char> buffer(kBlockBytes);
    static thread_local std::vector<char> packed(ZSTD_compressBound(kBlockBytes));
    static thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> compressor(ZSTD_createCCtx(),
                                                                                            &ZSTD_freeCCtx);
    if (!compressor) return std::nullopt;
    uint64_t bytes = 0;
    uint64_t packed_bytes = 0;
    while (bytes < kMostCompressedOfOne) {
        const size_t size = read_piece(file->get(), buffer, kBlockBytes);
        if (size == 0) break;
        const size_t smaller = ZSTD_compressCCtx(compressor.get(), packed.data(), packed.size(),
                                                 buffer.data(), size, kZstdLevel);
        bytes += size;
        packed_bytes += ZSTD_isError(smaller) != 0 ? size : std::min(smaller, size);
    }
    if (bytes == 0) return std::nullopt;
    return std::pair(bytes, packed_bytes);
}

// Nothing for a file that cannot be read, is not as long as it was listed, or would take until after the end
// of the time.
std::optional<core::Sha256Digest> digest_of(const core::Directory& root, const Candidate& candidate,
                                            Clock::time_point end) {
    auto file = root.open_quietly(candidate.path);
    if (!file) return std::nullopt;
    static thread_local std::vector<char> buffer(kMiB);
    core::Sha256 hash;
    uint64_t bytes = 0;
    while (const size_t size = read_piece(file->get(), buffer, buffer.size())) {
        hash.update({buffer.data(), size});
        bytes += size;
        if (bytes > candidate.bytes || Clock::now() > end) return std::nullopt;
    }
    if (bytes != candidate.bytes) return std::nullopt;
    return hash.finish();
}

}  // namespace

namespace {

// A file without a name, on file systems that have none after it was opened.
Result<Descriptor> open_unnamed(const std::filesystem::path& directory) {
    auto file = core::open_file(directory, O_TMPFILE | O_RDWR, 0600);
    if (file || (file.error().errno_value() != EOPNOTSUPP && file.error().errno_value() != EISDIR))
        return file;
    BELAY_TRY(name, core::random_name(".belay-scan-"));
    BELAY_TRY(named, core::open_file(directory / name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    (void)::unlink((directory / name).c_str());
    return named;
}

}  // namespace

double compressed_share(const core::Directory& root, const std::set<Candidate>& files, size_t workers,
                        const std::atomic<bool>* stop) {
    const std::vector<Candidate> order(files.begin(), files.end());
    std::vector<std::optional<std::pair<uint64_t, uint64_t>>> sizes(order.size());
    (void)core::in_parallel(order.size(), workers, [&](size_t item) -> Result<> {
        if (!is_set(stop)) sizes[item] = compressed_bytes(root, order[item].path);
        return {};
    });
    double all = 0;
    double left = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        if (!sizes[i]) continue;
        const auto weight = static_cast<double>(order[i].bytes);
        all += weight;
        left += weight * static_cast<double>(sizes[i]->second) / static_cast<double>(sizes[i]->first);
    }
    return all > 0 ? left / all : NAN;
}

Duplicates count_duplicates(const core::Directory& root, const SizeSample& sample, size_t workers,
                            const std::atomic<bool>* stop) {
    Duplicates found;
    std::vector<const std::vector<Candidate>*> groups;  // of one size, with something to compare
    uint64_t to_read = 0;
    for (const auto& [bytes, files] : sample.by_size()) {
        if (files.size() == 1) ++found.compared_files;
        if (files.size() == 1 || bytes > (kMostCompared - to_read) / files.size()) continue;
        to_read += bytes * files.size();
        groups.push_back(&files);
    }
    const auto end = Clock::now() + kCompareTime;
    std::vector<Duplicates> parts(groups.size());
    (void)core::in_parallel(groups.size(), workers, [&](size_t number) -> Result<> {
        if (Clock::now() > end || is_set(stop)) return {};
        std::set<core::Sha256Digest> seen;
        for (const Candidate& candidate : *groups[number]) {
            const auto digest = digest_of(root, candidate, end);
            if (!digest) continue;
            ++parts[number].compared_files;
            if (seen.insert(*digest).second) continue;
            ++parts[number].files;
            parts[number].bytes += candidate.bytes;
        }
        return {};
    });
    for (const Duplicates& part : parts) {
        found.compared_files += part.compared_files;
        found.files += part.files;
        found.bytes += part.bytes;
    }
    return found;
}

Result<LocalSpeed> measure_local(const std::filesystem::path& directory) {
    BELAY_TRY(place, open_named_directory(directory));
    struct statvfs status{};
    if (fstatvfs(place.fd(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", directory.string()));
    LocalSpeed speed{.free_bytes = uint64_t{status.f_bavail} * status.f_frsize};
    BELAY_TRY(file, open_unnamed(directory));
    // Not zeros, which some file systems do not store.
    std::string block(kMiB, '\0');
    uint64_t number = 1;
    for (char& byte : block)
        byte = static_cast<char>((number = number * 6364136223846793005U + 1442695040888963407U) >> 56U);
    const uint64_t bytes = std::min(kLocalBytes, speed.free_bytes / 10);
    for (uint64_t written = 0; written < bytes; written += block.size())
        BELAY_CHECK(core::write_all(file.get(), block, directory.string()));
    if (fdatasync(file.get()) != 0)
        return core::errno_error(errno, fmt::format("cannot write in {}", directory.string()));
    (void)posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (lseek(file.get(), 0, SEEK_SET) != 0) return core::errno_error(errno, "cannot seek");
    std::vector<char> buffer(kMiB);
    const auto begin = Clock::now();
    uint64_t read_bytes = 0;
    while (const size_t size = read_piece(file.get(), buffer, buffer.size())) read_bytes += size;
    speed.read_bytes_per_second =
        read_bytes > 0 ? static_cast<double>(read_bytes) / seconds_since(begin) : NAN;
    return speed;
}

}  // namespace belay::stage

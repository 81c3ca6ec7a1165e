#include "bench/roofline/cold_read.h"

#include "core/directory.h"
#include "core/hash.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::bench::roofline {

namespace {

using core::Directory;
using core::Result;

constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kMostDepth = 64;  // directories in one another

// An order without a pattern, and the same on every node.
uint64_t rank_of_name(std::string_view name) {
    const uint64_t hash = core::fnv1a(name);
    return hash ^ (hash >> 29U);
}

Result<> list_beneath(const Directory& root, const std::string& beneath, size_t depth, DataFiles& data) {
    BELAY_TRY(here, root.enter(beneath));
    BELAY_TRY(names, here.list());
    for (const std::string& name : names) {
        if (data.files.size() >= DataFiles::kMostFiles) {
            data.is_all = false;
            return {};
        }
        auto facts = here.facts(name);
        if (!facts || !*facts) continue;  // gone meanwhile, or not ours to look at
        const std::string path = beneath.empty() ? name : beneath + "/" + name;
        if ((*facts)->type == core::FileType::kDirectory && depth < kMostDepth) {
            BELAY_CHECK(list_beneath(root, path, depth + 1, data));
        } else if ((*facts)->type == core::FileType::kRegular && (*facts)->bytes > 0) {
            data.files.push_back({path, (*facts)->bytes});
            data.bytes += (*facts)->bytes;
        }
    }
    return {};
}

struct Pages {
    uint64_t all = 0, cached = 0;
};

// Of the first `bytes` of a file; nothing where the kernel does not say. Since Linux 5.2 it says of files that this
// user may not write that all of them are in memory.
std::optional<Pages> pages_of(int fd, uint64_t bytes) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return std::nullopt;
    const std::string again = fmt::format("/proc/self/fd/{}", fd);
    if (status.st_uid != geteuid() && faccessat(AT_FDCWD, again.c_str(), W_OK, AT_EACCESS) != 0)
        return std::nullopt;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const auto size = static_cast<size_t>(std::min(bytes, static_cast<uint64_t>(status.st_size)));
    if (size == 0) return Pages{};
    void* shown = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (shown == MAP_FAILED) return std::nullopt;
    std::vector<unsigned char> pages((size + page - 1) / page);
    const int result = mincore(shown, size, pages.data());
    munmap(shown, size);
    if (result != 0) return std::nullopt;
    return Pages{pages.size(), static_cast<uint64_t>(std::ranges::count_if(
                                   pages, [](unsigned char byte) { return (byte & 1U) != 0; }))};
}

// The files of one part, with how much of each is read.
std::vector<DataFiles::File> chosen_files(const DataFiles& data, const ColdReadOptions& options) {
    std::vector<DataFiles::File> chosen;
    uint64_t left = options.most_bytes;
    for (size_t i = options.part; i < data.files.size() && left > 0; i += options.parts) {
        chosen.push_back({data.files[i].name, std::min(left, data.files[i].bytes)});
        left -= chosen.back().bytes;
    }
    return chosen;
}

Result<> drop(const Directory& root, const std::vector<DataFiles::File>& files, ColdRead& read) {
    Pages pages;
    bool is_known = true;
    for (const DataFiles::File& file : files) {
        BELAY_TRY(opened, root.open_quietly(file.name));
        (void)fdatasync(opened.get());  // pages that are not written yet are not dropped
        (void)posix_fadvise(opened.get(), 0, static_cast<off_t>(file.bytes), POSIX_FADV_DONTNEED);
        const auto seen = pages_of(opened.get(), file.bytes);
        is_known = is_known && seen.has_value();
        if (!seen) continue;
        pages.all += seen->all;
        pages.cached += seen->cached;
    }
    if (is_known && pages.all > 0)
        read.cached_share = static_cast<double>(pages.cached) / static_cast<double>(pages.all);
    return {};
}

Result<uint64_t> read_one(const Directory& root, const DataFiles::File& file) {
    static thread_local std::vector<char> buffer(kPiece);
    BELAY_TRY(opened, root.open_quietly(file.name));
    uint64_t done = 0;
    while (done < file.bytes) {
        const ssize_t size =
            ::read(opened.get(), buffer.data(), std::min<uint64_t>(buffer.size(), file.bytes - done));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0)
            return core::errno_error(errno, fmt::format("cannot read {}", root.path_of(file.name).string()));
        if (size == 0) break;  // it has become shorter
        done += static_cast<uint64_t>(size);
    }
    return done;
}

}  // namespace

std::string ColdRead::describe() const {
    const std::string amount =
        fmt::format("{} of {}", core::format_decimal({bytes}), core::format_count(files, "file"));
    if (!cached_share) return amount + ", page cache dropped, but the kernel does not say what stayed in it";
    if (is_cold()) return amount + ", page cache dropped before";
    return fmt::format("{}, of which {:.0f} % stayed in the page cache", amount, 100 * *cached_share);
}

Result<DataFiles> list_data(const std::filesystem::path& directory) {
    auto root = Directory::open(directory);
    if (!root) return std::unexpected(std::move(root.error()).as(core::ErrorKind::kBadInput));
    DataFiles data;
    BELAY_CHECK(list_beneath(*root, "", 0, data));
    if (data.files.empty())
        return core::bad_input("{} holds no data", directory.string())
            .hint("name the directory from which a training reads");
    std::ranges::sort(data.files, {}, [](const DataFiles::File& file) {
        return std::pair(rank_of_name(file.name), std::string_view(file.name));
    });
    return data;
}

Result<ColdRead> read_cold(const std::filesystem::path& directory, const DataFiles& data,
                           const ColdReadOptions& options) {
    BELAY_TRY(root, Directory::open(directory));
    const auto files = chosen_files(data, options);
    if (files.empty())
        return core::bad_input("{}: it has {}, fewer than the {} ranks that are to read from it",
                               directory.string(), core::format_count(data.files.size(), "file"),
                               options.parts);
    ColdRead read;
    BELAY_CHECK(drop(root, files, read));
    if (options.meet) BELAY_CHECK(options.meet());
    std::atomic<uint64_t> bytes = 0;
    const auto begin = std::chrono::steady_clock::now();
    BELAY_CHECK(core::in_parallel(files.size(), options.threads, [&](size_t i) -> Result<> {
        BELAY_TRY(done, read_one(root, files[i]));
        bytes += done;
        return {};
    }));
    read.seconds =
        std::max(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 1e-9);
    read.files = files.size();
    read.bytes = bytes;
    if (read.bytes == 0) return core::system_error("{}: its files have become empty", directory.string());
    return read;
}

}  // namespace belay::bench::roofline

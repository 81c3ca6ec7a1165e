#include "stage/bench/bench_file.h"

#include "stage/bench/bench_plan.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kShownAtOnce = uint64_t{1} << 30;  // of a file that may have terabytes

bool is_in_memory(int fd) {
    constexpr uint32_t kTmpfs = 0x01021994;
    struct statfs status{};
    return fstatfs(fd, &status) == 0 && static_cast<uint32_t>(status.f_type) == kTmpfs;
}

uint64_t rounded_up(uint64_t bytes) {
    return (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes)
    : size_(static_cast<size_t>(rounded_up(std::max<size_t>(bytes, 1)))),
      memory_(static_cast<char*>(std::aligned_alloc(
          kDirectAlignment,
          size_))) {  // NOLINT(cppcoreguidelines-no-malloc): new[] of a type has no alignment
    if (!memory_) throw std::bad_alloc();
    BenchRandom random(size_);
    for (size_t at = 0; at < size_; at += sizeof(uint64_t)) {
        const uint64_t word = random.next();
        std::memcpy(memory_.get() + at, &word, sizeof word);
    }
}

void AlignedBuffer::vary(uint64_t number) const {
    for (size_t at = 0; at < size_; at += kDirectAlignment) {
        const uint64_t word = number * 0x9e3779b97f4a7c15U + at;
        std::memcpy(memory_.get() + at, &word, sizeof word);
    }
}

Result<BenchFile> BenchFile::open(const core::Directory& directory, const std::string& name, int flags,
                                  DirectMode mode) {
    const std::string path = directory.path_of(name).string();
    if (mode != DirectMode::kNever) {
        auto file = directory.open_file(name, flags | O_DIRECT);
        // tmpfs takes O_DIRECT and keeps everything in memory all the same.
        if (file && !is_in_memory(file->get())) return BenchFile(std::move(*file), path, true);
        if (!file && file.error().errno_value() != EINVAL) return std::unexpected(std::move(file.error()));
        if (mode == DirectMode::kAlways)
            return core::bad_input("{}: the file system has no O_DIRECT that means anything", path)
                .because_of_errno(EINVAL)
                .hint("leave --direct always out: the page cache is dropped then as far as that is possible");
        // A file that O_CREAT made before O_DIRECT was refused is there now.
        flags &= ~O_EXCL;
    }
    BELAY_TRY(file, directory.open_file(name, flags));
    return BenchFile(std::move(file), path, false);
}

Result<> BenchFile::write(uint64_t offset, const AlignedBuffer& buffer, uint64_t bytes) const {
    uint64_t left = is_direct_ ? rounded_up(bytes) : bytes;
    const char* from = buffer.data();
    while (left > 0) {
        const ssize_t done = pwrite(fd_.get(), from, left, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return core::errno_error(done < 0 ? errno : EIO, fmt::format("cannot write {}", path_));
        offset += static_cast<uint64_t>(done);
        from += done;
        left -= static_cast<uint64_t>(done);
    }
    return {};
}

Result<uint64_t> BenchFile::read(uint64_t offset, uint64_t bytes, const AlignedBuffer& buffer) const {
    const uint64_t begin = is_direct_ ? offset / kDirectAlignment * kDirectAlignment : offset;
    const uint64_t end = is_direct_ ? rounded_up(offset + bytes) : offset + bytes;
    uint64_t at = begin;
    while (at < end) {
        const ssize_t done =
            pread(fd_.get(), buffer.data(), static_cast<size_t>(std::min<uint64_t>(end - at, buffer.size())),
                  static_cast<off_t>(at));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return core::errno_error(errno, fmt::format("cannot read {}", path_));
        at += static_cast<uint64_t>(done);
        if (done == 0 || (is_direct_ && static_cast<uint64_t>(done) % kDirectAlignment != 0)) break;
    }
    return at > offset ? std::min(at - offset, bytes) : 0;
}

Result<> BenchFile::read_all(uint64_t offset, uint64_t bytes, const AlignedBuffer& buffer) const {
    BELAY_TRY(got, read(offset, bytes, buffer));
    if (got != bytes)
        return core::system_error("{}: ends at byte {}, and more was written", path_, offset + got);
    return {};
}

Result<> BenchFile::truncate(uint64_t bytes) const {
    if (ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
        return core::errno_error(errno, fmt::format("cannot cut {}", path_));
    return {};
}

Result<> BenchFile::sync() const {
    if (fsync(fd_.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path_));
    return {};
}

Result<std::optional<double>> BenchFile::drop_cache() const {
    (void)fdatasync(fd_.get());  // of a file that is open for reading some systems refuse
    (void)posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
    struct stat status{};
    if (fstat(fd_.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path_));
    // Of such files it says since 5.2 that all of it is in memory.
    const std::string again = fmt::format("/proc/self/fd/{}", fd_.get());
    if (status.st_uid != geteuid() && faccessat(AT_FDCWD, again.c_str(), W_OK, AT_EACCESS) != 0)
        return std::nullopt;
    const auto bytes = static_cast<uint64_t>(status.st_size);
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(static_cast<size_t>(std::min(bytes, kShownAtOnce) / page + 1));
    uint64_t all = 0;
    uint64_t resident = 0;
    for (uint64_t offset = 0; offset < bytes; offset += kShownAtOnce) {
        const auto size = static_cast<size_t>(std::min(bytes - offset, kShownAtOnce));
        void* shown = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_.get(), static_cast<off_t>(offset));
        // Not every file system shows its files so: FUSE with direct_io has ENODEV.
        if (shown == MAP_FAILED) return std::nullopt;
        const int result = mincore(shown, size, pages.data());
        munmap(shown, size);
        if (result != 0) return std::nullopt;
        const auto count = static_cast<ptrdiff_t>((size + page - 1) / page);
        resident += static_cast<uint64_t>(std::ranges::count_if(
            pages.begin(), pages.begin() + count, [](unsigned char byte) { return (byte & 1U) != 0; }));
        all += static_cast<uint64_t>(count);
    }
    return all > 0 ? static_cast<double>(resident) / static_cast<double>(all) : 0;
}

}  // namespace belay::stage

// Files that a benchmark writes and reads: past the page cache where the file system can do that (O_DIRECT),
// else with the cache dropped before, as far as an ordinary user can drop it.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace belay::stage {

inline constexpr size_t kDirectAlignment =
    4096;  // of offsets, lengths and memory; more than any file system asks for

// Memory that O_DIRECT takes, filled with bytes that do not compress.
class AlignedBuffer {
  public:
    // Of `bytes` rounded up to the alignment.
    explicit AlignedBuffer(size_t bytes);
    char* data() const { return memory_.get(); }
    size_t size() const { return size_; }
    // Changes one word in each 4 KiB, so that no two writes are equal.
    void vary(uint64_t number) const;

  private:
    struct Free {
        void operator()(char* memory) const {
            std::free(memory);
        }  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
    };
    size_t size_;
    std::unique_ptr<char[], Free> memory_;
};

enum class DirectMode { kAuto, kNever, kAlways };

class BenchFile {
  public:
    // `flags` as of open(2). kAuto takes O_DIRECT where the file system lets it. Errors: kSystem; kBadInput
    // where kAlways cannot be.
    static core::Result<BenchFile> open(const core::Directory& directory, const std::string& name, int flags,
                                        DirectMode mode);

    bool is_direct() const { return is_direct_; }
    int fd() const { return fd_.get(); }

    // `bytes` from a buffer that is as large; with O_DIRECT rounded up to the alignment, so cut a file to its
    // size at its end.
    core::Result<> write(uint64_t offset, const AlignedBuffer& buffer, uint64_t bytes) const;
    // The bytes that came of those that were asked for; all of them but at the end of the file. The buffer is
    // used again for each part.
    core::Result<uint64_t> read(uint64_t offset, uint64_t bytes, const AlignedBuffer& buffer) const;
    // Likewise. Errors: also kSystem where fewer come than were asked for.
    core::Result<> read_all(uint64_t offset, uint64_t bytes, const AlignedBuffer& buffer) const;
    core::Result<> truncate(uint64_t bytes) const;
    core::Result<> sync() const;

    // Asks the kernel to drop what it holds of the content (posix_fadvise(2)), after it is written to the
    // device; returns the share of its pages that are in memory still (mincore(2)). Nothing where the kernel
    // does not say: of a file of another user that this one may not write, on a file system that maps no
    // files. Errors: kSystem.
    core::Result<std::optional<double>> drop_cache() const;

  private:
    BenchFile(core::Descriptor fd, std::string path, bool is_direct)
        : fd_(std::move(fd)), path_(std::move(path)), is_direct_(is_direct) {}

    core::Descriptor fd_;
    std::string path_;
    bool is_direct_;
};

}  // namespace belay::stage

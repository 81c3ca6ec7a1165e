// What goes into a shard, in large pieces, with its hash.
#pragma once

#include "core/error.h"
#include "core/hash.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace belay::stage {

// Writes past the page cache where the file system can (open(2), O_DIRECT): nobody reads a shard again soon, its
// pages would be charged to the job, and on a virtual machine two writers at once that need new pages can take
// three times as long as one. Of one thread.
class Sink {
  public:
    // What room() may be asked for.
    static constexpr size_t kRoomBytes = size_t{1} << 20;

    // `fd` is a new, empty file called `name` in messages; `done_bytes` grows with what is written to it.
    Sink(int fd, std::string name, std::atomic<uint64_t>& done_bytes);

    // A place for what comes next, of at most kRoomBytes; take() says how much of it came. Errors: kSystem.
    core::Result<std::span<char>> room(size_t bytes);
    void take(size_t bytes) { filled_ += bytes; }
    // Errors: kSystem.
    core::Result<> put(std::string_view bytes);
    core::Result<> zeros(uint64_t count);
    // The rest, once, at the end. Errors: kSystem.
    core::Result<> finish();

    uint64_t bytes() const { return written_ + filled_; }
    // Of everything, after finish().
    std::string sha256() { return core::to_hex(hash_.finish()); }

  private:
    struct Free {
        void operator()(char* memory) const { std::free(memory); }
    };
    core::Result<> write_blocks();
    core::Result<> write(std::string_view bytes);
    bool set_direct(bool direct);

    int fd_;
    std::string name_;
    std::atomic<uint64_t>& done_bytes_;
    std::unique_ptr<char, Free> buffer_;
    size_t filled_ = 0;
    uint64_t written_ = 0;
    bool direct_;
    core::Sha256 hash_;
};

}  // namespace belay::stage

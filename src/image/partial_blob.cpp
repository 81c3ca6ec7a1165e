#include "image/partial_blob.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::image {

using core::errno_error;
using core::Result;
using core::system_error;

namespace {

// What stands at that name goes away unless it is a file of ours that has no other name: `partial` may be a
// directory that everybody can write to, and what is written here must not land in another file.
Result<core::Descriptor> open_own(const std::filesystem::path& file) {
    core::Descriptor found(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
        status.st_uid == geteuid())
        return found;
    if (unlink(file.c_str()) != 0 && errno != ENOENT)
        return errno_error(errno, fmt::format("cannot remove {}, which is not ours", file.string()));
    return core::open_file(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
}

}  // namespace

Result<PartialBlob> PartialBlob::open(std::filesystem::path file, uint64_t size, Counter counter,
                                      const std::atomic<bool>& stopped) {
    BELAY_TRY(fd, open_own(file));
    struct stat status{};
    if (fstat(fd.get(), &status) != 0)
        return errno_error(errno, fmt::format("cannot look at {}", file.string()));
    PartialBlob out(std::move(file), std::move(fd), size, static_cast<uint64_t>(status.st_size),
                    std::move(counter), stopped);
    out.counter_(static_cast<int64_t>(out.position_));
    if (out.position_ > size) BELAY_CHECK(out.restart());
    return out;
}

Result<> PartialBlob::restart() {
    if (ftruncate(fd_.get(), 0) != 0)
        return errno_error(errno, fmt::format("cannot empty {}", file_.string()));
    counter_(-static_cast<int64_t>(position_));
    position_ = 0;
    return {};
}

Result<> PartialBlob::write(std::string_view bytes) {
    if (stopped_) return system_error("stopped").because(core::Cause::kCancelled);
    if (bytes.size() > size_ - position_)
        return system_error("the registry sends more than the {} bytes that the manifest says", size_)
            .hint("push the image again, or ask who runs the registry");
    while (!bytes.empty()) {
        ssize_t n = pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(position_));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(errno, fmt::format("cannot write {}", file_.string()));
        bytes.remove_prefix(static_cast<size_t>(n));
        position_ += static_cast<uint64_t>(n);
        counter_(n);
    }
    return {};
}

core::Descriptor PartialBlob::publish(const std::filesystem::path& name) && {
    // Kept only to save the next download: where it cannot be kept, the descriptor still has it.
    if (rename(file_.c_str(), name.c_str()) != 0) remove();
    return std::move(fd_);
}

void PartialBlob::remove() const {
    unlink(file_.c_str());
}

}  // namespace belay::image

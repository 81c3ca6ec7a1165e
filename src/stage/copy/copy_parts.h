// The parts of copy_in_step().
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "stage/copy/copy.h"

#include <filesystem>
#include <sys/eventfd.h>
#include <unistd.h>

namespace belay::stage {

core::Result<CopyReport> copy_as_root(const std::filesystem::path& source,
                                      const std::filesystem::path& destination, const CopyStep& step,
                                      const CopyOptions& options);
// `source` is looked at where it can be seen, and not read.
core::Result<CopyReport> copy_as_member(const std::filesystem::path& source,
                                        const std::filesystem::path& destination, const CopyStep& step,
                                        const CopyOptions& options);

inline core::Duration now() {
    return core::system_clock().monotonic();
}

// What keeps the rendezvous of a copy apart from others of the same step.
inline std::string rendezvous_name(const CopyStep& step) {
    return step.name + ".copy";
}

// Wakes a thread that waits for descriptors.
class Wake {
  public:
    static core::Result<Wake> create() {
        core::Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!event) return core::errno_error(errno, "cannot create an eventfd");
        return Wake(std::move(event));
    }
    int fd() const { return event_.get(); }
    void notify() const {
        const uint64_t one = 1;
        (void)!::write(event_.get(), &one, sizeof one);
    }
    void clear() const {
        uint64_t count = 0;
        (void)!::read(event_.get(), &count, sizeof count);
    }

  private:
    explicit Wake(core::Descriptor event) : event_(std::move(event)) {}
    core::Descriptor event_;
};

}  // namespace belay::stage

#include "core/new_file.h"

#include "core/activity.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

Result<std::string> random_name(std::string_view prefix) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return errno_error(errno, "cannot get random bytes");
    return fmt::format("{}{:016x}", prefix, random);
}

Result<NewFile> NewFile::begin(const Directory& directory, std::string_view name, unsigned mode,
                               std::string_view temporary_start) {
    if (!is_name_beneath(name))
        return errno_error(EINVAL, fmt::format("cannot create {}", directory.path_of(name).string()));
    const fs::path relative(name);
    BELAY_TRY(parent, directory.enter(relative.parent_path().native()));
    std::string last = relative.filename();
    BELAY_TRY(temporary,
              random_name(temporary_start.empty() ? last + ".tmp-" : std::string(temporary_start)));
    auto fd = parent.open_file(temporary, O_RDWR | O_CREAT | O_EXCL, mode);
    if (!fd && fd.error().errno_value() != 0)  // in the words of the name that was asked for
        return errno_error(fd.error().errno_value(),
                           fmt::format("cannot create {}", directory.path_of(name).string()));
    if (!fd) return std::unexpected(std::move(fd.error()));
    return NewFile(std::move(parent), std::move(*fd), std::move(last), std::move(temporary));
}

NewFile::NewFile(NewFile&& other) noexcept
    : parent_(std::move(other.parent_)),
      fd_(std::move(other.fd_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})) {}

NewFile::~NewFile() {
    // Not by remove_file, which needs a descriptor: there may be none left.
    if (!temporary_.empty()) unlinkat(parent_.fd(), temporary_.c_str(), 0);
}

Result<> NewFile::replace() && {
    BELAY_CHECK(sync());
    note_activity("replace", path().native());
    if (renameat(parent_.fd(), temporary_.c_str(), parent_.fd(), name_.c_str()) != 0)
        return errno_error(errno, fmt::format("cannot replace {}", path().string()));
    temporary_.clear();
    return parent_.sync();
}

Result<bool> NewFile::create() && {
    BELAY_CHECK(sync());
    note_activity("create", path().native());
    // Unlike rename, fails if there is something of that name.
    if (linkat(parent_.fd(), temporary_.c_str(), parent_.fd(), name_.c_str(), 0) != 0) {
        if (errno == EEXIST) return false;
        return errno_error(errno, fmt::format("cannot create {}", path().string()));
    }
    BELAY_CHECK(parent_.sync());
    return true;
}

Result<> NewFile::sync() const {
    note_activity("sync", path().native());
    if (fsync(fd_.get()) != 0) return errno_error(errno, fmt::format("cannot sync {}", path().string()));
    return {};
}

}  // namespace belay::core

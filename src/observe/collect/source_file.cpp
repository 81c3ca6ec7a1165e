#include "observe/collect/source_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace belay::observe::collect {

core::Result<std::string_view> SourceFile::read() {
    if (!fd_) {
        BELAY_TRY(fd, core::open_file(path_, O_RDONLY));
        fd_ = std::move(fd);
    }
    core::Result<> result = core::reread(fd_.get(), buffer_, path_.native());
    if (!result) {
        fd_.reset();
        return std::unexpected(std::move(result.error()));
    }
    return std::string_view(buffer_);
}

std::string_view SourceFile::read_or_empty() {
    // A missing file is looked for at every tick: no message is made up for that.
    if (!fd_ && access(path_.c_str(), R_OK) != 0) return {};
    return read().value_or(std::string_view());
}

bool SourceFile::changed() const {
    pollfd entry{.fd = fd_.get(), .events = POLLPRI, .revents = 0};
    return fd_ && poll(&entry, 1, 0) > 0 && (entry.revents & (POLLPRI | POLLERR)) != 0;
}

}  // namespace belay::observe::collect

#include "iotrace/shared_trace.h"

#include "iotrace/reader.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::iotrace {

namespace fs = std::filesystem;
using core::Descriptor;
using core::Result;

namespace {

// Others of a node begin and end at the same time; longer than this only where somebody makes and removes the
// file all the time.
constexpr int kMostRounds = 2000;
constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 1'000'000};

bool is_own_file(const struct stat& facts) {
    return S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

// Whether the path still leads to it: the last one who held it may have removed it meanwhile.
bool is_at(const Descriptor& file, const fs::path& path) {
    struct stat opened{}, named{};
    return fstat(file.get(), &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Whoever made one and does not hold it yet makes another.
void remove_unless_held(const Descriptor& file, const fs::path& path) {
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_at(file, path)) unlink(path.c_str());
}

void sweep(const fs::path& directory, std::string_view start, std::string_view own) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        // Where the file system has no nameless files, one that is being made has such a name.
        if (!name.starts_with(start) || name == own || name.find(".tmp-") != std::string::npos) continue;
        struct stat facts{};
        if (lstat(entry->path().c_str(), &facts) != 0 || !is_own_file(facts)) continue;
        if (auto file = core::open_file(entry->path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
            remove_unless_held(*file, entry->path());
    }
}

// Nothing where another one is there now, or was.
Result<std::optional<Descriptor>> try_to_hold(const fs::path& path) {
    auto file = core::open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file && file.error().cause() == core::Cause::kNotFound) {
        BELAY_CHECK(IoTraceReader::make(path));
        return std::nullopt;  // it is held once it was found, as anybody's
    }
    if (!file) return std::unexpected(std::move(file.error()));
    struct stat facts{};
    if (fstat(file->get(), &facts) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (!is_own_file(facts)) return core::system_error("{} is not a file of yours", path.string());
    if (flock(file->get(), LOCK_SH | LOCK_NB) != 0 || !is_at(*file, path)) return std::nullopt;
    return std::move(*file);
}

}  // namespace

Result<SharedTrace> SharedTrace::join(const fs::path& directory, std::string_view name) {
    sweep(directory, name.substr(0, name.rfind('-') + 1), name);
    const fs::path path = directory / name;
    for (int round = 0; round < kMostRounds; ++round) {
        BELAY_TRY(held, try_to_hold(path));
        if (held) return SharedTrace(std::move(*held), path);
        nanosleep(&kPause, nullptr);
    }
    return core::system_error("{} is removed again and again", path.string());
}

SharedTrace::~SharedTrace() {
    if (held_) remove_unless_held(held_, path_);
}

}  // namespace belay::iotrace

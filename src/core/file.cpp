#include "core/file.h"

#include "core/activity.h"
#include "core/new_file.h"
#include "core/utf8.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

constexpr size_t kReadChunk = 16 * 1024;

Result<NewFile> write_new(const fs::path& path, std::string_view bytes, unsigned mode) {
    BELAY_TRY(directory, Directory::open(path.has_parent_path() ? path.parent_path() : fs::path(".")));
    BELAY_TRY(file, NewFile::begin(directory, path.filename().native(), mode));
    BELAY_CHECK(write_all(file.fd(), bytes, path.string()));
    return file;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

void Descriptor::reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

Result<Descriptor> open_file(const fs::path& path, int flags, unsigned mode) {
    note_activity("open", path.native());
    int fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd < 0) return errno_error(errno, fmt::format("cannot open {}", path.string()));
    return Descriptor(fd);
}

Result<> occupy_standard_descriptors() {
    for (;;) {
        BELAY_TRY(null, open_file("/dev/null", O_PATH));
        if (null.get() > STDERR_FILENO) return {};
        fcntl(null.release(), F_SETFD, 0);
    }
}

Result<> write_all(int fd, std::string_view bytes, std::string_view name) {
    while (!bytes.empty()) {
        ssize_t n = write(fd, bytes.data(), bytes.size());
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno_error(errno, fmt::format("cannot write {}", name));
        }
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
}

namespace {

// Whether there is something to read, or the end. A file always has one.
Result<> wait_until_readable(int fd, std::string_view name, const Deadline& deadline) {
    for (;;) {
        pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return errno_error(errno, fmt::format("cannot wait for {}", name));
        if (ready == 0 && deadline.is_over())
            return system_error("{} did not answer in time", name).because(Cause::kTimedOut);
    }
}

}  // namespace

Result<std::string> read_to_end(int fd, std::string_view name, size_t limit, const Deadline& deadline) {
    std::string out;
    for (;;) {
        if (!deadline.is_never()) BELAY_CHECK(wait_until_readable(fd, name, deadline));
        size_t old = out.size();
        out.resize(old + kReadChunk);
        ssize_t n = read(fd, out.data() + old, kReadChunk);
        if (n < 0 && errno != EINTR) return errno_error(errno, fmt::format("cannot read {}", name));
        out.resize(old + static_cast<size_t>(std::max<ssize_t>(n, 0)));
        if (n == 0) return out;
        if (out.size() > limit)
            return bad_input("{} is larger than {} bytes", name, limit).because_of_errno(EFBIG);
    }
}

namespace {

constexpr Duration kWriterPatience = std::chrono::seconds(5);

// A named pipe into which nobody writes would hold us for ever. Leaves the descriptor blocking.
Result<> wait_for_writer(int fd, const fs::path& path) {
    struct stat facts{};
    if (fstat(fd, &facts) != 0) return errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (S_ISFIFO(facts.st_mode)) {
        auto ready = wait_until_readable(fd, path.string(), Deadline::after(kWriterPatience));
        if (!ready && ready.error().cause() == Cause::kTimedOut)
            return system_error("{} is a pipe, and nobody has written into it for {:g} s", path.string(),
                                to_seconds(kWriterPatience))
                .because(Cause::kTimedOut);
        BELAY_CHECK(ready);
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return errno_error(errno, fmt::format("cannot read {}", path.string()));
    return {};
}

}  // namespace

Result<std::string> read_file(const fs::path& path, size_t limit) {
    BELAY_TRY(fd, open_file(path, O_RDONLY | O_NONBLOCK));
    return read_opened(fd.get(), path, limit);
}

Result<std::string> read_opened(int fd, const fs::path& path, size_t limit) {
    BELAY_CHECK(wait_for_writer(fd, path));
    return read_to_end(fd, path.string(), limit);
}

Result<> reread(int fd, std::string& buffer, std::string_view name) {
    size_t have = 0;
    if (buffer.size() < kReadChunk) buffer.resize(kReadChunk);
    for (;;) {
        if (have == buffer.size()) buffer.resize(buffer.size() * 2);
        ssize_t n = pread(fd, buffer.data() + have, buffer.size() - have, static_cast<off_t>(have));
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno_error(errno, fmt::format("cannot read {}", name));
        }
        if (n == 0) break;
        have += static_cast<size_t>(n);
    }
    buffer.resize(have);
    return {};
}

Result<> replace_file(const fs::path& path, std::string_view bytes, unsigned mode) {
    BELAY_TRY(file, write_new(path, bytes, mode));
    return std::move(file).replace();
}

Result<bool> create_file(const fs::path& path, std::string_view bytes, unsigned mode) {
    BELAY_TRY(file, write_new(path, bytes, mode));
    return std::move(file).create();
}

Result<> sync_directory(const fs::path& directory) {
    BELAY_TRY(fd, open_file(directory, O_RDONLY | O_DIRECTORY));
    if (fsync(fd.get()) != 0 && errno != EINVAL)
        return errno_error(errno, fmt::format("cannot sync {}", directory.string()));
    return {};
}

Result<fs::path> current_directory() {
    std::error_code error;
    fs::path directory = fs::current_path(error);
    if (error) return errno_error(error, "cannot tell the current directory");
    return directory;
}

Result<fs::file_type> type_of_file(const fs::path& path) {
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    if (type == fs::file_type::none || type == fs::file_type::unknown)
        return errno_error(error, "cannot look at " + printable(path.string()));
    return type;
}

Result<std::vector<fs::path>> files_with_suffix(const fs::path& directory, std::string_view suffix) {
    note_activity("list", directory.native());
    std::vector<fs::path> files;
    std::error_code error;
    fs::directory_iterator entries(directory, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const std::string name = entries->path().filename().string();
        if (name.size() > suffix.size() && name.ends_with(suffix)) files.push_back(entries->path());
    }
    if (error) return errno_error(error, "cannot list " + printable(directory.string()));
    std::sort(files.begin(), files.end());
    return files;
}

Result<> make_directories(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return errno_error(error, "cannot create directory " + directory.string());
    return {};
}

Result<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix) {
    const char* base = std::getenv("TMPDIR");
    std::string pattern =
        fmt::format("{}/{}-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp", prefix);
    if (mkdtemp(pattern.data()) == nullptr)
        return errno_error(errno, fmt::format("cannot create {}", pattern));
    return TemporaryDirectory(pattern);
}

TemporaryDirectory::~TemporaryDirectory() {
    if (path_.empty()) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace belay::core

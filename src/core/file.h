// Descriptors and files: RAII, whole reads and writes, and replacement that is either the old file or the new
// one.
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::core {

// Owns a file descriptor.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

  private:
    int fd_ = -1;
};

// open(2) with O_CLOEXEC. Errors: kSystem, with the path.
Result<Descriptor> open_file(const std::filesystem::path& path, int flags, unsigned mode = 0644);
// At the start of a program: keeps the numbers of standard streams that are closed from descriptors of our
// own, into which what is meant for a stream would go. Reading and writing fail as before (EBADF).
Result<> occupy_standard_descriptors();

// Writes all of it, going on after short writes and EINTR. `name` is for the error message.
Result<> write_all(int fd, std::string_view bytes, std::string_view name);

// The whole file, also one of /proc that states size 0. Errors: kSystem, also for a named pipe into which
// nobody writes for 5 s; more than `limit` bytes is kBadInput.
Result<std::string> read_file(const std::filesystem::path& path, size_t limit = size_t{1} << 30);
// The same of a file that has been opened, with O_NONBLOCK.
Result<std::string> read_opened(int fd, const std::filesystem::path& path, size_t limit);

// Reads again from the start through an open descriptor into `buffer`, whose capacity is kept: the cheap way
// to sample a file of /proc every second. Errors: kSystem.
Result<> reread(int fd, std::string& buffer, std::string_view name);

// What comes through a pipe or socket until its other end is closed. Errors: kSystem, kTimedOut at the
// deadline; kBadInput beyond `limit` bytes.
Result<std::string> read_to_end(int fd, std::string_view name, size_t limit = size_t{1} << 20,
                                const Deadline& deadline = Deadline::never());

// Writes `bytes` to a new file beside `path`, fsyncs it, renames it over whatever has the name, a link too,
// and fsyncs the directory: a reader, also one after a crash, finds either the old content or the new. For
// what a person names, see output.h. Errors: kSystem.
Result<> replace_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// As replace_file, but only if `path` does not exist yet; false if somebody else was first. Nothing is
// overwritten.
Result<bool> create_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

// fsync of a directory, so that renames in it are durable. File systems that refuse (EINVAL) are taken as
// synced.
Result<> sync_directory(const std::filesystem::path& directory);

// Errors: kSystem where it was removed, or may not be known.
Result<std::filesystem::path> current_directory();

// What stands at the path, links followed; not_found where nothing does. Errors: kSystem where that cannot be
// known.
Result<std::filesystem::file_type> type_of_file(const std::filesystem::path& path);

// The files of a directory whose names end so and say more, sorted. Errors: kSystem, kNotFound where there is
// no such directory.
Result<std::vector<std::filesystem::path>> files_with_suffix(const std::filesystem::path& directory,
                                                             std::string_view suffix);

// Creates the directory and its parents. Errors: kSystem, naming the part that could not be made.
Result<> make_directories(const std::filesystem::path& directory);

// A fresh directory under $TMPDIR (or /tmp), removed with all its content at the end.
class TemporaryDirectory {
  public:
    static Result<TemporaryDirectory> create(std::string_view prefix = "belay");
    TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();
    const std::filesystem::path& path() const { return path_; }

  private:
    explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace belay::core

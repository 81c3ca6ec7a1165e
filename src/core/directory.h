// A directory by its descriptor, and everything beneath it by names that cannot lead out of it: no symbolic
// link is followed, whoever made it, and only regular files are opened. For directories into which others may
// have put something.
//
// A name is a relative path without "." and "..": "record.json", "tables/host.parquet".
#pragma once

#include "core/error.h"
#include "core/file.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::core {

enum class FileType { kRegular, kDirectory, kLink, kOther };

struct FileFacts {
    FileType type = FileType::kOther;
    std::string_view type_name;  // "named pipe", for messages
    uid_t owner = 0;
    mode_t mode = 0;  // permissions only
    uint64_t bytes = 0;
};

// Whether it is a name as above.
bool is_name_beneath(std::string_view name);

class Directory {
  public:
    // Where `path` itself leads, also through links: whoever names it means it. Errors: kSystem.
    static Result<Directory> open(const std::filesystem::path& path);
    // Likewise, but the last part of `path` may be a link only if it belongs to this user or root. Errors:
    // kBadInput, kDenied, for another's; kSystem.
    static Result<Directory> open_trusted(const std::filesystem::path& path);
    // Likewise, but nobody except this user and root can put something else in its place: each directory and
    // link on the way belongs to one of them, and where everybody may write, the sticky bit is set. Errors:
    // kBadInput, kDenied, with the part that another user may exchange; kSystem.
    static Result<Directory> open_guarded(const std::filesystem::path& path);

    // Likewise, made with its parents as far as they are missing: nothing is made where another user's link leads.
    static Result<Directory> make_guarded(const std::filesystem::path& path, unsigned mode = 0777);

    // A directory beneath this one; this one for "". Errors: kBadInput for a link; kSystem.
    Result<Directory> enter(std::string_view name) const;

    int fd() const { return fd_.get(); }
    const std::filesystem::path& path() const { return path_; }  // as it was named, for messages
    std::filesystem::path path_of(std::string_view name) const { return path_ / name; }

    // Of the directory itself, or of what lies beneath it; of a link its own. Nothing if there is nothing of
    // that name. Errors: kSystem.
    Result<FileFacts> facts() const;
    Result<std::optional<FileFacts>> facts(std::string_view name) const;

    // As open(2) with O_CLOEXEC, of a regular file. Errors: kBadInput for anything else, which is neither
    // waited for nor changed; kSystem.
    Result<Descriptor> open_file(std::string_view name, int flags, unsigned mode = 0600) const;
    // To read without changing its access time, where that is this user's to ask for: what looks at files
    // must not keep them from a purge.
    Result<Descriptor> open_quietly(std::string_view name) const;
    // Errors: as open_file; kBadInput for more than `limit` bytes.
    Result<std::string> read_file(std::string_view name, size_t limit) const;
    // All names in it, whatever they are of, sorted. Errors: kSystem.
    Result<std::vector<std::string>> list() const;

    // True if it was made here, false if there was a directory already. Errors: kSystem, also if there is
    // anything else.
    Result<bool> make_directory(std::string_view name, unsigned mode = 0700) const;
    Result<> remove_file(std::string_view name) const;
    Result<> remove_directory(std::string_view name) const;
    Result<> rename(std::string_view from, std::string_view to) const;
    // fsync. File systems that refuse (EINVAL) are taken as synced.
    Result<> sync() const;

  private:
    Directory(Descriptor fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}

    Descriptor fd_;
    std::filesystem::path path_;
};

}  // namespace belay::core

// Directories that appear whole or not at all, and go likewise.
//
//   BELAY_TRY(made, NewDirectory::begin(parent));
//   …                                                 // write into made.path()
//   BELAY_TRY(is_first, std::move(made).create("name"));
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file_lock.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay::server {

// A directory that is being made under a name that begins with a point. It goes with all its content where it does not get its
// name; one whose process was killed stays until remove_leftovers().
class NewDirectory {
  public:
    // In `parent`, 0700. Errors: kSystem.
    static core::Result<NewDirectory> begin(const core::Directory& parent);
    NewDirectory(NewDirectory&& other) noexcept;
    NewDirectory& operator=(NewDirectory&&) = delete;
    NewDirectory(const NewDirectory&) = delete;
    NewDirectory& operator=(const NewDirectory&) = delete;
    ~NewDirectory();

    const core::Directory& directory() const { return made_; }
    std::filesystem::path path() const { return parent_.path_of(name_); }

    // Gives it its name in the parent; false if something has that name. Files in it are to be on the disk by now. Errors:
    // kSystem.
    core::Result<bool> create(std::string_view name) &&;
    // Likewise; what has the name goes. A kill leaves one of the two, or, where the file system cannot exchange names, neither.
    // Errors: kSystem.
    core::Result<> replace(std::string_view name) &&;

  private:
    NewDirectory(core::Directory parent, core::Directory made, std::string name,
                 std::optional<core::FileLock> lock)
        : parent_(std::move(parent)),
          made_(std::move(made)),
          name_(std::move(name)),
          lock_(std::move(lock)) {}

    core::Directory parent_;
    core::Directory made_;
    std::string name_;                    // in the parent; empty once it has its own
    std::optional<core::FileLock> lock_;  // of `made_`: it is no leftover
};

// Takes the directory `name` away with all its content: first its name, so that a kill leaves nothing of it that could be taken
// for the whole. False if it is not there. Errors: kSystem.
core::Result<bool> remove_tree(const core::Directory& parent, std::string_view name);

// What processes that were killed have left in `parent`. Errors: kSystem.
core::Result<> remove_leftovers(const core::Directory& parent);

}  // namespace belay::server

// Files of a tree by their paths, one after the other: the directory of the last one stays open, so that files
// in the order of their paths cost no look-up each.
#pragma once

#include "core/directory.h"
#include "core/error.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::stage {

// "a/b" of "a/b/c", "" of "c"; "c".
std::string_view parent_of_path(std::string_view path);
std::string last_of_path(std::string_view path);

class Parents {
  public:
    // The root outlives this. `entered` is told of each directory that is entered; what it refuses, is not.
    using Entered = std::function<core::Result<>(const core::Directory& directory)>;
    explicit Parents(const core::Directory& root, Entered entered = {})
        : root_(&root), entered_(std::move(entered)) {}

    // The directory in which the path lies, until the next call; nullptr where it is not there. Errors: those of
    // Directory::enter(), as for a link, and of `entered`.
    core::Result<const core::Directory*> find(std::string_view path);
    // Likewise, made where it is not there, with its parents.
    core::Result<const core::Directory*> make(std::string_view path, unsigned mode);

  private:
    const core::Directory* root_;
    Entered entered_;
    std::string path_;                     // of the open one
    std::optional<core::Directory> open_;  // nothing: none, or the root
};

}  // namespace belay::stage

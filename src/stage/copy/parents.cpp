#include "stage/copy/parents.h"

#include <cerrno>

namespace belay::stage {

using core::Directory;
using core::Result;

namespace {

Result<> make_with_parents(const Directory& root, const std::string& path, unsigned mode) {
    auto made = root.make_directory(path, mode);
    const std::string above(parent_of_path(path));
    if (!made && made.error().errno_value() == ENOENT && !above.empty()) {
        BELAY_CHECK(make_with_parents(root, above, mode));
        made = root.make_directory(path, mode);
    }
    if (made) return {};
    return std::unexpected(std::move(made.error()));
}

}  // namespace

std::string_view parent_of_path(std::string_view path) {
    const size_t slash = path.rfind('/');
    return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string last_of_path(std::string_view path) {
    const size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

Result<const Directory*> Parents::find(std::string_view path) {
    const std::string_view parent = parent_of_path(path);
    if (parent.empty()) return root_;
    if (open_ && path_ == parent) return &*open_;
    open_.reset();
    auto entered = root_->enter(parent);
    if (!entered && entered.error().errno_value() == ENOENT) return nullptr;
    if (!entered) return std::unexpected(std::move(entered.error()));
    if (entered_) BELAY_CHECK(entered_(*entered));
    path_ = parent;
    open_ = std::move(*entered);
    return &*open_;
}

Result<const Directory*> Parents::make(std::string_view path, unsigned mode) {
    BELAY_TRY(found, find(path));
    if (found != nullptr) return found;
    BELAY_CHECK(make_with_parents(*root_, std::string(parent_of_path(path)), mode));
    BELAY_TRY(made, find(path));
    if (made != nullptr) return made;
    return core::errno_error(ENOENT, "cannot open " + root_->path_of(parent_of_path(path)).string());
}

}  // namespace belay::stage

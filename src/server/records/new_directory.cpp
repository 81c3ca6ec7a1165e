#include "server/records/new_directory.h"

#include "core/new_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>

#include <fmt/format.h>

namespace belay::server {

using core::Directory;
using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kNewPrefix = ".new-";    // being made
constexpr std::string_view kGonePrefix = ".gone-";  // being removed

// As rename(2) with these flags; 0, or an errno.
int rename_within(const Directory& parent, const std::string& from, const std::string& to, unsigned flags) {
    return renameat2(parent.fd(), from.c_str(), parent.fd(), to.c_str(), flags) == 0 ? 0 : errno;
}

bool is_unknown(int error) {
    return error == EINVAL || error == ENOSYS || error == ENOTSUP;
}

core::Failure not_renamed(int error, const Directory& parent, std::string_view name) {
    return core::errno_error(error, fmt::format("cannot rename {}", parent.path_of(name).string()));
}

Result<> remove_content(const Directory& parent, const std::string& name) {
    std::error_code error;
    fs::remove_all(parent.path_of(name), error);
    if (error)
        return core::errno_error(error, fmt::format("cannot remove {}", parent.path_of(name).string()));
    return {};
}

}  // namespace

Result<NewDirectory> NewDirectory::begin(const Directory& parent) {
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; ++i) {
        BELAY_TRY(own, parent.enter(""));
        BELAY_TRY(name, core::random_name(kNewPrefix));
        BELAY_CHECK(own.make_directory(name, 0700));
        auto made = own.enter(name);
        if (!made && made.error().cause() == core::Cause::kNotFound) continue;
        if (!made) return std::unexpected(std::move(made.error()));
        auto lock = core::FileLock::try_flock(made->fd(), own.path_of(name).string());
        const bool has_locks = lock || !core::is_without_flock(lock.error().errno_value());
        if (!lock && has_locks) {
            (void)own.remove_directory(name);
            return std::unexpected(std::move(lock.error()));
        }
        // Who removes leftovers may have come before the lock.
        BELAY_TRY(there, own.facts(name));
        if (!there || (has_locks && !*lock)) continue;
        return NewDirectory(std::move(own), std::move(*made), std::move(name),
                            has_locks ? std::move(*lock) : std::optional<core::FileLock>());
    }
    return core::system_error("{}: directories that are made here go at once", parent.path().string());
}

NewDirectory::NewDirectory(NewDirectory&& other) noexcept
    : parent_(std::move(other.parent_)),
      made_(std::move(other.made_)),
      name_(std::exchange(other.name_, {})),
      lock_(std::move(other.lock_)) {}

NewDirectory::~NewDirectory() {
    if (!name_.empty()) (void)remove_content(parent_, name_);
}

Result<bool> NewDirectory::create(std::string_view name) && {
    BELAY_CHECK(made_.sync());
    const std::string wanted(name);
    int error = rename_within(parent_, name_, wanted, RENAME_NOREPLACE);
    // A record is never empty, so a plain rename does not take its place either.
    if (is_unknown(error)) error = rename_within(parent_, name_, wanted, 0);
    if (error == EEXIST || error == ENOTEMPTY) return false;
    if (error != 0) return not_renamed(error, parent_, name_);
    name_.clear();
    BELAY_CHECK(parent_.sync());
    return true;
}

Result<> NewDirectory::replace(std::string_view name) && {
    BELAY_CHECK(made_.sync());
    const std::string wanted(name);
    int error = rename_within(parent_, name_, wanted, RENAME_EXCHANGE);
    if (error == 0) {
        BELAY_CHECK(parent_.sync());
        (void)remove_content(parent_, std::exchange(name_, {}));  // what stays is a leftover
        return {};
    }
    if (error != ENOENT && !is_unknown(error)) return not_renamed(error, parent_, name_);
    BELAY_CHECK(remove_tree(parent_, wanted));
    error = rename_within(parent_, name_, wanted, 0);
    if (error != 0) return not_renamed(error, parent_, name_);
    name_.clear();
    return parent_.sync();
}

Result<bool> remove_tree(const Directory& parent, std::string_view name) {
    BELAY_TRY(there, parent.facts(name));
    if (!there) return false;
    BELAY_TRY(gone, core::random_name(kGonePrefix));
    BELAY_CHECK(parent.rename(name, gone));
    BELAY_CHECK(parent.sync());
    BELAY_CHECK(remove_content(parent, gone));
    return true;
}

Result<> remove_leftovers(const Directory& parent) {
    BELAY_TRY(names, parent.list());
    for (const std::string& name : names) {
        if (name.starts_with(kGonePrefix)) BELAY_CHECK(remove_content(parent, name));
        if (!name.starts_with(kNewPrefix)) continue;
        auto left = parent.enter(name);
        if (!left && left.error().cause() == core::Cause::kNotFound) continue;  // it has got its name
        if (!left) return std::unexpected(std::move(left.error()));
        const auto lock = core::FileLock::try_flock(left->fd(), parent.path_of(name).string());
        if (lock && *lock) BELAY_CHECK(remove_content(parent, name));
    }
    return {};
}

}  // namespace belay::server

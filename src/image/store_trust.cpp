#include "image/store_trust.h"

#include "core/activity.h"
#include "core/file.h"
#include "core/user.h"
#include "core/utf8.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::image {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr std::string_view kHint = "set EDF_IMAGESTORE to a directory of your own";

// Nothing if it is not there.
Result<std::optional<struct stat>> status_of(const fs::path& path, bool follow) {
    core::note_activity("look at", path.native());
    struct stat out{};
    if ((follow ? stat(path.c_str(), &out) : lstat(path.c_str(), &out)) == 0) return std::optional(out);
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<struct stat>();
    return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
}

bool everybody_writes(const struct stat& directory) {
    return (directory.st_mode & S_IWOTH) != 0;
}

std::array<fs::path, 5> directories_of(const StoreLayout& part) {
    return {part.images(), part.refs(), part.blobs(), part.partial(), part.locks()};
}

Result<bool> is_there_unbelieved(const StoreLayout& store, const fs::path& path) {
    BELAY_TRY(status, status_of(path, false));
    if (!status) return false;
    BELAY_TRY(believed, is_believed(store.root, path));
    return !believed;
}

Result<bool> all_are_believed(const StoreLayout& part) {
    for (const fs::path& directory : directories_of(part)) {
        BELAY_TRY(believed, is_believed(part.root, directory));
        if (!believed) return false;
    }
    return true;
}

Result<> make_directories_of(const StoreLayout& part, mode_t mode) {
    for (const fs::path& directory : directories_of(part)) {
        if (mkdir(directory.c_str(), 0755) == 0)
            (void)chmod(directory.c_str(), mode);
        else if (errno != EEXIST)
            return core::errno_error(errno, fmt::format("cannot create {}", directory.string()));
    }
    return {};
}

// One that others may write to may have been moved here.
bool is_private(const struct stat& directory) {
    return S_ISDIR(directory.st_mode) && directory.st_uid == geteuid() &&
           (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string own_name() {
    return fmt::format("user-{}", geteuid());
}

Result<StoreLayout> make_own_part(const StoreLayout& store) {
    fs::path usual = store.root / own_name();
    if (mkdir(usual.c_str(), 0700) == 0) return StoreLayout{usual};
    if (errno != EEXIST) return core::errno_error(errno, fmt::format("cannot create {}", usual.string()));
    BELAY_TRY(own, own_part(store));
    if (own) return std::move(*own);
    std::string other = usual.string() + "-XXXXXX";
    if (mkdtemp(other.data()) == nullptr)
        return core::errno_error(errno, fmt::format("cannot create {}", other));
    return StoreLayout{other};
}

Result<StoreLayout> make_part(const StoreLayout& store) {
    BELAY_CHECK(core::make_directories(store.root));
    BELAY_TRY(root, status_of(store.root, true));
    if (!root) return core::errno_error(ENOENT, fmt::format("cannot look at {}", store.root.string()));
    const mode_t mode = (root->st_mode & 07777U) | 0700U;
    if (!everybody_writes(*root)) {
        BELAY_CHECK(make_directories_of(store, mode));
        return store;
    }
    if (root->st_uid == geteuid()) {
        // What its owner imports is for all, and nobody else's then.
        BELAY_CHECK(make_directories_of(store, 0755));
        BELAY_TRY(all, all_are_believed(store));
        if (all) return store;
    }
    if ((root->st_mode & S_ISVTX) == 0)
        return core::system_error("everybody may replace what is in {} (mode {:04o})", store.root.string(),
                                  root->st_mode & 07777U)
            .hint(fmt::format("have its owner add the sticky bit (chmod +t), or {}", kHint));
    BELAY_TRY(own, make_own_part(store));
    BELAY_CHECK(make_directories_of(own, 0700));
    return own;
}

}  // namespace

Result<bool> is_believed(const fs::path& root, const fs::path& path) {
    BELAY_TRY(directory, status_of(root, true));
    if (!directory) return false;
    const uid_t owner = directory->st_uid;
    fs::path at = root;
    for (const fs::path& name : path.lexically_relative(root)) {
        at /= name;
        BELAY_TRY(entry, status_of(at, false));
        if (!entry) return false;
        const bool known = entry->st_uid == geteuid() || entry->st_uid == 0 || entry->st_uid == owner;
        // Without the sticky bit, a file of ours may have been given another name; and anybody may have moved
        // a link of ours here, which leads elsewhere from here.
        const bool is_plain = S_ISREG(entry->st_mode) || S_ISDIR(entry->st_mode);
        if (everybody_writes(*directory) && (!known || !is_plain || (directory->st_mode & S_ISVTX) == 0))
            return false;
        BELAY_TRY(next, status_of(at, true));
        if (!next) return false;
        directory = next;
    }
    return true;
}

Result<std::optional<StoreLayout>> own_part(const StoreLayout& store) {
    const StoreLayout usual{store.root / own_name()};
    BELAY_TRY(taken, status_of(usual.root, false));
    if (!taken) return std::optional<StoreLayout>();
    if (is_private(*taken)) return std::optional(usual);
    std::error_code error;
    std::optional<StoreLayout> first;
    for (fs::directory_iterator it(store.root, error), end; !error && it != end; it.increment(error)) {
        if (!it->path().filename().native().starts_with(own_name() + "-")) continue;
        BELAY_TRY(status, status_of(it->path(), false));
        if (!status || !is_private(*status)) continue;
        if (!first || it->path() < first->root) first = StoreLayout{it->path()};
    }
    if (error) return core::errno_error(error.value(), fmt::format("cannot list {}", store.root.string()));
    return first;
}

Result<bool> is_open_to_all(const StoreLayout& part) {
    BELAY_TRY(directory, status_of(part.root, true));
    return directory && everybody_writes(*directory);
}

Result<std::vector<StoreLayout>> parts_of(const StoreLayout& store) {
    std::vector<StoreLayout> out;
    BELAY_TRY(own, own_part(store));
    if (own) out.push_back(std::move(*own));
    BELAY_TRY(foreign_images, is_there_unbelieved(store, store.images()));
    BELAY_TRY(foreign_refs, is_there_unbelieved(store, store.refs()));
    if (!foreign_images && !foreign_refs) out.push_back(store);
    return out;
}

Result<StoreLayout> make_store(const StoreLayout& store) {
    auto made = make_part(store);
    if (made) return made;
    core::Error error = std::move(made.error()).context("the image store cannot be used");
    if (!error.hint_text().empty()) return std::unexpected(std::move(error));
    return std::unexpected(std::move(error).hint("set EDF_IMAGESTORE to a directory that you may write to"));
}

Result<> make_way(const StoreLayout& layout, const fs::path& path) {
    BELAY_TRY(in_the_way, is_there_unbelieved(layout, path));
    if (!in_the_way || unlink(path.c_str()) == 0) return {};
    const int reason = errno;  // owner_of() sets its own
    return core::errno_error(reason, fmt::format("{}{} is in the way, and belongs to a user whom this store "
                                                 "does not trust; it cannot be removed",
                                                 path.string(), owner_of(path)))
        .hint(fmt::format("ask the owner or an administrator to remove it, or {}", kHint));
}

std::string owner_of(const fs::path& path) {
    core::note_activity("look at", path.native());
    struct stat status{};
    if (lstat(path.c_str(), &status) != 0) return "";
    return fmt::format(" of {}", core::printable(core::user_name(status.st_uid)));
}

}  // namespace belay::image

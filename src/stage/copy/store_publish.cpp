// How the files of a complete copy get their names.
#include "core/new_file.h"
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/copy/store.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Directory;
using core::Result;

constexpr size_t kMostSyncedAlone = 64;  // directories; beyond it, the whole file system

std::string parent_name(std::string_view path) {
    return std::string(path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/')));
}
std::string last_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
}

// False where something has the name. File systems that cannot rename so (NFS, EINVAL) can link.
Result<bool> rename_to_free(const Directory& from, const std::string& old_name, const Directory& to,
                            const std::string& new_name) {
    int failure =
        renameat2(from.fd(), old_name.c_str(), to.fd(), new_name.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (failure == EINVAL || failure == ENOSYS) {
        failure = linkat(from.fd(), old_name.c_str(), to.fd(), new_name.c_str(), 0) == 0 ? 0 : errno;
        if (failure == 0) BELAY_CHECK(from.remove_file(old_name));
    }
    if (failure == EEXIST) return false;
    if (failure != 0)
        return core::errno_error(
            failure, fmt::format("cannot create {}", core::printable(to.path_of(new_name).string())));
    return true;
}

Result<> make_parents(const Directory& root, std::string_view parent) {
    for (size_t end = 0; end < parent.size();) {
        end = std::min(parent.find('/', end + 1), parent.size());
        BELAY_CHECK(root.make_directory(parent.substr(0, end), kDirectoryMode));
    }
    return {};
}

}  // namespace

Result<> CopyStore::publish_file(size_t file) {
    const CopyFile& planned = layout_->files()[file];
    BELAY_TRY(part, open_part(file, O_CREAT));
    const auto modified = std::chrono::nanoseconds(planned.source.modified);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(modified);
    const timespec times[] = {{0, UTIME_OMIT}, {seconds.count(), (modified - seconds).count()}};
    if (futimens(part.get(), times) != 0)
        return core::errno_error(errno, fmt::format("cannot set the time of {}", shown(file)));
    const std::string path = path_of(file);
    const std::string parent = parent_name(path);
    BELAY_CHECK(make_parents(target_.directory, parent));
    BELAY_TRY(directory, target_.directory.enter(parent));
    BELAY_TRY(is_free, rename_to_free(*work_, std::to_string(file), directory, last_name(path)));
    if (!is_free) return something_else(shown(file));
    return {};
}

Result<> CopyStore::publish() {
    BELAY_CHECK(checkpoint());
    std::set<std::string> parents;
    std::optional<size_t> manifest;
    for (size_t file = 0; file < published_.size(); ++file) {
        const std::string path = path_of(file);
        if (published_[file]) continue;
        parents.insert(parent_name(path));
        if (layout_->plan().kind == CopyKind::kPacked && path == shard::kManifestName)
            manifest = file;
        else
            BELAY_CHECK(publish_file(file));
    }
    if (parents.size() > kMostSyncedAlone && syncfs(work_->fd()) != 0)
        return core::errno_error(errno, fmt::format("cannot sync {}", target_.directory.path().string()));
    if (parents.size() <= kMostSyncedAlone)
        for (const std::string& parent : parents) {
            BELAY_TRY(directory, target_.directory.enter(parent));
            BELAY_CHECK(directory.sync());
        }
    if (layout_->plan().kind != CopyKind::kFile) {
        BELAY_TRY(plan, core::NewFile::begin(target_.directory, kCopyPrefix, 0600));
        BELAY_CHECK(core::write_all(plan.fd(), plan_, plan.path().string()));
        BELAY_CHECK(std::move(plan).replace());
    }
    if (manifest) BELAY_CHECK(publish_file(*manifest));
    BELAY_CHECK(remove_held_work(target_.directory, work_name_, *work_));
    return target_.directory.sync();
}

}  // namespace belay::stage

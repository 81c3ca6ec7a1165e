// How the files of a complete copy get their names.
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/copy/parents.h"
#include "stage/copy/sign_file.h"
#include "stage/copy/store.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Directory;
using core::Result;

constexpr size_t kMostSyncedAlone = 64;  // directories; beyond it, the whole file system

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

// Which of the directories in which files come are not there yet.
class MissingDirectories {
  public:
    explicit MissingDirectories(const Directory& root) : root_(root) {}

    Result<> look_for_parents_of(std::string_view path) {
        for (std::string_view parent = parent_of_path(path); !parent.empty() && parent != last_;
             parent = parent_of_path(parent)) {
            if (there_.contains(parent) || missing_.contains(parent)) break;
            BELAY_TRY(facts, root_.facts(parent));
            (facts ? there_ : missing_).emplace(parent);
            if (facts) break;
        }
        last_ = parent_of_path(path);
        return {};
    }
    std::vector<std::string> names() const { return {missing_.begin(), missing_.end()}; }

  private:
    const Directory& root_;
    std::string last_;  // of the file before
    std::set<std::string, std::less<>> there_, missing_;
};

}  // namespace

// The content is on the disk, and is what was planned; from here on it is known by its mark.
Result<BroughtFile> CopyStore::prepare_part(size_t file) const {
    const SourceFile& planned = layout_->files()[file];
    const std::string name = std::to_string(file);
    if (planned.bytes == 0) BELAY_CHECK(open_part(file, O_CREAT));
    const auto modified = std::chrono::nanoseconds(planned.modified);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(modified);
    const timespec times[] = {{0, UTIME_OMIT}, {seconds.count(), (modified - seconds).count()}};
    if (utimensat(work().fd(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
        return core::errno_error(errno, fmt::format("cannot set the time of {}", shown(file)));
    BELAY_TRY(part, look_at_file(work(), name));
    if (!part || !part->is_regular || part->bytes != planned.bytes)
        return core::system_error("{}: what was copied of it has been removed or changed meanwhile",
                                  shown(file))
            .hint("give the command again");
    return BroughtFile{.path = path_of(file),
                       .bytes = planned.bytes,
                       .modified = planned.modified,
                       .mark = part->identity.mark};
}

// What will be this copy's own is written down before the first name, since nobody can tell afterwards.
Result<> CopyStore::prepare_names() {
    BroughtCopy copy{.plan = digest_, .kind = layout_->plan().kind};
    MissingDirectories missing(target_.directory);
    for (size_t file = 0; file < published_.size(); ++file) {
        if (published_[file]) continue;
        BELAY_CHECK(missing.look_for_parents_of(path_of(file)));
        BELAY_TRY(part, prepare_part(file));
        copy.files.push_back(std::move(part));
    }
    copy.directories = missing.names();
    add_copy(brought_, std::move(copy));
    return write_brought();
}

Result<> CopyStore::sync_names(const std::set<std::string>& parents) const {
    if (parents.size() > kMostSyncedAlone && syncfs(work().fd()) != 0)
        return core::errno_error(errno, fmt::format("cannot sync {}", target_.directory.path().string()));
    if (parents.size() > kMostSyncedAlone) return {};
    for (const std::string& parent : parents) {
        BELAY_TRY(directory, target_.directory.enter(parent));
        BELAY_CHECK(directory.sync());
    }
    return {};
}

Result<> CopyStore::write_sign() const {
    CopySign sign = sign_;
    add_sign(sign, brought_);
    add_copy(sign, {.plan = digest_, .kind = layout_->plan().kind, .state = encode_state(state(), digest_)});
    // Of other plans only what they brought counts.
    std::erase_if(sign.copies, [this](const BroughtCopy& copy) {
        return copy.plan != digest_ && copy.files.empty() && copy.directories.empty();
    });
    return stage::write_sign(target_.directory, std::string(kCopyPrefix), sign);
}

Result<> CopyStore::publish() {
    BELAY_CHECK(checkpoint());
    BELAY_CHECK(prepare_names());
    Parents parents(target_.directory);
    std::set<std::string> touched;
    const auto give_name = [&](size_t file) -> Result<> {
        const std::string path = path_of(file);
        BELAY_TRY(parent, parents.make(path, kDirectoryMode));
        BELAY_TRY(is_free, rename_to_free(work(), std::to_string(file), *parent, last_of_path(path)));
        touched.emplace(parent_of_path(path));
        if (!is_free) return something_else(shown(file));
        return {};
    };
    std::optional<size_t> manifest;
    for (size_t file = 0; file < published_.size(); ++file) {
        if (published_[file]) continue;
        if (layout_->plan().kind == CopyKind::kPacked && path_of(file) == shard::kManifestName)
            manifest = file;
        else
            BELAY_CHECK(give_name(file));
    }
    BELAY_CHECK(sync_names(touched));
    if (layout_->plan().kind != CopyKind::kFile) BELAY_CHECK(write_sign());
    if (manifest) BELAY_CHECK(give_name(*manifest));
    BELAY_CHECK(remove_held_work(target_.directory, work_name_, work()));
    return target_.directory.sync();
}

}  // namespace belay::stage

#include "stage/copy/clean.h"

#include "core/directory.h"
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/copy/layout.h"
#include "stage/copy/store.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <fcntl.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

// The plan of a copy that is there; nothing where there is none.
Result<std::optional<CopyPlan>> plan_in(const Directory& directory, std::string_view name) {
    BELAY_TRY(facts, directory.facts(name));
    if (!facts) return std::optional<CopyPlan>();
    const std::string path = core::printable(directory.path_of(name).string());
    if (facts->owner != geteuid())
        return bad_input("{} belongs to another user", path)
            .because(core::Cause::kDenied)
            .hint("give the command as that user");
    BELAY_TRY(text, directory.read_file(name, kMostPlanBytes));
    BELAY_TRY(plan, core::with_context(decode_plan(text), path));
    return std::optional(std::move(plan));
}

bool is_as_copied(const struct stat& status, uint64_t bytes, int64_t planned) {
    const int64_t modified = nanoseconds_of(status.st_mtim);
    return S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           static_cast<uint64_t>(status.st_size) == bytes && CopyStore::is_same_time(modified, planned);
}

class Cleaner {
  public:
    explicit Cleaner(const Directory& root) : root_(root) {}

    // Of a packed set its manifest first: what is left is not taken for the whole.
    Result<> remove_files(const CopyPlan& plan) {
        if (plan.kind == CopyKind::kFile) return {};
        const auto manifest =
            std::ranges::find(plan.files, shard::kManifestName,
                              [](const CopyFile& file) -> std::string_view { return file.source.path; });
        if (manifest != plan.files.end()) BELAY_CHECK(remove_file(manifest->source));
        for (const CopyFile& file : plan.files)
            if (file.source.path != shard::kManifestName) BELAY_CHECK(remove_file(file.source));
        return {};
    }

    // Those that lie deepest first.
    Result<> remove_directories() const {
        for (const std::string& path : directories_) {
            auto directory = root_.enter(path);
            if (!directory) continue;
            BELAY_TRY(names, directory->list());
            if (names.empty()) BELAY_CHECK(root_.remove_directory(path));
        }
        return {};
    }

    Cleaned cleaned = {};

  private:
    Result<> remove_file(const SourceFile& planned) {
        for (size_t slash = planned.path.find('/'); slash != std::string::npos;
             slash = planned.path.find('/', slash + 1))
            directories_.insert(planned.path.substr(0, slash));
        auto opened = root_.open_file(planned.path, O_RDONLY);
        if (!opened && opened.error().cause() == core::Cause::kNotFound) return {};
        struct stat status{};
        const bool is_known = opened && fstat(opened->get(), &status) == 0;
        if (!is_known || !is_as_copied(status, planned.bytes, planned.modified)) {
            if (cleaned.kept.size() < kMostKept) cleaned.kept.push_back(planned.path);
            ++cleaned.kept_count;
            return {};
        }
        if (auto removed = root_.remove_file(planned.path); !removed)
            return removed.error().cause() == core::Cause::kNotFound ? Result<>() : removed;
        ++cleaned.files;
        cleaned.bytes += planned.bytes;
        return {};
    }

    const Directory& root_;
    std::set<std::string, std::greater<>> directories_;  // "a/b" before "a"
};

}  // namespace

Result<Cleaned> clean_copy(const fs::path& destination, const StillWanted& is_wanted) {
    BELAY_TRY(root, Directory::open_trusted(destination));
    BELAY_TRY(names, root.list());
    Cleaner cleaner(root);
    bool found = false;
    for (const std::string& name : names) {
        if (!is_work_name(name, "")) continue;
        found = true;
        BELAY_TRY(work, lock_work(root, name, false));
        if (!work) continue;
        // Some of its files may have their names already.
        BELAY_TRY(plan, plan_in(*work, kPlanName));
        if (plan) BELAY_CHECK(cleaner.remove_files(*plan));
        BELAY_CHECK(remove_held_work(root, name, *work));
        cleaner.cleaned.unfinished = true;
    }
    BELAY_TRY(plan, plan_in(root, kCopyPrefix));
    if (!plan && !found)
        return bad_input("{} holds no copy of a directory", core::printable(destination.string()))
            .because(core::Cause::kNotFound)
            .hint("name the DST that \"belay stage copy\" was given");
    if (plan) {
        // Another copy of the same would take for its own what goes here.
        const std::string name = work_name("", core::sha256(encode_plan(*plan)));
        BELAY_TRY(held, lock_work(root, name, true));
        const bool stays = is_wanted && is_wanted();
        if (!stays) BELAY_CHECK(cleaner.remove_files(*plan));
        if (!stays && cleaner.cleaned.kept_count == 0) BELAY_CHECK(root.remove_file(kCopyPrefix));
        BELAY_CHECK(remove_held_work(root, name, *held));
        if (stays) return cleaner.cleaned;
    }
    BELAY_CHECK(cleaner.remove_directories());
    BELAY_TRY(left, root.list());
    // A directory that cannot be removed, as one on which something is mounted, stays.
    if (left.empty()) (void)::rmdir(destination.c_str());
    return cleaner.cleaned;
}

Result<Cleaned> clean_copied_file(const CopiedFile& file, const StillWanted& is_wanted) {
    BELAY_TRY(parent, Directory::open_trusted(file.path.parent_path()));
    const std::string name = file.path.filename();
    Cleaned cleaned;
    BELAY_TRY(names, parent.list());
    for (const std::string& each : names) {
        if (!is_work_name(each, name)) continue;
        auto removed = remove_work(parent, each);
        if (!removed && removed.error().cause() != core::Cause::kDenied)
            return std::unexpected(std::move(removed.error()));
        cleaned.unfinished = cleaned.unfinished || removed;
    }
    if (is_wanted && is_wanted()) return cleaned;
    struct stat status{};
    if (fstatat(parent.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return cleaned;
    if (!is_as_copied(status, file.bytes, file.modified)) {
        cleaned.kept.push_back(name);
        cleaned.kept_count = 1;
        return cleaned;
    }
    BELAY_CHECK(parent.remove_file(name));
    cleaned.files = 1;
    cleaned.bytes = file.bytes;
    return cleaned;
}

}  // namespace belay::stage

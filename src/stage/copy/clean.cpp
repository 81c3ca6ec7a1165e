#include "stage/copy/clean.h"

#include "core/directory.h"
#include "core/utf8.h"
#include "shard/manifest.h"
#include "stage/copy/layout.h"
#include "stage/copy/parents.h"
#include "stage/copy/sign_file.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

// Takes away what copies brought to one directory.
class Cleaner {
  public:
    explicit Cleaner(const Directory& root) : root_(root) {}

    // What is left of the copy is what stays of it. `device` is that of what it brought.
    Result<> remove(BroughtCopy& copy, uint64_t device) {
        // Of a packed set its manifest first: what is left is not taken for the whole.
        std::ranges::stable_partition(
            copy.files, [](const BroughtFile& file) { return file.path == shard::kManifestName; });
        Parents parents(root_);
        std::vector<BroughtFile> kept;
        for (BroughtFile& file : copy.files) {
            BELAY_TRY(is_gone, remove_file(parents, file, device));
            if (is_gone) continue;
            if (cleaned.kept.size() < kMostKept) cleaned.kept.push_back(file.path);
            ++cleaned.kept_count;
            kept.push_back(std::move(file));
        }
        std::ranges::sort(kept, {}, &BroughtFile::path);
        copy.files = std::move(kept);
        return remove_directories(copy.directories);
    }

    Cleaned cleaned = {};

  private:
    // False where something else has its name, or nobody can tell.
    Result<bool> remove_file(Parents& parents, const BroughtFile& file, uint64_t device) {
        const auto parent = parents.find(file.path);
        if (!parent) return false;
        if (*parent == nullptr) return true;
        const std::string name = last_of_path(file.path);
        const auto there = look_at_file(**parent, name);
        if (!there) return false;
        if (!*there) return true;
        if (!(*there)->identity.is_same({device, file.mark}) ||
            !(*there)->is_as_planned(file.bytes, file.modified))
            return false;
        auto removed = (*parent)->remove_file(name);
        if (!removed && removed.error().cause() == core::Cause::kNotFound) return true;
        if (!removed) return std::unexpected(std::move(removed.error()));
        ++cleaned.files;
        cleaned.bytes += file.bytes;
        return true;
    }

    // Those that lie deepest first: "a/b" comes behind "a".
    Result<> remove_directories(std::vector<std::string>& paths) const {
        std::vector<std::string> left;
        for (std::string& path : paths | std::views::reverse) {
            auto directory = root_.enter(path);
            if (!directory) continue;
            BELAY_TRY(names, directory->list());
            // One on which something is mounted cannot be removed.
            if (!names.empty() || !root_.remove_directory(path)) left.push_back(std::move(path));
        }
        std::ranges::reverse(left);
        paths = std::move(left);
        return {};
    }

    const Directory& root_;
};

// A directory in which nobody else begins, publishes or takes away a copy.
class Cleaning {
  public:
    Cleaning(const Directory& root, const CleanScope& scope) : root_(root), scope_(scope), cleaner_(root) {}

    Result<Cleaned> run(const StillWanted& is_wanted) {
        // Of copies that are being made one is locked; and none begins while this is there.
        BELAY_TRY(held, lock_work(root_, cleaning_name(), true));
        auto done = is_wanted && is_wanted() ? Result<>() : clean();
        auto removed = remove_held_work(root_, cleaning_name(), held->directory);
        if (!done) return std::unexpected(std::move(done.error()));
        if (!removed) return std::unexpected(std::move(removed.error()));
        return std::move(cleaner_.cleaned);
    }
    uint32_t made_levels() const { return is_all_gone_ ? made_levels_ : 0; }

  private:
    bool is_meant(const core::Sha256Digest& plan) const { return !scope_.plan || *scope_.plan == plan; }

    Result<> clean() {
        BELAY_TRY(itself, look_at_file(root_, ""));
        const std::string sign_name(kCopyPrefix);
        BELAY_TRY(there, read_sign(root_, sign_name));
        if (there && itself && !there->sign.directory.is_same(itself->identity.mark))
            return bad_input("{} speaks of another directory: nothing was copied to this one",
                             core::printable(root_.path_of(sign_name).string()))
                .hint("it was brought here by another program: remove it by hand");
        CopySign sign = there ? std::move(there->sign) : CopySign{};
        if (itself) sign.directory = itself->identity.mark;
        BELAY_TRY(names, root_.list());
        for (const std::string& name : names)
            if (is_work_name(name, "") && name != cleaning_name()) BELAY_CHECK(take_unfinished(name, sign));
        const uint64_t device = there ? there->device : device_;
        for (BroughtCopy& copy : sign.copies)
            if (is_meant(copy.plan)) BELAY_CHECK(cleaner_.remove(copy, device));
        std::erase_if(sign.copies, [this](const BroughtCopy& copy) {
            return copy.files.empty() && (is_meant(copy.plan) || copy.directories.empty());
        });
        is_all_gone_ = sign.copies.empty();
        made_levels_ = sign.made_levels;
        if (!is_all_gone_) BELAY_CHECK(write_sign(root_, sign_name, sign));
        if (is_all_gone_ && there) BELAY_CHECK(root_.remove_file(sign_name));
        for (const auto& [name, work] : unfinished_)
            BELAY_CHECK(remove_held_work(root_, name, work.directory));
        return {};
    }

    // Of a copy that was not finished some files may have their names already.
    Result<> take_unfinished(const std::string& name, CopySign& sign) {
        BELAY_TRY(work, lock_work(root_, name, false));
        if (!work || (scope_.plan && name != work_name("", *scope_.plan))) return {};
        if (auto brought = read_sign(work->directory, std::string(kBroughtName));
            brought && *brought && (*brought)->sign.directory.is_same(sign.directory)) {
            add_sign(sign, (*brought)->sign);
            device_ = (*brought)->device;
        }
        unfinished_.emplace_back(name, std::move(*work));
        cleaner_.cleaned.unfinished = true;
        return {};
    }

    const Directory& root_;
    const CleanScope& scope_;
    Cleaner cleaner_;
    std::vector<std::pair<std::string, HeldWork>> unfinished_;
    uint64_t device_ = 0;  // of what these brought
    uint32_t made_levels_ = 0;
    bool is_all_gone_ = false;
};

bool is_of_a_copy(const std::string& name) {
    return name == kCopyPrefix || (is_work_name(name, "") && name != cleaning_name());
}

core::Failure no_copy(const fs::path& destination) {
    return bad_input("{} holds no copy of a directory", core::printable(destination.string()))
        .because(core::Cause::kNotFound)
        .hint(
            "name the DST that \"belay stage copy\" was given; of a single file nothing but the file itself "
            "is there, which rm removes");
}

}  // namespace

Result<Cleaned> clean_copy(const fs::path& destination, const CleanScope& scope,
                           const StillWanted& is_wanted) {
    BELAY_TRY(type, core::type_of_file(destination));
    if (type == fs::file_type::regular) return no_copy(destination);
    BELAY_TRY(root, Directory::open_trusted(destination));
    BELAY_TRY(itself, look_at_file(root, ""));
    if (scope.directory && (!itself || !itself->identity.is_same(*scope.directory)))
        return no_copy(destination);
    BELAY_TRY(names, root.list());
    if (std::ranges::none_of(names, is_of_a_copy)) return no_copy(destination);
    Cleaning cleaning(root, scope);
    BELAY_TRY(cleaned, cleaning.run(is_wanted));
    remove_if_empty(root, cleaning.made_levels());
    return cleaned;
}

Result<Cleaned> clean_copied_file(const CopiedFile& file, const StillWanted& is_wanted) {
    BELAY_TRY(parent, Directory::open_trusted(file.path.parent_path()));
    const std::string name = file.path.filename();
    const std::string parts = work_name(name, file.plan);
    BELAY_TRY(unfinished, parent.facts(parts));
    // Another copy of the same would take for its own what goes here.
    BELAY_TRY(held, lock_work(parent, parts, true));
    Cleaned cleaned{.unfinished = unfinished.has_value()};
    if (is_wanted && is_wanted()) {
        if (!unfinished) BELAY_CHECK(remove_held_work(parent, parts, held->directory));
        return Cleaned{};
    }
    BELAY_CHECK(remove_held_work(parent, parts, held->directory));
    BELAY_TRY(there, look_at_file(parent, name));
    if (!there) return cleaned;
    if (!there->identity.is_same(file.identity) || !there->is_as_planned(file.bytes, file.modified)) {
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

// How a store begins: what is there is looked at before anything is written.
#include "core/file.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/parents.h"
#include "stage/copy/sign_file.h"
#include "stage/copy/store.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"
#include "stage/space/space.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Directory;
using core::Result;

constexpr size_t kVerifiers = 4;   // threads
constexpr uint64_t kOwnFiles = 4;  // of a store, beside the parts

// Of a directory and those around it, how many do not exist.
uint32_t missing_levels(fs::path place) {
    std::error_code error;
    uint32_t levels = 0;
    while (levels < kMostMadeLevels && place.has_filename() && !fs::exists(place, error) && !error) {
        place = place.parent_path();
        ++levels;
    }
    return levels;
}

}  // namespace

Result<CopyTarget> find_target(const CopyPlan& plan, const fs::path& destination) {
    BELAY_TRY(type, core::type_of_file(destination));
    const fs::path place = destination.has_filename() || !destination.has_relative_path()
                               ? destination
                               : destination.parent_path();  // "DST/"
    if (plan.kind == CopyKind::kFile && type != fs::file_type::directory && destination.has_filename()) {
        const fs::path parent = destination.has_parent_path() ? destination.parent_path() : fs::path(".");
        BELAY_TRY(directory, Directory::make_guarded(parent));
        return CopyTarget{.directory = std::move(directory), .name = destination.filename()};
    }
    if (type != fs::file_type::directory && type != fs::file_type::not_found)
        return core::bad_input("{} is not a directory", core::printable(destination.string()))
            .hint("name a directory, or what does not exist yet");
    const uint32_t missing = missing_levels(place);
    if (place.has_parent_path()) BELAY_CHECK(Directory::make_guarded(place.parent_path()));
    const bool is_made = ::mkdir(place.c_str(), kDirectoryMode) == 0;
    if (!is_made && errno != EEXIST)
        return core::errno_error(errno, fmt::format("cannot make {}", core::printable(place.string())));
    BELAY_TRY(directory, Directory::open_guarded(place));
    BELAY_TRY(facts, directory.facts());
    // In a directory of root's, such as /tmp, a single file may lie.
    if (facts.owner != geteuid() && plan.kind != CopyKind::kFile)
        return core::bad_input("{} belongs to another user, who could change the copy",
                               core::printable(destination.string()))
            .because(core::Cause::kDenied)
            .hint("name a directory that does not exist yet");
    return CopyTarget{.directory = std::move(directory),
                      .name = plan.kind == CopyKind::kFile ? plan.files.front().path : std::string(),
                      .made_levels = is_made ? std::max(missing, 1U) : 0};
}

Result<std::unique_ptr<CopyStore>> CopyStore::open(std::shared_ptr<const CopyLayout> layout,
                                                   CopyTarget target) {
    std::unique_ptr<CopyStore> store(new CopyStore(std::move(layout), std::move(target)));
    // Nobody else publishes a file of it from here on.
    BELAY_CHECK(store->enter_work());
    if (auto ready = store->look_around(); !ready) {
        store->give_up();
        return std::unexpected(std::move(ready.error()));
    }
    return store;
}

Result<> CopyStore::look_around() {
    BELAY_CHECK(read_signs());
    BELAY_CHECK(find_published());
    BELAY_CHECK(remove_other_work());
    BELAY_CHECK(take_up());
    return check_room();
}

bool CopyStore::had_files() const {
    return had_files_;
}

Result<> CopyStore::read_signs() {
    BELAY_TRY(itself, look_at_file(target_.directory, ""));
    if (!itself) return core::errno_error(ENOENT, "cannot look at " + target_.directory.path().string());
    sign_.directory = brought_.directory = itself->identity.mark;
    brought_.made_levels = target_.made_levels;
    // What is damaged says nothing: what it spoke of stays when the copy is taken away.
    const auto earlier = read_sign(work(), std::string(kBroughtName));
    if (earlier && *earlier && (*earlier)->sign.directory.is_same(brought_.directory))
        add_sign(brought_, (*earlier)->sign);
    else if (target_.made_levels > 0)
        BELAY_CHECK(write_brought());
    if (layout_->plan().kind == CopyKind::kFile) return {};
    BELAY_TRY(there, read_sign(target_.directory, std::string(kCopyPrefix)));
    // One that was copied here together with the files by another program speaks of others.
    if (there && there->sign.directory.is_same(sign_.directory)) sign_ = std::move(there->sign);
    return {};
}

Result<> CopyStore::write_brought() const {
    return stage::write_sign(work(), std::string(kBroughtName), brought_);
}

// What has its name already must be what would get it.
Result<bool> CopyStore::is_published(const Directory& parent, size_t file) const {
    BELAY_TRY(there, look_at_file(parent, last_of_path(path_of(file))));
    if (!there) return false;
    const SourceFile& planned = layout_->files()[file];
    if (target_.source && there->identity.id() == FileId{target_.source->device, planned.inode})
        return core::bad_input("{} is the source's own file under another name, and not a copy", shown(file))
            .hint("name another destination");
    if (there->is_as_planned(planned.bytes, planned.modified)) return true;
    return something_else(shown(file));
}

Result<> CopyStore::find_published() {
    BELAY_TRY(names, target_.directory.list());
    const bool is_empty =
        std::ranges::all_of(names, [](const std::string& name) { return name.starts_with(kCopyPrefix); });
    if (is_empty) return {};
    const auto entered = [this](const Directory& directory) -> Result<> {
        if (!target_.source) return {};
        BELAY_TRY(seen, look_at_file(directory, ""));
        if (!seen || !target_.source->directories.hold(seen->identity.id())) return {};
        return core::bad_input("{} is a directory of the source, which would get files of its own copy",
                               core::printable(directory.path().string()))
            .hint("name another destination");
    };
    Parents parents(target_.directory, entered);
    for (size_t file = 0; file < published_.size(); ++file) {
        BELAY_TRY(parent, parents.find(path_of(file)));
        if (parent == nullptr) continue;
        BELAY_TRY(is_there, is_published(*parent, file));
        published_[file] = is_there;
        had_files_ = had_files_ || is_there;
    }
    return {};
}

Result<FileIdentity> CopyStore::identity() const {
    const bool is_file = layout_->plan().kind == CopyKind::kFile;
    const bool is_part = is_file && !published_[0];
    if (is_part) BELAY_CHECK(open_part(0, O_CREAT));
    BELAY_TRY(seen, is_part ? look_at_file(work(), "0") : look_at_file(target_.directory, target_.name));
    if (seen) return seen->identity;
    return core::errno_error(ENOENT, fmt::format("cannot look at {}", shown(0)));
}

Result<> CopyStore::enter_work() {
    work_name_ = work_name(target_.name, digest_);
    BELAY_TRY(held, lock_work(target_.directory, work_name_, true, core::Deadline::after(target_.patience)));
    work_ = std::move(held);
    BELAY_TRY(known, work().facts(kPlanName));
    if (known) return {};
    is_new_work_ = true;
    BELAY_TRY(file, core::NewFile::begin(work(), kPlanName));
    BELAY_CHECK(core::write_all(file.fd(), plan_, file.path().string()));
    return std::move(file).replace();
}

void CopyStore::give_up() {
    if (!is_new_work_) return;
    (void)remove_held_work(target_.directory, work_name_, work());
    work_.reset();
    remove_if_empty(target_.directory, target_.made_levels);
}

// What an earlier copy left whose source was another, or which had other chunks; but what it brought under its
// names already is remembered.
Result<> CopyStore::remove_other_work() {
    BELAY_TRY(names, target_.directory.list());
    for (const std::string& name : names) {
        if (name == work_name_ || !is_work_name(name, target_.name)) continue;
        // What takes copies away is waited for; another copy may itself wait for this one.
        const core::Duration patience = name == cleaning_name() ? target_.patience : core::Duration();
        auto other = lock_work(target_.directory, name, false, core::Deadline::after(patience));
        // Another user's is not ours to remove, and none of our business.
        if (!other && other.error().cause() == core::Cause::kDenied) continue;
        if (!other) return std::unexpected(std::move(other.error()));
        if (!*other) continue;
        const Directory& left = (*other)->directory;
        if (const auto brought = read_sign(left, std::string(kBroughtName));
            brought && *brought && (*brought)->sign.directory.is_same(brought_.directory)) {
            add_sign(brought_, (*brought)->sign);
            BELAY_CHECK(write_brought());
        }
        BELAY_CHECK(remove_held_work(target_.directory, name, left));
    }
    return {};
}

bool CopyStore::is_all_published(uint64_t chunk) const {
    return std::ranges::all_of(layout_->segments(chunk),
                               [this](const Segment& segment) { return published_[segment.file]; });
}

Result<> CopyStore::verify(const ChunkState& earlier, uint64_t first, uint64_t last) {
    ChunkBuffer content;
    for (uint64_t chunk = first; chunk < last; ++chunk) {
        const auto expected = earlier.checksum(chunk);
        const bool is_published = is_all_published(chunk);
        // Where the source is read, it says what belongs there.
        if (!expected && (!is_published || target_.source)) continue;
        if (!read_content(chunk, content)) continue;
        const uint32_t checksum = shard::crc32c(content.view());
        if (expected && *expected != checksum && is_published)
            return something_else(shown(layout_->segments(chunk).front().file));
        if (expected && *expected != checksum) continue;  // it comes again
        const std::lock_guard lock(mutex_);
        state_.set(chunk, checksum);
    }
    return {};
}

// The checksums that are known of this plan. A state that is damaged says nothing: all comes again.
ChunkState CopyStore::earlier_state() const {
    const uint64_t chunks = layout_->chunks();
    ChunkState earlier(chunks);
    if (const BroughtCopy* copy = sign_.find(digest_))
        if (auto state = decode_state(copy->state, digest_, chunks)) earlier = std::move(*state);
    const auto text = work().read_file(kStateName, most_state_bytes(chunks));
    if (!text) return earlier;
    if (const auto state = decode_state(*text, digest_, chunks))
        for (uint64_t chunk = 0; chunk < chunks; ++chunk)
            if (const auto checksum = state->checksum(chunk)) earlier.set(chunk, *checksum);
    return earlier;
}

Result<> CopyStore::take_up() {
    const uint64_t chunks = layout_->chunks();
    const ChunkState earlier = earlier_state();
    const uint64_t part = chunks / kVerifiers + 1;
    BELAY_CHECK(core::in_parallel(kVerifiers, kVerifiers, [&](size_t number) {
        return verify(earlier, std::min(chunks, number * part), std::min(chunks, (number + 1) * part));
    }));
    for (uint64_t chunk = 0; chunk < chunks; ++chunk)
        if (state_.has(chunk)) arrivals_.push_back(chunk);
    resumed_ = arrivals_.size();
    return {};
}

Result<> CopyStore::check_room() const {
    const auto files = static_cast<uint64_t>(std::ranges::count(published_, false));
    uint64_t bytes = 0;
    for (uint64_t chunk = 0; chunk < layout_->chunks(); ++chunk) {
        if (state_.has(chunk)) continue;
        for (const Segment& segment : layout_->segments(chunk))
            if (!published_[segment.file]) bytes += segment.bytes;
    }
    return check_space(target_.directory,
                       {.bytes = bytes, .files = files + kOwnFiles, .memory_share = target_.memory_share});
}

Result<> CopyStore::leave_mark(const std::string& name) const {
    BELAY_TRY(file, work().open_file(name, O_WRONLY | O_CREAT));
    return {};
}

Result<bool> CopyStore::has_mark(const std::string& name) const {
    BELAY_TRY(facts, work().facts(name));
    return facts.has_value();
}

}  // namespace belay::stage

// How a store begins: what is there is looked at before anything is written.
#include "core/file.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/store.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"
#include "stage/space/space.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Directory;
using core::Result;

constexpr size_t kVerifiers = 4;   // threads
constexpr uint64_t kOwnFiles = 3;  // of a store, beside the parts
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

Result<CopyTarget> find_target(const CopyPlan& plan, const fs::path& destination) {
    BELAY_TRY(type, core::type_of_file(destination));
    const fs::path place = destination.has_filename() || !destination.has_relative_path()
                               ? destination
                               : destination.parent_path();  // "DST/"
    if (plan.kind == CopyKind::kFile && type != fs::file_type::directory && destination.has_filename()) {
        const fs::path parent = destination.has_parent_path() ? destination.parent_path() : fs::path(".");
        BELAY_CHECK(core::make_directories(parent));
        BELAY_TRY(directory, Directory::open_guarded(parent));
        return CopyTarget{.directory = std::move(directory), .name = destination.filename()};
    }
    if (place.has_parent_path()) BELAY_CHECK(core::make_directories(place.parent_path()));
    if (::mkdir(place.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
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
                      .name = plan.kind == CopyKind::kFile ? plan.files.front().source.path : std::string()};
}

bool CopyStore::is_same_time(int64_t there, int64_t planned) {
    return there == planned || (there % kSecond == 0 && there / kSecond == planned / kSecond);
}

Result<std::unique_ptr<CopyStore>> CopyStore::open(std::shared_ptr<const CopyLayout> layout,
                                                   CopyTarget target) {
    std::unique_ptr<CopyStore> store(new CopyStore(std::move(layout), std::move(target)));
    // Nobody else publishes a file of it from here on.
    BELAY_CHECK(store->enter_work());
    if (auto ready = store->look_around(); !ready) {
        if (store->is_new_work_)
            (void)remove_held_work(store->target_.directory, store->work_name_, *store->work_);
        return std::unexpected(std::move(ready.error()));
    }
    return store;
}

Result<> CopyStore::look_around() {
    BELAY_CHECK(find_published());
    BELAY_CHECK(remove_other_work());
    BELAY_CHECK(take_up());
    return check_room();
}

bool CopyStore::had_files() const {
    return had_files_;
}

// What has its name already must be what would get it.
Result<bool> CopyStore::is_published(size_t file) const {
    auto opened = target_.directory.open_file(path_of(file), O_RDONLY);
    if (!opened && opened.error().cause() == core::Cause::kNotFound) return false;
    if (!opened) return std::unexpected(std::move(opened.error()));
    const SourceFile& planned = layout_->files()[file].source;
    struct stat status{};
    if (fstat(opened->get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", shown(file)));
    const int64_t modified = nanoseconds_of(status.st_mtim);
    if (status.st_uid == geteuid() && static_cast<uint64_t>(status.st_size) == planned.bytes &&
        is_same_time(modified, planned.modified))
        return true;
    return something_else(shown(file));
}

Result<> CopyStore::find_published() {
    BELAY_TRY(names, target_.directory.list());
    const bool is_empty =
        std::ranges::all_of(names, [](const std::string& name) { return name.starts_with(kCopyPrefix); });
    if (is_empty) return {};
    for (size_t file = 0; file < published_.size(); ++file) {
        BELAY_TRY(is_there, is_published(file));
        published_[file] = is_there;
        had_files_ = had_files_ || is_there;
    }
    return {};
}

Result<> CopyStore::enter_work() {
    work_name_ = work_name(target_.name, digest_);
    BELAY_TRY(work, lock_work(target_.directory, work_name_, true, core::Deadline::after(target_.patience)));
    work_ = std::move(*work);
    BELAY_TRY(known, work_->facts(kPlanName));
    if (known) return {};
    is_new_work_ = true;
    BELAY_TRY(file, core::NewFile::begin(*work_, kPlanName));
    BELAY_CHECK(core::write_all(file.fd(), plan_, file.path().string()));
    return std::move(file).replace();
}

void CopyStore::give_up() const {
    if (is_new_work_) (void)remove_held_work(target_.directory, work_name_, *work_);
}

// What an earlier copy left whose source was another, or which had other chunks.
Result<> CopyStore::remove_other_work() const {
    BELAY_TRY(names, target_.directory.list());
    for (const std::string& name : names)
        if (name != work_name_ && is_work_name(name, target_.name)) {
            auto removed = remove_work(target_.directory, name);
            // Another user's is not ours to remove, and none of our business.
            if (!removed && removed.error().cause() != core::Cause::kDenied) return removed;
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
        if ((!expected && !is_published) || !read_content(chunk, content)) continue;
        const uint32_t checksum = shard::crc32c(content.view());
        if (expected && *expected != checksum && is_published)
            return something_else(shown(layout_->segments(chunk).front().file));
        if (expected && *expected != checksum) continue;  // it comes again
        const std::lock_guard lock(mutex_);
        state_.set(chunk, checksum);
    }
    return {};
}

Result<> CopyStore::take_up() {
    const uint64_t chunks = layout_->chunks();
    ChunkState earlier(chunks);
    // A state that is damaged says nothing: all comes again.
    if (auto text = work_->read_file(kStateName, most_state_bytes(chunks)))
        if (auto state = decode_state(*text, digest_, chunks)) earlier = std::move(*state);
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
    return check_space(target_.directory, {.bytes = layout_->bytes() - held_bytes(),
                                           .files = files + kOwnFiles,
                                           .memory_share = target_.memory_share});
}

Result<> CopyStore::leave_mark(const std::string& name) const {
    BELAY_TRY(file, work_->open_file(name, O_WRONLY | O_CREAT));
    return {};
}

Result<bool> CopyStore::has_mark(const std::string& name) const {
    BELAY_TRY(facts, work_->facts(name));
    return facts.has_value();
}

}  // namespace belay::stage

// Chunks that arrive and are handed on. How a store begins: store_open.cpp; how files get their names:
// store_publish.cpp.
#include "stage/copy/store.h"

#include "core/new_file.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/store_parts.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

// Beyond it the whole file system is synced at once: one commit of its journal, and not one for each file.
constexpr size_t kMostSyncedAlone = 64;

Result<> read_at(int fd, const std::string& name, uint64_t offset, char* into, uint64_t bytes) {
    while (bytes > 0) {
        const ssize_t size = pread(fd, into, bytes, static_cast<off_t>(offset));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", name));
        if (size == 0) return core::system_error("{} ends too early", name);
        into += size;
        offset += static_cast<uint64_t>(size);
        bytes -= static_cast<uint64_t>(size);
    }
    return {};
}

Result<> write_at(int fd, const std::string& name, uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0)
            return core::errno_error(errno, fmt::format("cannot write {}", name))
                .hint("what is there already is kept: make room, and give the command again");
        offset += static_cast<uint64_t>(size);
        bytes.remove_prefix(static_cast<size_t>(size));
    }
    return {};
}

}  // namespace

CopyStore::CopyStore(std::shared_ptr<const CopyLayout> layout, CopyTarget target)
    : layout_(std::move(layout)),
      plan_(encode_plan(layout_->plan())),
      target_(std::move(target)),
      published_(layout_->files().size(), false),
      parts_([this](size_t file, int flags) { return open_part(file, flags); }),
      state_(layout_->chunks()) {
    digest_ = core::sha256(plan_);
}

bool CopyStore::has(uint64_t chunk) const {
    return checksum(chunk).has_value();
}

bool CopyStore::is_complete() const {
    const std::lock_guard lock(mutex_);
    return state_.is_complete();
}

uint64_t CopyStore::held_bytes() const {
    const std::lock_guard lock(mutex_);
    if (state_.held() == 0) return 0;
    const uint64_t last = layout_->chunks() - 1;
    const uint64_t missing = state_.has(last) ? layout_->plan().chunk_bytes - layout_->bytes_of(last) : 0;
    return state_.held() * layout_->plan().chunk_bytes - missing;
}

ChunkState CopyStore::state() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

std::optional<uint32_t> CopyStore::checksum(uint64_t chunk) const {
    const std::lock_guard lock(mutex_);
    return state_.checksum(chunk);
}

std::string CopyStore::path_of(size_t file) const {
    return target_.name.empty() ? layout_->files()[file].path : target_.name;
}
std::string CopyStore::shown(size_t file) const {
    return core::printable(target_.directory.path_of(path_of(file)).string());
}

Result<core::Descriptor> CopyStore::open_part(size_t file, int flags) const {
    if (published_[file]) return target_.directory.open_file(path_of(file), O_RDONLY);
    auto part = work().open_file(std::to_string(file), O_RDWR | flags, part_mode(layout_->files()[file]));
    // It may have got its name since.
    if (!part && part.error().cause() == core::Cause::kNotFound)
        return target_.directory.open_file(path_of(file), O_RDONLY);
    return part;
}

Result<> CopyStore::put_segment(const Segment& segment, std::string_view content) {
    BELAY_TRY(part, parts_.get(segment.file, O_CREAT));
    if (!published_[segment.file]) return write_at(part->get(), shown(segment.file), segment.offset, content);
    std::string there(content.size(), '\0');
    BELAY_CHECK(read_at(part->get(), shown(segment.file), segment.offset, there.data(), there.size()));
    if (there != content) return something_else(shown(segment.file));
    return {};
}

Result<> CopyStore::put(uint64_t chunk, uint32_t checksum, ChunkBuffer& content, size_t skip) {
    const std::vector<Segment> segments = layout_->segments(chunk);
    std::string_view left = content.view().substr(skip);
    for (const Segment& segment : segments) {
        BELAY_CHECK(put_segment(segment, left.substr(0, segment.bytes)));
        left.remove_prefix(segment.bytes);
    }
    recent_.keep(chunk, content, skip);
    {
        const std::lock_guard lock(mutex_);
        if (sync_failure_) return std::unexpected(*sync_failure_);
        if (!state_.has(chunk)) arrivals_.push_back(chunk);
        state_.set(chunk, checksum);
        for (const Segment& segment : segments) unsynced_.insert(segment.file);
    }
    came_.notify_all();
    return {};
}

Result<> CopyStore::read_content(uint64_t chunk, ChunkBuffer& into) const {
    into.resize(layout_->bytes_of(chunk));
    char* at = into.data();
    for (const Segment& segment : layout_->segments(chunk)) {
        BELAY_TRY(part, parts_.get(segment.file));
        BELAY_CHECK(read_at(part->get(), shown(segment.file), segment.offset, at, segment.bytes));
        at += segment.bytes;
    }
    return {};
}

Result<> CopyStore::read(uint64_t chunk, ChunkBuffer& into) const {
    BELAY_CHECK(read_content(chunk, into));
    if (shard::crc32c(into.view()) == checksum(chunk)) return {};
    return core::system_error("{}: chunk {} reads back as something else than was written there",
                              core::printable(target_.directory.path().string()), chunk)
        .hint(
            "the disk or the memory of this node is faulty; what is damaged is fetched again when the "
            "command is given again");
}

std::optional<uint64_t> CopyStore::arrival(size_t position, core::Deadline deadline) const {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, deadline.left(), [&] { return position < arrivals_.size(); });
    if (position >= arrivals_.size()) return std::nullopt;
    return arrivals_[position];
}

Result<> CopyStore::sync_parts(const std::set<size_t>& files) const {
    if (files.size() > kMostSyncedAlone) {
        if (syncfs(work().fd()) != 0)
            return core::errno_error(errno, fmt::format("cannot sync {}", work().path().string()));
        return {};
    }
    for (const size_t file : files) {
        if (published_[file]) continue;
        BELAY_TRY(part, parts_.get(file));
        if (fdatasync(part->get()) != 0)
            return core::errno_error(errno, fmt::format("cannot sync {}", shown(file)));
    }
    return {};
}

Result<> CopyStore::write_state(const ChunkState& state) const {
    BELAY_TRY(file, core::NewFile::begin(work(), kStateName));
    BELAY_CHECK(core::write_all(file.fd(), encode_state(state, digest_), file.path().string()));
    return std::move(file).replace();
}

Result<> CopyStore::checkpoint() {
    std::optional<ChunkState> state;
    std::set<size_t> files;
    {
        const std::lock_guard lock(mutex_);
        if (sync_failure_) return std::unexpected(*sync_failure_);
        if (unsynced_.empty()) return {};
        state = state_;
        files.swap(unsynced_);  // what comes from here on is for the next time
    }
    auto synced = sync_parts(files);
    if (synced) synced = write_state(*state);
    if (synced) return {};
    const std::lock_guard lock(mutex_);
    sync_failure_ = synced.error();
    return synced;
}

}  // namespace belay::stage

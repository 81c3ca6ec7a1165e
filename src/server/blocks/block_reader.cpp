#include "server/blocks/block_reader.h"

#include "stream/block_walk.h"
#include "stream/segment_bytes.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

class PlaceReader {
  public:
    // `logs`: nullptr to open files as they are met. `filter` may be empty.
    PlaceReader(const core::Directory& directory, const OpenLogs* logs, BlockFilter filter,
                const std::function<Result<>(std::string_view)>& visit)
        : directory_(directory), logs_(logs), filter_(std::move(filter)), visit_(visit) {}

    Result<> take(const BlockPlace& place) {
        const std::vector<BlockRun> wanted = wanted_of(place.blocks);
        if (wanted.empty()) return {};
        const bool is_same_session = place.file == file_ && place.head_at == head_at_;
        if (!is_same_session || piece_.size() >= kPieceBytes) BELAY_CHECK(begin(place));
        BELAY_TRY(bytes, read(place.at, place.bytes));
        if (wanted.size() == 1 && wanted.front() == place.blocks)
            piece_ += bytes;
        else
            BELAY_CHECK(add_wanted(bytes, place));
        given_.add(place.blocks);
        return {};
    }
    Result<> finish() {
        if (piece_.size() <= head_bytes_) return {};
        const std::string piece = std::move(piece_);
        piece_.clear();
        return visit_(piece);
    }

  private:
    std::vector<BlockRun> wanted_of(BlockRun run) const {
        std::vector<BlockRun> wanted = given_.missing_in(run);
        if (!filter_) return wanted;
        std::vector<BlockRun> left;
        for (const BlockRun& part : wanted) std::ranges::copy(filter_(part), std::back_inserter(left));
        return left;
    }

    Result<> open(const BlockPlace& place) {
        file_ = place.file;
        if (logs_ != nullptr) {
            fd_ = logs_->descriptor(*place.file);
            if (fd_ < 0)
                return core::errno_error(
                    ENOENT, fmt::format("cannot open {}", directory_.path_of(*place.file).string()));
            return {};
        }
        BELAY_TRY(opened, directory_.open_file(*place.file, O_RDONLY));
        descriptor_ = std::move(opened);
        fd_ = descriptor_.get();
        return {};
    }

    Result<> begin(const BlockPlace& place) {
        BELAY_CHECK(finish());
        if (place.file != file_) BELAY_CHECK(open(place));
        BELAY_TRY(head, read(place.head_at, place.head_bytes));
        piece_ = std::move(head);
        head_at_ = place.head_at;
        head_bytes_ = place.head_bytes;
        return {};
    }

    Result<std::string> read(uint64_t at, size_t size) const {
        std::string bytes(size, '\0');
        for (size_t done = 0; done < size;) {
            const ssize_t got = pread(fd_, bytes.data() + done, size - done, static_cast<off_t>(at + done));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0)
                return core::errno_error(errno,
                                         fmt::format("cannot read {}", directory_.path_of(*file_).string()));
            if (got == 0)
                return core::system_error("{} has become shorter", directory_.path_of(*file_).string());
            done += static_cast<size_t>(got);
        }
        return bytes;
    }

    // Where another place gave a part of them.
    Result<> add_wanted(std::string_view bytes, const BlockPlace& place) {
        stream::SegmentBytes blocks(bytes);
        for (uint64_t at = 0; at < bytes.size();) {
            BELAY_TRY(found, stream::find_block(blocks, at));
            const uint64_t number = found.header ? place.first_block + found.header->sequence : 0;
            if (found.header && !wanted_of({number, number + 1}).empty())
                piece_ += bytes.substr(static_cast<size_t>(at), static_cast<size_t>(found.bytes()));
            at = found.next;
        }
        return {};
    }

    const core::Directory& directory_;
    const OpenLogs* logs_;
    BlockFilter filter_;
    const std::function<Result<>(std::string_view)>& visit_;
    Received given_;
    core::Descriptor descriptor_;  // without `logs_`
    int fd_ = -1;
    std::shared_ptr<const std::string> file_;
    uint64_t head_at_ = 0;
    size_t head_bytes_ = 0;
    std::string piece_;  // head and blocks
};

}  // namespace

Result<std::shared_ptr<const core::Descriptor>> LogPool::open(const core::Directory& directory,
                                                              const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = files_.find(name); found != files_.end())
        if (auto file = found->second.lock()) return file;
    std::erase_if(files_, [](const auto& file) { return file.second.expired(); });
    BELAY_TRY(opened, directory.open_file(name, O_RDONLY));
    auto file = std::make_shared<const core::Descriptor>(std::move(opened));
    files_[name] = file;
    return file;
}

Result<bool> OpenLogs::open(const std::vector<BlockPlace>& places) {
    bool all_there = true;
    const std::string* last = nullptr;
    for (const BlockPlace& place : places) {
        if (last == place.file.get() || files_.contains(*place.file)) continue;
        last = place.file.get();
        auto file = pool_->open(*directory_, *place.file);
        if (file)
            files_.emplace(*place.file, std::move(*file));
        else if (file.error().cause() == core::Cause::kNotFound)
            all_there = false;
        else
            return std::unexpected(std::move(file.error()));
    }
    return all_there;
}

int OpenLogs::descriptor(const std::string& file) const {
    const auto found = files_.find(file);
    return found == files_.end() ? -1 : found->second->get();
}

Result<> read_places(const core::Directory& directory, const std::vector<BlockPlace>& places,
                     const std::function<Result<>(std::string_view piece)>& visit) {
    PlaceReader reader(directory, nullptr, {}, visit);
    for (const BlockPlace& place : places) BELAY_CHECK(reader.take(place));
    return reader.finish();
}

Result<> read_places(const core::Directory& directory, const OpenLogs& logs,
                     const std::vector<BlockPlace>& places, const BlockFilter& filter,
                     const std::function<Result<>(std::string_view piece)>& visit) {
    PlaceReader reader(directory, &logs, filter, visit);
    for (const BlockPlace& place : places) BELAY_CHECK(reader.take(place));
    return reader.finish();
}

}  // namespace belay::server

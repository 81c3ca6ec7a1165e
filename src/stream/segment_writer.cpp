#include "stream/block_encoder.h"
#include "stream/segment.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace belay::stream {

using core::Result;

namespace {

// A reader that just looks whether the file is locked holds it for a moment. File systems without locks
// refuse; there the age of the file tells that it is in use.
void lock_for_writing(int fd) {
    for (int tries = 0; tries < 50 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace

Result<SegmentWriter> SegmentWriter::begin(core::Descriptor file, const std::filesystem::path& path,
                                           const Session& session) {
    lock_for_writing(file.get());
    SegmentWriter writer(std::move(file), path, session.first_block);
    BELAY_CHECK(writer.write_block(encode_head(session)));
    return writer;
}

Result<SegmentWriter> SegmentWriter::create(const std::filesystem::path& path, const Session& session) {
    BELAY_TRY(directory, core::Directory::open(path.parent_path()));
    const std::string name = path.filename().native();
    BELAY_TRY(file, directory.open_file(name, O_RDWR | O_CREAT | O_EXCL));
    auto writer = begin(std::move(file), path, session);
    if (!writer) (void)directory.remove_file(name);
    return writer;
}

Result<> SegmentWriter::append(const Batch& batch) {
    for (const RowsPayload& part : encode_rows(batch))
        BELAY_CHECK(write_block(encode_rows_block(part, sequence_)));
    return {};
}

Result<> SegmentWriter::finish(core::Time at) {
    BELAY_CHECK(write_block(encode_end(at, sequence_)));
    if (fsync(fd_.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path_.string()));
    return {};
}

void SegmentWriter::touch() const {
    (void)futimens(fd_.get(), nullptr);  // a file system that refuses loses nothing but this sign of life
}

Result<> SegmentWriter::write_block(std::string_view block) {
    // One write, so that a kill between two blocks leaves no half of one (within what the kernel takes at
    // once).
    if (Result<> written = core::write_all(fd_.get(), block, path_.string()); !written) {
        // A full disk took a part of the block; without it, the file ends with a whole one again.
        // Where it cannot be cut off, the next block begins behind it: readers pass over it.
        if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0)
            if (const off_t end = lseek(fd_.get(), 0, SEEK_END); end >= 0) size_ = static_cast<uint64_t>(end);
        (void)lseek(fd_.get(), static_cast<off_t>(size_),
                    SEEK_SET);  // a file; the first error is what counts
        return written;
    }
    size_ += block.size();
    ++sequence_;
    return {};
}

}  // namespace belay::stream

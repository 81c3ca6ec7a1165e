#include "bench/models/oc20/files/lmdb_file.h"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace belay::bench::oc20 {

using core::bad_input;
using core::Result;

namespace {

// As many as liblmdb goes down (CURSOR_STACK): four billion keys need no more with two in a branch.
constexpr int kMostLevels = 32;

Result<std::string> read_at(int fd, uint64_t place, size_t bytes) {
    std::string read(bytes, '\0');
    for (size_t done = 0; done < bytes;) {
        const ssize_t count = ::pread(fd, read.data() + done, bytes - done, static_cast<off_t>(place + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return core::errno_error(errno, "cannot be read");
        if (count == 0) return bad_input("it ends at byte {}: it is cut off", place + done);
        done += static_cast<size_t>(count);
    }
    return read;
}

}  // namespace

Result<LmdbMeta> LmdbFile::meta_of(const Read& read) {
    auto meta_at = [&](uint64_t place) -> Result<LmdbMeta> {
        BELAY_TRY(bytes, read(place, kLmdbMetaBytes));
        return lmdb_meta_from(bytes);
    };
    auto second_at = [&](size_t page_bytes) -> std::optional<LmdbMeta> {
        auto second = meta_at(page_bytes);
        if (!second || second->page_bytes != page_bytes) return std::nullopt;
        return *second;
    };
    auto first = meta_at(0);
    if (first) {
        const auto second = second_at(first->page_bytes);
        return second && second->transaction > first->transaction ? *second : *first;
    }
    // How far away the second one is, only the first one says.
    for (size_t page_bytes = kSmallestLmdbPage; page_bytes <= kLargestLmdbPage; page_bytes *= 2)
        if (const auto second = second_at(page_bytes)) return *second;
    return first;
}

Result<LmdbFile> LmdbFile::with(Read read, uint64_t bytes) {
    BELAY_TRY(meta, meta_of(read));
    if (meta.last_page >= bytes / meta.page_bytes)
        return bad_input("it has {} bytes, and its last page is {} of {} bytes: it is cut off", bytes,
                         meta.last_page, meta.page_bytes);
    return LmdbFile(std::move(read), meta);
}

Result<LmdbFile> LmdbFile::open(const core::Directory& directory, const std::string& name) {
    BELAY_TRY(opened, directory.open_file(name, O_RDONLY));
    auto file = std::make_shared<const core::Descriptor>(std::move(opened));
    struct stat status{};
    if (fstat(file->get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", directory.path_of(name).string()));
    // Keys are asked for in any order: what lies behind one need not be read ahead. A file system may not know that.
    (void)posix_fadvise(file->get(), 0, 0, POSIX_FADV_RANDOM);
    return core::with_context(
        with([file](uint64_t place, size_t bytes) { return read_at(file->get(), place, bytes); },
             static_cast<uint64_t>(status.st_size)),
        directory.path_of(name).string());
}

Result<LmdbFile> LmdbFile::of_bytes(std::string_view all) {
    auto read = [all](uint64_t place, size_t bytes) -> Result<std::string> {
        if (place > all.size() || bytes > all.size() - place)
            return bad_input("it ends at byte {}: it is cut off", all.size());
        return std::string(all.substr(place, bytes));
    };
    return with(read, all.size());
}

Result<std::string> LmdbFile::bytes_of(uint64_t page, uint64_t pages, size_t bytes) const {
    // The file has all pages up to the last one, so that none of this overflows.
    if (page > meta_.last_page || pages > meta_.last_page - page + 1)
        return bad_input("it is damaged: it leads to {} pages from page {} on, and its last one is {}", pages,
                         page, meta_.last_page);
    return read_(page * meta_.page_bytes, bytes);
}

Result<std::string> LmdbFile::value_of(const LmdbValue& value) const {
    if (value.bytes > kMaximumLmdbValue)
        return bad_input("its value has {} bytes; up to {} are read", value.bytes, kMaximumLmdbValue);
    if (!value.overflow) return std::string(value.inside);
    const uint64_t bytes = kLmdbPageHeader + value.bytes;
    const uint64_t pages = (bytes + meta_.page_bytes - 1) / meta_.page_bytes;
    BELAY_TRY(read, bytes_of(*value.overflow, pages, bytes));
    BELAY_CHECK(check_lmdb_overflow(read, *value.overflow, pages));
    read.erase(0, kLmdbPageHeader);
    return read;
}

Result<std::optional<std::string>> LmdbFile::find(std::string_view key) const {
    if (!meta_.root) return std::nullopt;
    uint64_t number = *meta_.root;
    for (int level = 0; level < kMostLevels; ++level) {
        BELAY_TRY(bytes, bytes_of(number, 1, meta_.page_bytes));
        BELAY_TRY(page, LmdbPage::read(bytes, number));
        if (page.is_leaf()) {
            BELAY_TRY(value, page.find(key));
            if (!value) return std::nullopt;
            return value_of(*value);
        }
        BELAY_TRY(child, page.child_for(key));
        number = child;
    }
    return bad_input("it is damaged: it goes down more than {} levels", kMostLevels);
}

}  // namespace belay::bench::oc20

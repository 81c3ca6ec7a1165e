#include "server/api/record_tar.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr int kMostDepth = 4;  // a record has two
constexpr auto kTarFileMode = 0600;

la_ssize_t append_made(archive*, void* made, const void* bytes, size_t length) {
    static_cast<std::string*>(made)->append(static_cast<const char*>(bytes), length);
    return static_cast<la_ssize_t>(length);
}

Result<> check_archive(archive* writer, int status, std::string_view what) {
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return {};
    const char* words = archive_error_string(writer);
    return core::system_error("cannot make a tar of {}: {}", what,
                              words != nullptr ? words : "libarchive fails");
}

struct EntryFree {
    void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

}  // namespace

void RecordTar::Close::operator()(archive* writer) const {
    archive_write_free(writer);
}

Result<> RecordTar::list(const core::Directory& directory, const std::string& beneath, int depth) {
    BELAY_TRY(names, directory.list());
    for (const std::string& name : names) {
        BELAY_TRY(facts, directory.facts(name));
        if (!facts) continue;
        if (facts->type == core::FileType::kRegular) files_.push_back({beneath + name, facts->bytes});
        if (facts->type != core::FileType::kDirectory || depth == kMostDepth) continue;
        BELAY_TRY(inner, directory.enter(name));
        BELAY_CHECK(list(inner, beneath + name + "/", depth + 1));
    }
    return {};
}

Result<RecordTar> RecordTar::open(core::Directory record, std::string name) {
    RecordTar tar(std::move(record), std::move(name));
    BELAY_TRY(top, tar.record_.enter(""));
    BELAY_CHECK(tar.list(top, "", 0));
    std::ranges::sort(tar.files_, {}, &File::path);
    tar.writer_.reset(archive_write_new());
    archive* writer = tar.writer_.get();
    if (writer == nullptr) return core::system_error("libarchive has no memory");
    BELAY_CHECK(check_archive(writer, archive_write_set_format_pax_restricted(writer), tar.name_));
    BELAY_CHECK(check_archive(writer, archive_write_set_bytes_per_block(writer, 0), tar.name_));
    BELAY_CHECK(check_archive(
        writer, archive_write_open(writer, tar.made_.get(), nullptr, append_made, nullptr), tar.name_));
    return tar;
}

Result<> RecordTar::begin_file() {
    const File& file = files_[at_];
    BELAY_TRY(descriptor, record_.open_file(file.path, O_RDONLY));
    struct stat facts{};
    if (fstat(descriptor.get(), &facts) != 0) return core::errno_error(errno, "cannot look at " + file.path);
    const std::unique_ptr<archive_entry, EntryFree> entry(archive_entry_new());
    if (!entry) return core::system_error("libarchive has no memory");
    archive_entry_set_pathname(entry.get(), (name_ + "/" + file.path).c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kTarFileMode);
    archive_entry_set_size(entry.get(), facts.st_size);
    archive_entry_set_mtime(entry.get(), facts.st_mtim.tv_sec, 0);
    BELAY_CHECK(check_archive(writer_.get(), archive_write_header(writer_.get(), entry.get()), file.path));
    file_ = std::move(descriptor);
    left_ = static_cast<uint64_t>(facts.st_size);
    return {};
}

Result<> RecordTar::copy_some() {
    std::string bytes(std::min<uint64_t>(left_, kPieceBytes), '\0');
    const ssize_t got = read(file_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return {};
    if (got < 0) return core::errno_error(errno, "cannot read " + files_[at_].path);
    if (got == 0) return core::system_error("{} became shorter while it was read", files_[at_].path);
    if (archive_write_data(writer_.get(), bytes.data(), static_cast<size_t>(got)) != got)
        return check_archive(writer_.get(), ARCHIVE_FATAL, files_[at_].path);
    left_ -= static_cast<uint64_t>(got);
    return {};
}

Result<> RecordTar::finish() {
    is_finished_ = true;
    return check_archive(writer_.get(), archive_write_close(writer_.get()), name_);
}

Result<std::string> RecordTar::next() {
    while (made_->size() < kPieceBytes && !is_finished_) {
        if (left_ > 0) {
            BELAY_CHECK(copy_some());
            if (left_ == 0) ++at_;
        } else if (at_ < files_.size()) {
            BELAY_CHECK(begin_file());
            if (left_ == 0) ++at_;
        } else {
            BELAY_CHECK(finish());
        }
    }
    return std::exchange(*made_, {});
}

}  // namespace belay::server

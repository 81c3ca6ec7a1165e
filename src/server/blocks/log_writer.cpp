#include "server/blocks/log_writer.h"

#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr std::string_view kSuffix = ".blk";
constexpr size_t kDigits = 16;

bool is_writer_name(std::string_view name) {
    constexpr size_t kLongest = 64;
    return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
}

// Both at once, going on after short writes.
Result<> write_both(int fd, std::string_view first, std::string_view second, uint64_t at,
                    const std::string& name) {
    while (!first.empty() || !second.empty()) {
        const std::array<iovec, 2> parts = {iovec{const_cast<char*>(first.data()), first.size()},
                                            iovec{const_cast<char*>(second.data()), second.size()}};
        const ssize_t wrote = pwritev(fd, parts.data(), parts.size(), static_cast<off_t>(at));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return core::errno_error(errno, fmt::format("cannot write to {}", name));
        at += static_cast<uint64_t>(wrote);
        const size_t of_first = std::min(static_cast<size_t>(wrote), first.size());
        first.remove_prefix(of_first);
        second.remove_prefix(static_cast<size_t>(wrote) - of_first);
    }
    return {};
}

}  // namespace

std::string log_file_name(core::Time began, std::string_view writer) {
    return fmt::format("{:016x}-{}{}", static_cast<uint64_t>(core::to_nanoseconds(began)), writer, kSuffix);
}

bool is_log_file_name(std::string_view name) {
    if (!name.ends_with(kSuffix)) return false;
    name.remove_suffix(kSuffix.size());
    if (name.size() < kDigits + 2 || name[kDigits] != '-') return false;
    const bool has_digits = std::ranges::all_of(
        name.substr(0, kDigits), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    return has_digits && is_writer_name(name.substr(kDigits + 1));
}

bool is_of_writer(std::string_view name, std::string_view writer) {
    return is_log_file_name(name) && name.substr(kDigits + 1) == std::string(writer).append(kSuffix);
}

Result<std::unique_ptr<LogWriter>> LogWriter::open(core::Directory directory, std::string writer,
                                                   const LogLimits& limits, core::Clock& clock) {
    if (!is_writer_name(writer))
        return core::bad_input("\"{}\" cannot name a writer: at most 64 letters and digits can",
                               core::printable(writer));
    return std::unique_ptr<LogWriter>(new LogWriter(std::move(directory), std::move(writer), limits, clock));
}

bool LogWriter::is_full() const {
    return !file_ || size_ >= limits_.file_bytes || clock_->monotonic() - opened_ >= limits_.file_time;
}

Result<> LogWriter::write_record(RecordHeader header, std::string_view body) {
    header.body_bytes = static_cast<uint32_t>(body.size());
    header.body_crc = stream::checksum(body);
    header.arrived = clock_->now();
    const auto bytes = encode_record_header(header);
    auto written = write_both(file_->get(), {bytes.data(), bytes.size()}, body, size_, name_);
    if (!written) {
        // Nothing can be done where that fails too: a reader passes over half a record.
        (void)!ftruncate(file_->get(), static_cast<off_t>(size_));
        return written;
    }
    size_ += kRecordHeaderBytes + body.size();
    const std::lock_guard lock(mutex_);
    written_ += kRecordHeaderBytes + body.size();
    return {};
}

Result<> LogWriter::begin_file(const std::function<std::string()>& streams) {
    if (file_) BELAY_CHECK(sync(written_));
    // A clock that stands still, or went back, must not make one name of two files.
    core::Time began = clock_->now();
    if (began <= last_began_) began = last_began_ + core::Duration(1);
    std::string name = log_file_name(began, writer_);
    auto file = directory_.open_file(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    while (!file && file.error().errno_value() == EEXIST) {
        began += core::Duration(1);
        name = log_file_name(began, writer_);
        file = directory_.open_file(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    }
    if (!file) return std::unexpected(std::move(file.error()));
    const auto head = encode_log_header();
    file_ = std::make_shared<core::Descriptor>(std::move(*file));
    name_ = std::move(name);
    last_began_ = began;
    size_ = 0;
    heads_.clear();
    opened_ = clock_->monotonic();
    {
        const std::lock_guard lock(mutex_);
        syncing_file_ = file_;
    }
    auto begun = core::write_all(file_->get(), {head.data(), head.size()}, name_);
    size_ = kLogHeaderBytes;
    if (begun) begun = write_record({.kind = kStreamsRecord}, streams());
    if (begun) begun = directory_.sync();
    if (begun) return {};
    (void)directory_.remove_file(name_);
    file_.reset();
    return begun;
}

Result<LogWriter::Head> LogWriter::head_of(const NewBlocks& blocks) {
    const auto key = std::pair(blocks.stream, blocks.first_block);
    if (const auto found = heads_.find(key); found != heads_.end()) return found->second;
    const Head head{.session = static_cast<uint32_t>(heads_.size()),
                    .at = size_ + kRecordHeaderBytes,
                    .bytes = static_cast<uint32_t>(blocks.head.size())};
    BELAY_CHECK(write_record({.kind = kSessionRecord,
                              .session = head.session,
                              .blocks = {blocks.first_block, blocks.first_block + 1}},
                             blocks.head));
    heads_.emplace(key, head);
    return head;
}

Result<LogPlace> LogWriter::append(const NewBlocks& blocks, const std::function<std::string()>& streams) {
    if (blocks.bytes.size() > kMaxRecordBytes || blocks.head.size() > kMaxRecordBytes)
        return core::bad_input("blocks of {} bytes do not fit into a record", blocks.bytes.size());
    {
        const std::lock_guard lock(mutex_);
        if (failed_) return std::unexpected(*failed_);
    }
    if (is_full()) BELAY_CHECK(begin_file(streams));
    BELAY_TRY(head, head_of(blocks));
    const uint64_t at = size_ + kRecordHeaderBytes;
    if (!blocks.bytes.empty())
        BELAY_CHECK(write_record({.kind = kBlocksRecord,
                                  .session = head.session,
                                  .blocks = blocks.blocks,
                                  .first_time = blocks.first_time,
                                  .last_time = blocks.last_time},
                                 blocks.bytes));
    const std::lock_guard lock(mutex_);
    return LogPlace{
        .file = name_, .head_at = head.at, .head_bytes = head.bytes, .at = at, .ticket = written_};
}

Result<> LogWriter::sync(uint64_t ticket) {
    std::unique_lock lock(mutex_);
    while (!failed_ && synced_ < ticket) {
        if (is_syncing_) {
            changed_.wait(lock);
            continue;
        }
        is_syncing_ = true;
        const uint64_t target = written_;
        const std::shared_ptr<core::Descriptor> file = syncing_file_;
        lock.unlock();
        const int status = fdatasync(file->get());
        const int why = errno;
        lock.lock();
        is_syncing_ = false;
        if (status == 0)
            synced_ = std::max(synced_, target);
        else
            failed_ = core::errno_error(why, "cannot sync the block log").error();
        changed_.notify_all();
    }
    if (failed_) return std::unexpected(*failed_);
    return {};
}

}  // namespace belay::server

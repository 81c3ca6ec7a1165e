#include "core/user.h"
#include "stream/liveness.h"
#include "stream/spool.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

namespace belay::stream {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kSuffix = ".seg";

Session with_first_block(Session session, uint64_t first_block, core::Time start) {
    session.first_block = first_block;
    session.start = start;
    return session;
}

struct OpenedFile {
    SegmentWriter writer;
    std::string name;
};

Result<OpenedFile> open_next(const core::Directory& directory, const Session& session) {
    const std::string name = spool_file_name(session.stream(), session.first_block);
    BELAY_TRY(file, directory.open_file(name, O_RDWR | O_CREAT | O_EXCL));
    auto writer = SegmentWriter::begin(std::move(file), directory.path_of(name), session);
    if (!writer) (void)directory.remove_file(name);
    if (!writer) return std::unexpected(std::move(writer.error()));
    return OpenedFile{std::move(*writer), name};
}

// Whoever owns a directory can exchange all that is in it, and whoever owns one above it, the directory.
Result<core::Directory> open_own(const std::filesystem::path& spool) {
    const std::filesystem::path above = spool.has_filename() ? spool.parent_path() : spool;
    if (!above.empty()) BELAY_CHECK(core::make_directories(above));
    BELAY_TRY(parent, core::Directory::open_guarded(above.empty() ? "." : above));
    if (spool.has_filename()) BELAY_CHECK(parent.make_directory(spool.filename().native()));
    BELAY_TRY(directory, core::Directory::open_guarded(spool));
    BELAY_TRY(facts, directory.facts());
    if (facts.owner != geteuid())
        return bad_input("{} belongs to {}, and a spool must belong to who writes it", spool.string(),
                         core::user_name(facts.owner))
            .because(core::Cause::kDenied);
    return directory;
}

// A file whose writer is at work is not ours to remove.
bool is_closed(const core::Directory& directory, const std::string& name) {
    auto file = directory.open_file(name, O_RDONLY);
    return file && segment_lock(file->get()) != SegmentLock::kHeld;
}

}  // namespace

std::string spool_file_name(const StreamId& stream, uint64_t first_block) {
    std::string name =
        fmt::format("{:016x}-{:010}-{}-{}", static_cast<uint64_t>(core::to_nanoseconds(stream.began)),
                    first_block, stream.node, stream.source);
    std::ranges::replace_if(name, [](char c) { return c == '/' || c == '\0'; }, '_');
    return name.substr(0, 200).append(kSuffix);
}

bool is_spool_file_name(std::string_view name) {
    return name.ends_with(kSuffix) && name.size() > kSuffix.size() && !name.contains('/');
}

Result<SpoolWriter> SpoolWriter::open(const std::filesystem::path& spool, Session session,
                                      const SpoolLimits& limits, TrimSink on_trimmed, core::Clock& clock) {
    if (limits.file_bytes == 0 || limits.spool_bytes / 2 < limits.file_bytes)
        return bad_input("a spool of {} bytes has no room for two files of {}", limits.spool_bytes,
                         limits.file_bytes);
    BELAY_TRY(directory, open_own(spool));
    BELAY_TRY(opened, open_next(directory, session));
    SpoolWriter writer(std::move(directory), std::move(session), limits, std::move(on_trimmed), clock,
                       std::move(opened.writer), std::move(opened.name));
    BELAY_CHECK(writer.trim());
    return writer;
}

bool SpoolWriter::is_full() const {
    return file_.bytes() >= limits_.file_bytes || clock_->monotonic() - opened_ >= limits_.file_time;
}

Result<> SpoolWriter::append(const Batch& batch) {
    if (!batch.empty() && (is_full() || is_finished_)) BELAY_CHECK(rotate());
    return file_.append(batch);
}

Result<> SpoolWriter::rotate() {
    const core::Time now = clock_->now();
    if (!is_finished_) BELAY_CHECK(file_.finish(now));
    is_finished_ = true;
    BELAY_TRY(opened, open_next(directory_, with_first_block(session_, file_.next_block(), now)));
    bytes_before_ += file_.bytes();
    file_ = std::move(opened.writer);
    name_ = std::move(opened.name);
    is_finished_ = false;
    opened_ = clock_->monotonic();
    return trim();
}

// Leaves room for the file that is being written.
Result<> SpoolWriter::trim() {
    struct Closed {
        std::string name;
        uint64_t bytes;
    };
    std::vector<Closed> closed;
    uint64_t bytes = 0;
    BELAY_TRY(names, directory_.list());
    for (std::string& name : names) {
        if (name == name_ || !is_spool_file_name(name)) continue;
        BELAY_TRY(facts, directory_.facts(name));
        if (!facts || facts->type != core::FileType::kRegular) continue;
        bytes += facts->bytes;
        closed.push_back({std::move(name), facts->bytes});
    }
    Trimmed trimmed;
    for (const Closed& file : closed) {
        if (bytes + limits_.file_bytes <= limits_.spool_bytes) break;
        if (!is_closed(directory_, file.name)) continue;
        auto removed = directory_.remove_file(file.name);
        if (!removed && removed.error().cause() != core::Cause::kNotFound) return removed;
        bytes -= file.bytes;
        ++trimmed.files;
        trimmed.bytes += file.bytes;
    }
    if (trimmed.files > 0 && on_trimmed_) on_trimmed_(trimmed);
    return {};
}

}  // namespace belay::stream

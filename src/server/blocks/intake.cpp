#include "server/blocks/intake.h"

#include "core/text.h"
#include "server/blocks/block_reader.h"
#include "stream/cursor.h"
#include "stream/segment_format.h"
#include "stream/segment_session.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr size_t kRecentBlocks = 64;  // of a stream, told apart by their bytes when they come again

// What a block is known by: its header, in which the checksum of its payload stands. Without the header's own checksum: with it,
// the checksum of every header is the same.
uint32_t sum_of(std::string_view block) {
    return stream::checksum(block.substr(0, stream::kBlockHeaderBytes - sizeof(uint32_t)));
}

// Of no rows, it ends before it begins.
struct TimeSpan {
    core::Time first = core::Time::max(), last = core::Time::min();

    void add(const UploadedBlock& block) {
        if (!block.first_time) return;
        first = std::min(first, *block.first_time);
        last = std::max(last, *block.last_time);
    }
};

// What the new blocks say, for those who follow jobs.
void tell_of(const Upload& upload, const std::vector<UploadedBlock>& fresh, Accepted& accepted) {
    TimeSpan span;
    for (const UploadedBlock& block : fresh) span.add(block);
    if (span.first <= span.last) {
        accepted.first_time = span.first;
        accepted.last_time = span.last;
    }
    for (const StatedShare& share : upload.shares)
        if (std::ranges::binary_search(fresh, share.block, {}, &UploadedBlock::number))
            accepted.shares.push_back(share);
}

}  // namespace

Result<std::unique_ptr<Intake>> Intake::open(const std::filesystem::path& path, std::string writer,
                                             const LogLimits& limits, core::Clock& clock) {
    BELAY_TRY(directory, core::Directory::make_guarded(path, 0700));
    BELAY_TRY(own, directory.enter(""));
    BELAY_TRY(log, LogWriter::open(std::move(own), std::move(writer), limits, clock));
    std::unique_ptr<Intake> intake(new Intake(std::move(directory), std::move(log)));
    BELAY_CHECK(intake->lock_name());
    BELAY_CHECK(intake->look_at_files(true));
    return intake;
}

// Two writers of one name would take each other's files for their own.
Result<> Intake::lock_name() {
    const std::string& writer = log_->writer();
    BELAY_TRY(file, directory_.open_file(writer + ".lock", O_RDWR | O_CREAT, 0600));
    lock_file_ = std::move(file);
    BELAY_TRY(lock, core::FileLock::try_acquire(lock_file_.get(), directory_, writer + ".lease"));
    if (!lock)
        return bad_input("{} is written to by another belayd of the name {}", directory_.path().string(),
                         writer)
            .hint("give each belayd a name of its own");
    lock_ = std::move(lock);
    return {};
}

Result<> Intake::look() {
    return look_at_files(false);
}

// What this writer has written since it began is known without reading it.
Result<> Intake::look_at_files(bool own_too) {
    const std::lock_guard lock(mutex_);
    BELAY_TRY(names, directory_.list());
    std::erase_if(read_, [&](const auto& file) { return !std::ranges::binary_search(names, file.first); });
    for (const std::string& name : names)
        if (is_log_file_name(name) && (own_too || !is_of_writer(name, log_->writer())))
            BELAY_CHECK(look_at(name));
    return {};
}

Result<> Intake::look_at(const std::string& name) {
    auto file = directory_.open_file(name, O_RDONLY);
    if (!file && file.error().cause() == core::Cause::kNotFound) return {};  // packed by another belayd
    if (!file) return std::unexpected(std::move(file.error()));
    BELAY_TRY(bytes, stream::SegmentBytes::of_file(file->get(), directory_.path_of(name).string()));
    Read& read = read_[name];
    if (bytes.size() <= read.to) return {};
    LogWalk walk(std::move(bytes), read.to);
    for (;;) {
        BELAY_TRY(record, core::with_context(walk.next(), directory_.path_of(name).string()));
        if (!record) break;
        BELAY_CHECK(take_record(name, *record, read));
    }
    read.to = std::max(read.to, walk.end());
    for (const LogDamage& damage : walk.damage())
        if (damage.at < read.to) lost_.push_back({name, damage});  // what follows may still be written to
    return {};
}

Result<> Intake::take_record(const std::string& name, const LogRecord& record, Read& read) {
    const RecordHeader& header = record.header;
    if (header.kind == kStreamsRecord) {
        for (std::string_view line : core::split(record.body, '\n')) {
            const size_t tab = line.find('\t');
            if (tab == std::string_view::npos) continue;
            BELAY_TRY(cursor, stream::parse_cursor(line.substr(0, tab)));
            BELAY_TRY(received, parse_received(line.substr(tab + 1)));
            for (const BlockRun& run : received.runs()) streams_[cursor.stream].received.add(run);
        }
    } else if (header.kind == kSessionRecord) {
        BELAY_TRY(upload, read_upload(record.body));
        read.sessions[header.session] = {.stream = upload.session.stream(),
                                         .first_block = upload.session.first_block,
                                         .head_at = record.body_at(),
                                         .head_bytes = header.body_bytes};
        Known& known = streams_[upload.session.stream()];
        known.received.add(header.blocks);
        known.readable.add(header.blocks);
    } else if (header.kind == kBlocksRecord && read.sessions.contains(header.session)) {
        const Session& session = read.sessions.at(header.session);
        Known& known = streams_[session.stream];
        known.received.add(header.blocks);
        known.readable.add(header.blocks);
        index_.add(session.stream, name,
                   {.head_at = session.head_at,
                    .head_bytes = session.head_bytes,
                    .bytes = header.body_bytes,
                    .at = record.body_at(),
                    .first_block = session.first_block,
                    .blocks = header.blocks,
                    .first_time = header.first_time,
                    .last_time = header.last_time});
    } else if (header.kind <= kBlocksRecord) {
        lost_.push_back({name, {record.at, kRecordHeaderBytes + header.body_bytes, "its session is lost"}});
    }
    return {};
}

std::string Intake::streams_record() const {
    std::string text;
    for (const auto& [stream, known] : streams_)
        text +=
            fmt::format("{}\t{}\n", stream::to_text({stream, known.received.end()}), to_text(known.received));
    return text;
}

// Appends those blocks that are new, run by run.
Result<> Intake::store(const Upload& upload, Known& known, Accepted& accepted) {
    const stream::StreamId stream = upload.session.stream();
    const uint64_t first_block = upload.session.first_block;
    std::vector<UploadedBlock> fresh;
    for (const UploadedBlock& block : upload.blocks)
        if (!known.received.missing_in({block.number, block.number + 1}).empty()) fresh.push_back(block);
    accepted.new_blocks = fresh.size();
    accepted.known_blocks = upload.blocks.size() - fresh.size();
    for (size_t begin = 0, end = 0; begin < fresh.size(); begin = end) {
        TimeSpan span;
        for (end = begin; end < fresh.size() && fresh[end].number == fresh[begin].number + (end - begin);
             ++end)
            span.add(fresh[end]);
        // Views of one piece: those of a run lie one behind the other.
        const std::string_view bytes(
            fresh[begin].bytes.data(),
            static_cast<size_t>(fresh[end - 1].bytes.data() - fresh[begin].bytes.data()) +
                fresh[end - 1].bytes.size());
        const BlockRun run{fresh[begin].number, fresh[end - 1].number + 1};
        BELAY_TRY(place, log_->append({.stream = stream,
                                       .head = upload.head,
                                       .first_block = first_block,
                                       .bytes = bytes,
                                       .blocks = run,
                                       .first_time = span.first,
                                       .last_time = span.last},
                                      [&] { return streams_record(); }));
        known.ticket = place.ticket;
        file_in_use_ = place.file;
        for (Received* numbers : {&known.received, &known.readable}) {
            numbers->add({first_block, first_block + 1});  // its session, which stands before it
            numbers->add(run);
        }
        index_.add(stream, place.file,
                   {.head_at = place.head_at,
                    .head_bytes = place.head_bytes,
                    .bytes = static_cast<uint32_t>(bytes.size()),
                    .at = place.at,
                    .first_block = first_block,
                    .blocks = run,
                    .first_time = span.first,
                    .last_time = span.last});
        accepted.new_runs.push_back(run);
        for (size_t i = begin; i < end; ++i)
            known.recent.push_back({fresh[i].number, sum_of(fresh[i].bytes)});
        while (known.recent.size() > kRecentBlocks) known.recent.pop_front();
    }
    tell_of(upload, fresh, accepted);
    return {};
}

Result<Accepted> Intake::accept(std::string_view piece) {
    BELAY_TRY(upload, read_upload(piece));
    return accept(upload);
}

Result<Accepted> Intake::accept(const Upload& upload) {
    Accepted accepted{.stream = upload.session.stream()};
    // Another belayd may know it.
    if (received(accepted.stream).runs().empty()) BELAY_CHECK(look());
    uint64_t ticket = 0;
    {
        const std::lock_guard lock(mutex_);
        Known& known = streams_[accepted.stream];
        for (const UploadedBlock& block : upload.blocks) {
            const auto before = std::ranges::find(known.recent, block.number, &Known::Sum::number);
            if (before != known.recent.end() && before->checksum != sum_of(block.bytes))
                return bad_input(
                           "block {} of the stream {} was stored with other bytes: another writer uses its "
                           "name",
                           block.number, stream::to_text({accepted.stream, 0}))
                    .because(core::Cause::kDenied)
                    .hint(
                        "if this node is a copy of another, give it a host name of its own and start its "
                        "agent again");
        }
        BELAY_CHECK(store(upload, known, accepted));
        ticket = known.ticket;
        accepted.next_block = known.received.end();
        accepted.gaps = known.received.gaps(0);
    }
    // Also for what was known: the sync of whoever stored it may not have ended.
    BELAY_CHECK(log_->sync(ticket));
    return accepted;
}

Received Intake::received(const stream::StreamId& stream) const {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    return found == streams_.end() ? Received() : found->second.received;
}

std::vector<BlockRun> Intake::missing(const stream::StreamId& stream, const TimeRange& range) const {
    const std::lock_guard lock(mutex_);
    const auto known = streams_.find(stream);
    if (known == streams_.end()) return {};
    std::vector<BlockRun> missing = known->second.readable.gaps(0);
    if (missing.empty()) return missing;
    const std::vector<BlockPlace> places = index_.places(stream, {});
    // Rows of a gap lie between those of the blocks before it and behind it. Blocks of one moment are told apart by table
    // only, so the latter may be a little older.
    std::erase_if(missing, [&](const BlockRun& gap) {
        const auto behind = std::ranges::lower_bound(
            places, gap.end, {}, [](const BlockPlace& place) { return place.blocks.first; });
        const core::Time before = behind == places.begin() ? stream.began : std::prev(behind)->last_time;
        const core::Time after = behind == places.end() ? core::Time::max() : behind->first_time;
        return std::min(before, after) >= range.end || std::max(before, after) < range.begin;
    });
    return missing;
}

std::vector<std::string> Intake::nodes() const {
    const std::lock_guard lock(mutex_);
    std::set<std::string> names;
    for (const auto& [stream, known] : streams_) names.insert(stream.node);
    return {names.begin(), names.end()};
}

std::vector<stream::StreamId> Intake::streams_of(std::string_view node, const TimeRange& range) const {
    const std::lock_guard lock(mutex_);
    return index_.streams_of(node, range);
}

Result<> Intake::read(const stream::StreamId& stream, const TimeRange& range,
                      const std::function<Result<>(std::string_view piece)>& visit) const {
    std::vector<BlockPlace> places;
    {
        const std::lock_guard lock(mutex_);
        places = index_.places(stream, range);
    }
    return read_places(directory_, places, visit);
}

size_t Intake::places() const {
    const std::lock_guard lock(mutex_);
    return index_.size();
}

std::vector<std::pair<stream::StreamId, std::vector<BlockPlace>>> Intake::places_of(
    std::string_view node, const TimeRange& range) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<stream::StreamId, std::vector<BlockPlace>>> found;
    for (const stream::StreamId& stream : index_.streams_of(node, range))
        found.emplace_back(stream, index_.places(stream, range));
    return found;
}

std::string Intake::file_in_use() const {
    const std::lock_guard lock(mutex_);
    return file_in_use_;
}

std::vector<std::string> Intake::files() const {
    const std::lock_guard lock(mutex_);
    return index_.files();
}

void Intake::know(const stream::StreamId& stream, const std::vector<BlockRun>& runs) {
    const std::lock_guard lock(mutex_);
    Known& known = streams_[stream];
    for (Received* numbers : {&known.received, &known.readable})
        for (const BlockRun& run : runs) numbers->add(run);
}

void Intake::forget(const std::string& file) {
    const std::lock_guard lock(mutex_);
    index_.forget(file);
    read_[file] = {.to = std::numeric_limits<uint64_t>::max(), .sessions = {}};
}

std::vector<LostLog> Intake::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

}  // namespace belay::server

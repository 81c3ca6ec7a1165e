#include "server/packed/log_contents.h"

#include "core/file_lock.h"
#include "core/text.h"
#include "server/blocks/log_walk.h"
#include "server/blocks/log_writer.h"
#include "server/blocks/upload.h"

#include <algorithm>
#include <fcntl.h>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kBeganDigits = 16;
constexpr std::string_view kLogSuffix = ".blk";

// Whether a belayd of that name is at work: it holds the lock that Intake::open takes.
Result<bool> is_at_work(const core::Directory& logs, const std::string& writer) {
    auto file = logs.open_file(writer + ".lock", O_RDWR);
    if (!file && file.error().cause() == core::Cause::kNotFound) return false;
    if (!file) return std::unexpected(std::move(file.error()));
    BELAY_TRY(lock, core::FileLock::try_acquire(file->get(), logs, writer + ".lease"));
    return !lock.has_value();
}

struct FileSession {
    stream::StreamId stream;
    uint64_t first_block = 0;
    uint64_t head_at = 0;
    uint32_t head_bytes = 0;
};

}  // namespace

std::optional<LogFile> log_file_named(std::string_view name) {
    if (!is_log_file_name(name)) return std::nullopt;
    int64_t began = 0;
    for (const char c : name.substr(0, kBeganDigits))
        began = static_cast<int64_t>(static_cast<uint64_t>(began) << 4 |
                                     static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10));
    const std::string_view rest = name.substr(kBeganDigits + 1);
    // Nobody begins a file then: it only must not overflow.
    constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max() / 2;
    return LogFile{.name = std::string(name),
                   .began = core::time_from_nanoseconds(std::clamp(began, -kFarthest, kFarthest)),
                   .writer = std::string(rest.substr(0, rest.size() - kLogSuffix.size()))};
}

Result<std::vector<LogFile>> list_logs(const core::Directory& logs, const OwnLog& own, core::Time now,
                                       core::Duration idle) {
    std::vector<LogFile> files;
    BELAY_TRY(names, logs.list());
    for (const std::string& name : names) {
        auto file = log_file_named(name);
        if (!file) continue;
        BELAY_TRY(facts, logs.facts(name));
        if (!facts) continue;  // packed by another belayd
        file->bytes = facts->bytes;
        files.push_back(std::move(*file));
    }
    std::ranges::sort(files, {},
                      [](const LogFile& file) { return std::tuple(file.writer, file.began, file.name); });
    for (size_t i = 0; i < files.size(); ++i) {
        LogFile& file = files[i];
        const bool is_newest = i + 1 == files.size() || files[i + 1].writer != file.writer;
        if (file.writer == own.writer) {
            file.is_closed = file.name != own.in_use;
        } else if (!is_newest) {
            file.is_closed = true;
        } else if (file.began + idle <= now) {
            BELAY_TRY(at_work, is_at_work(logs, file.writer));
            file.is_closed = !at_work;
        }
    }
    return files;
}

std::vector<LogFile> next_group(const std::vector<LogFile>& files, const GroupLimits& limits,
                                std::optional<core::Time> now) {
    std::vector<LogFile> group;
    std::vector<LogFile> oldest;
    uint64_t bytes = 0;
    bool is_complete = true;
    const auto end_group = [&] {
        const bool may_grow =
            now && bytes < limits.bytes && !group.empty() && *now < group.front().began + limits.window;
        if (!group.empty() && is_complete && !may_grow &&
            (oldest.empty() || group.front().began < oldest.front().began))
            oldest = group;
        group.clear();
        bytes = 0;
        is_complete = true;
    };
    for (const LogFile& file : files) {
        const bool is_of_group = !group.empty() && file.writer == group.front().writer &&
                                 file.began - group.front().began < limits.window && bytes < limits.bytes;
        if (!is_of_group) end_group();
        if (file.is_closed) {
            group.push_back(file);
            bytes += file.bytes;
        } else if (!group.empty()) {
            is_complete = !now;  // it will be closed, and belongs to them
        }
    }
    end_group();
    return oldest;
}

Result<> add_log(const core::Directory& logs, const std::string& name, LogContents& contents) {
    BELAY_TRY(file, logs.open_file(name, O_RDONLY));
    BELAY_TRY(bytes, stream::SegmentBytes::of_file(file.get(), logs.path_of(name).string()));
    const auto shared_name = std::make_shared<const std::string>(name);
    std::map<uint32_t, FileSession> sessions;  // by number: one of them may be damaged
    LogWalk walk(std::move(bytes));
    for (;;) {
        BELAY_TRY(record, core::with_context(walk.next(), logs.path_of(name).string()));
        if (!record) break;
        const RecordHeader& header = record->header;
        const auto note_arrival = [&](LogStream& of) {
            of.arrived = std::max(of.arrived, header.arrived);
            contents.arrived_from = std::min(contents.arrived_from, header.arrived);
            contents.arrived_until = std::max(contents.arrived_until, header.arrived);
        };
        if (header.kind == kSessionRecord) {
            BELAY_TRY(upload, read_upload(record->body));
            LogStream& of = contents.streams[upload.session.stream()];
            of.blocks.add(header.blocks);
            note_arrival(of);
            sessions[header.session] = {.stream = upload.session.stream(),
                                        .first_block = upload.session.first_block,
                                        .head_at = record->body_at(),
                                        .head_bytes = header.body_bytes};
        } else if (header.kind == kBlocksRecord && sessions.contains(header.session)) {
            const FileSession& session = sessions.at(header.session);
            LogStream& of = contents.streams[session.stream];
            of.places.push_back({.file = shared_name,
                                 .head_at = session.head_at,
                                 .head_bytes = session.head_bytes,
                                 .bytes = header.body_bytes,
                                 .at = record->body_at(),
                                 .first_block = session.first_block,
                                 .blocks = header.blocks,
                                 .first_time = header.first_time,
                                 .last_time = header.last_time});
            of.blocks.add(header.blocks);
            note_arrival(of);
        } else if (header.kind == kBlocksRecord) {
            contents.lost.push_back(
                {name, record->at, kRecordHeaderBytes + header.body_bytes, "its session is lost"});
        }
    }
    // What was cut off at the end was never acknowledged.
    for (const LogDamage& damage : walk.damage())
        if (damage.at < walk.end())
            contents.lost.push_back({name, damage.at, damage.bytes, std::string(damage.reason)});
    return {};
}

}  // namespace belay::server

#include "server/archive/archive_rows.h"

#include "server/archive/archive_state.h"
#include "server/packed/row_order.h"
#include "stream/segment.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace belay::server {

using core::Result;

namespace {

constexpr core::Duration kDay = std::chrono::hours(24);
// Of one node at a time: as many rows as are held.
constexpr core::Duration kSlice = std::chrono::minutes(20);
// Parts over more days have rows of clocks that were wrong: in between there may be none.
constexpr int64_t kFewDays = 2;

int64_t day_number(core::Time time) {
    const int64_t nanoseconds = core::to_nanoseconds(time), day = kDay.count();
    return nanoseconds / day - (nanoseconds % day < 0 ? 1 : 0);
}

// The day's part of the time that there is: the first and the last one are cut off.
TimeRange range_of_number(int64_t day) {
    constexpr int64_t kFirst = std::numeric_limits<int64_t>::min() / kDay.count();
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max() / kDay.count();
    return {day < kFirst ? core::Time::min() : core::time_from_nanoseconds(day * kDay.count()),
            day >= kLast ? core::Time::max() : core::time_from_nanoseconds((day + 1) * kDay.count())};
}

bool are_apart(const PackedFile& file, const TimeRange& range) {
    return !file.has_rows() || file.first_time >= range.end || file.last_time < range.begin;
}

// The days on which a part has rows, by their numbers; damage is told when the rows are read. Errors: kSystem.
Result<std::set<int64_t>> days_of(const PackedReader& reader, const PackedPart& part) {
    std::set<int64_t> days;
    const int64_t first = day_number(part.first_time), last = day_number(part.last_time);
    if (last - first <= kFewDays) {
        for (int64_t day = first; day <= last; ++day) days.insert(day);
        return days;
    }
    const auto add = [&](const stream::Batch& rows) {
        for (size_t row = 0; row < rows.rows(); ++row)
            days.insert(day_number(core::time_from_nanoseconds(time_of(rows, row))));
    };
    const auto read = [&]() -> Result<> {
        if (part.kind == kPiecePart) {
            BELAY_TRY(piece, reader.read_piece(part));
            BELAY_TRY(summary, stream::read_segment_bytes(piece, reader.name(), add));
            return {};
        }
        stream::Batch rows(*reader.table_of(part));
        BELAY_CHECK(reader.read_rows(part, WantedColumns::only({}), rows));
        add(rows);
        return {};
    }();
    if (!read && read.error().kind() == core::ErrorKind::kSystem) return std::unexpected(read.error());
    return days;
}

}  // namespace

std::string day_of(core::Time time) {
    constexpr size_t kDateLength = 10;
    return core::format_time(time).substr(0, kDateLength);
}

TimeRange range_of_day(core::Time time) {
    return range_of_number(day_number(time));
}

Result<std::map<ArchivePart, ArchivePartRows>> parts_of(History& history,
                                                        const std::vector<PackedFile>& files,
                                                        std::string_view unnamed,
                                                        std::vector<LostPart>& lost) {
    std::map<ArchivePart, ArchivePartRows> all;
    for (const PackedFile& file : files) {
        auto reader = history.open_packed(file);
        if (!reader && reader.error().cause() != core::Cause::kNotFound &&
            reader.error().kind() == core::ErrorKind::kSystem)
            return std::unexpected(std::move(reader.error()));
        if (!reader) {
            lost.push_back({file.name, 0, file.bytes, reader.error().message()});
            continue;
        }
        for (size_t number = 0; number < (*reader)->index().streams(); ++number) {
            auto stream = (*reader)->index().stream(number);
            auto parts = stream ? (*reader)->index().parts(number) : std::unexpected(stream.error());
            if (!parts) {
                lost.push_back({file.name, 0, 0, parts.error().message()});
                continue;
            }
            const std::string cluster = archive_cluster(stream->session.cluster, unnamed);
            for (const PackedPart& part : *parts) {
                if (!part.has_rows()) continue;
                const schema::Table* table = (*reader)->table_of(part);
                if (table == nullptr && part.kind != kPiecePart) continue;
                BELAY_TRY(days, days_of(**reader, part));
                for (const int64_t day : days) {
                    const TimeRange range = range_of_number(day);
                    const auto add = [&](const schema::Table* of) {
                        ArchivePartRows& rows = all[{of, day_of(range.begin), cluster}];
                        rows.range = range;
                        rows.nodes.insert(stream->session.node);
                    };
                    if (table != nullptr) add(table);
                    if (table == nullptr)
                        std::ranges::for_each(schema::tables(), add);  // blocks of any table
                }
            }
        }
    }
    return all;
}

ArchiveRows::ArchiveRows(History& history, std::vector<PackedFile> files, ArchivePart part,
                         ArchivePartRows rows, std::string unnamed)
    : history_(history),
      files_(std::move(files)),
      part_(std::move(part)),
      wanted_(std::move(rows)),
      unnamed_(std::move(unnamed)),
      node_(wanted_.nodes.begin()),
      slice_(wanted_.range.begin),
      batch_(*part_.table) {
    std::erase_if(files_, [&](const PackedFile& file) { return are_apart(file, wanted_.range); });
}

// Rows of all streams of the node, in order of time.
Result<> ArchiveRows::read_slice() {
    const core::Time left = wanted_.range.end;
    const TimeRange range{slice_, left - slice_ > kSlice ? slice_ + kSlice : left};
    stream::Batch rows(*part_.table);
    const RowVisitor take = [&](const stream::Session& session, const stream::Batch& some) -> Result<> {
        if (archive_cluster(session.cluster, unnamed_) == part_.cluster) rows.append(some);
        return {};
    };
    for (const PackedFile& file : files_) {
        if (are_apart(file, range)) continue;
        auto read =
            history_.read_file(file, {.tables = {part_.table}, .nodes = {*node_}, .range = range}, take);
        if (!read && read.error().cause() == core::Cause::kNotFound) continue;  // told by parts_of()
        if (!read) return std::unexpected(std::move(read.error()));
        for (LostPart& lost : read->lost)
            if (std::ranges::find(lost_, lost) == lost_.end()) lost_.push_back(std::move(lost));
    }
    batch_ = gathered(rows, rows_by_time(rows));
    at_ = 0;
    count_ += batch_.rows();
    slice_ = range.end;
    return {};
}

// To the next slice, or the next node; false at the end.
bool ArchiveRows::go_on() {
    if (node_ == wanted_.nodes.end()) return false;
    if (slice_ < wanted_.range.end) return true;
    slice_ = wanted_.range.begin;
    return ++node_ != wanted_.nodes.end();
}

Result<record::RowRun> ArchiveRows::next(size_t most) {
    while (at_ == batch_.rows()) {
        if (!go_on()) return record::RowRun();
        BELAY_CHECK(read_slice());
    }
    const size_t count = std::min(most, batch_.rows() - at_);
    at_ += count;
    return record::RowRun{&batch_, at_ - count, count};
}

}  // namespace belay::server

#include "record/import/gssr_rows.h"

#include "core/text.h"
#include "record/import/source_files.h"

#include <algorithm>
#include <cmath>

namespace belay::record {

using core::Result;

namespace {

// The onset is looked for this long, as is the spacing of rows.
constexpr double kSurveySeconds = 600;
constexpr int64_t kSurveySpacings = 256;
// Later than any time since the start of a recorder (31 years).
constexpr double kFirstEpoch = 1e9;

}  // namespace

std::string node_of(const GssrFile& file) {
    return fmt::format("proc_{}", file.rank);
}

GssrRows::GssrRows(const GssrFile& file, std::string place) : node_(node_of(file)), place_(std::move(place)) {
    auto reader = LineReader::open(file.path);
    if (reader) {
        reader_ = std::move(*reader);
        find_header();
    } else {
        note(std::move(reader.error()));
    }
}

void GssrRows::note(core::Error error) {
    if (error.kind() == core::ErrorKind::kSystem)
        unread_ = std::move(error);
    else
        failure_ = error.message();
}

std::optional<Line> GssrRows::take_line() {
    if (!reader_) return std::nullopt;
    auto line = reader_->next();
    if (line) return *line;
    note(std::move(line.error()));
    return std::nullopt;
}

void GssrRows::find_header() {
    std::optional<Line> line = take_line();
    while (line && core::trim(line->text).empty()) line = take_line();
    if (!line) {
        if (failure_.empty()) failure_ = "the file is empty";
        return;
    }
    csv_ = GssrCsv::from_header(line->text);
    if (!csv_) failure_ = "the first line names no timestamp, gpuId and fields of DCGM";
}

Result<std::optional<GssrRow>> GssrRows::next() {
    while (auto line = csv_ ? take_line() : std::nullopt) {
        // The end of a number may be missing too, so not even what looks whole is.
        if (!line->ended) {
            torn_line_ = line->number;
            continue;
        }
        if (core::trim(line->text).empty()) continue;
        std::optional<GssrRow> row = csv_->parse(line->text);
        // Times of both kinds in one file cannot both be right; those of the first kind are.
        bool from_1970 = row && row->timestamp >= kFirstEpoch;
        if (row && !from_1970_) from_1970_ = from_1970;
        if (!row || from_1970 != *from_1970_) {
            unreadable_.add(line->number);
            continue;
        }
        const auto impossible = drop_impossible(*row);
        const auto clipped = drop_clipped(*row);
        for (size_t field = 0; (impossible | clipped).any() && field < kGssrFields; ++field) {
            if (impossible.test(field)) impossible_[field].add(line->number);
            if (clipped.test(field)) clipped_[field].add(line->number);
        }
        ++rows_;
        return row;
    }
    if (unread_) return unread(*unread_);
    return std::nullopt;
}

Defect GssrRows::defect(std::string_view kind, int64_t line, std::string text) const {
    return {.kind = kind,
            .node = node_,
            .place = line > 0 ? fmt::format("{}:{}", place_, line) : place_,
            .text = std::move(text)};
}

std::vector<Defect> GssrRows::defects() const {
    std::vector<Defect> defects;
    if (!failure_.empty())
        defects.push_back(defect("left_out", 0, failure_));
    else if (rows_ == 0)
        defects.push_back(defect("no_rows", 0, "the file has a header and no rows"));
    if (csv_ && csv_->has_exchanged_header())
        defects.push_back(defect(
            "exchanged_header", 1,
            "the header has max before avg, as versions before 2026-01-20 wrote it above min, avg, max: read "
            "as min, avg, max"));
    if (unreadable_.count > 0)
        defects.push_back(
            defect("unreadable_lines", unreadable_.first_line,
                   fmt::format("{} of the lines, this one the first, are not whole rows and were left out",
                               unreadable_.count)));
    for (const GssrFieldFacts& facts : kGssrFieldFacts) {
        const Tally& beyond = impossible_[static_cast<size_t>(facts.field)];
        if (beyond.count > 0)
            defects.push_back(
                defect(facts.dcgm, beyond.first_line,
                       fmt::format(
                           "{} is impossible (negative, not a number, or above its highest value) in {} rows "
                           "from this one on: it is missing there",
                           facts.dcgm, beyond.count)));
        const Tally& tally = clipped_[static_cast<size_t>(facts.field)];
        if (tally.count == 0) continue;
        defects.push_back(defect(
            facts.dcgm, tally.first_line,
            fmt::format("{} is 0 while the GPU works, in {} rows from this one on: gssr-record writes 0 for "
                        "more than 2 GB/s too, so it is missing there",
                        facts.dcgm, tally.count)));
    }
    if (torn_line_ > 0)
        defects.push_back(defect("torn_line", torn_line_, "the last line has no end: left out"));
    return defects;
}

Result<GssrSurvey> survey(const GssrFile& file) {
    GssrSurvey found;
    GssrRows rows(file, "");
    std::map<int64_t, double> last_of;  // timestamp, by GPU
    int64_t spacings = 0;
    for (;;) {
        BELAY_TRY(row, rows.next());
        if (!row) break;
        if (!found.has_rows) found.first = found.last = row->timestamp;
        found.has_rows = true;
        found.last = std::max(found.last, row->timestamp);
        if (!found.onset && is_busy(*row)) found.onset = row->timestamp;
        found.gpus.insert(row->gpu);
        auto [last, is_first] = last_of.try_emplace(row->gpu, row->timestamp);
        if (double step = row->timestamp - last->second; !is_first && step > 0) {
            ++found.spacings[std::llround(step * 1000)];
            ++spacings;
        }
        last->second = row->timestamp;
        if ((found.onset && spacings >= kSurveySpacings) || row->timestamp - found.first > kSurveySeconds)
            break;
    }
    found.from_1970 = found.first >= kFirstEpoch;
    if (!found.has_rows) return found;
    // The header is needed again to read the last line.
    BELAY_TRY(reader, LineReader::open(file.path));
    BELAY_TRY(end, last_line(file.path));
    BELAY_TRY(header, reader.next());
    auto csv = header ? GssrCsv::from_header(header->text) : std::nullopt;
    auto row = csv ? csv->parse(end) : std::nullopt;
    if (row && (row->timestamp >= kFirstEpoch) == found.from_1970)
        found.last = std::max(found.last, row->timestamp);
    return found;
}

}  // namespace belay::record

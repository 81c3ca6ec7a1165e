#include "findings/series_store.h"

#include "record/series/make_series.h"
#include "schema/tables/host_digest.h"

#include <cmath>
#include <string>

namespace belay::findings {

using core::Result;

namespace {

// Raised when the rule of record/series/spans.h changes, or what a column means.
constexpr int kModel = 1;

record::SpanFrame frame_of(const Run& run) {
    return {.start_microseconds = core::to_microseconds(run.start),
            .bucket_seconds = run.bucket_seconds,
            .buckets = static_cast<size_t>(std::floor(run.seconds() / run.bucket_seconds)) + 1,
            .interval_seconds = run.interval_seconds};
}

// What kept tables were made with; others are made anew.
std::string facts_of(const schema::SeriesTable& series, const record::SpanFrame& frame) {
    return fmt::format("series {} of {} columns, from {} us, {} buckets of {} s, samples of {} s", kModel,
                       series.table->columns.size(), frame.start_microseconds, frame.buckets,
                       frame.bucket_seconds, frame.interval_seconds);
}

// False where the record keeps none that holds, or one that is damaged: there are samples. Errors: kSystem.
Result<bool> attach_kept(record::Archive& archive, const schema::SeriesTable& series,
                         const std::string& facts) {
    const auto is_damaged = [](const core::Error& error) {
        return error.kind() == core::ErrorKind::kBadInput;
    };
    auto kept = archive.kept_facts(*series.table);
    if (!kept && !is_damaged(kept.error())) return std::unexpected(std::move(kept.error()));
    if (!kept || !*kept || **kept != facts) return false;
    auto attached = archive.attach(*series.table);
    if (attached) {
        auto whole = archive.query(fmt::format("SELECT max(COLUMNS(*)) FROM \"{}\"", series.table->name));
        if (whole) return true;
        BELAY_CHECK(archive.detach(*series.table));
        attached = std::unexpected(std::move(whole.error()));
    }
    if (!is_damaged(attached.error())) return std::unexpected(std::move(attached.error()));
    return false;
}

Result<stream::Batch> make(record::Archive& archive, const schema::SeriesTable& series,
                           const record::SpanFrame& frame) {
    BELAY_TRY(rows, archive.query(fmt::format("SELECT DISTINCT node FROM \"{}\" WHERE node IS NOT NULL",
                                              series.source->name)));
    std::vector<std::string> nodes;
    for (const auto& row : rows.rows) nodes.push_back(record::as_text(row[0]));
    return record::make_series(archive, series, frame, std::move(nodes));
}

}  // namespace

Result<> add_series(record::Archive& archive, const Run& run) {
    const record::SpanFrame frame = frame_of(run);
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        BELAY_TRY(kept, attach_kept(archive, series, facts_of(series, frame)));
        if (kept) continue;
        BELAY_TRY(made, make(archive, series, frame));
        BELAY_CHECK(archive.add(*series.table, made));
    }
    return {};
}

Result<> add_series(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    BELAY_TRY(run, find_run(archive, prepare_gpus));
    return add_series(archive, run);
}

Result<> keep_series(record::Archive& archive, const std::filesystem::path& record,
                     const PrepareGpus& prepare_gpus) {
    if (!archive.manifest().sealed)
        return core::bad_input("{} is not sealed", record.string())
            .hint("seal it first: belay record seal RECORD");
    BELAY_TRY(run, find_run(archive, prepare_gpus));
    BELAY_TRY(claim, record::claim_record(record));
    const record::SpanFrame frame = frame_of(run);
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        const std::string facts = facts_of(series, frame);
        // Series of what is left would stay when the table can be read again.
        if (archive.unreadable().contains(series.source->name)) continue;
        BELAY_TRY(kept, attach_kept(archive, series, facts));
        if (kept) continue;
        BELAY_TRY(made, make(archive, series, frame));
        if (made.rows() > 0) BELAY_CHECK(record::keep_table(claim, made, facts));
    }
    return {};
}

}  // namespace belay::findings

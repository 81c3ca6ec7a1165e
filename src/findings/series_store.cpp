#include "findings/series_store.h"

#include "findings/measure_run.h"
#include "record/series/kept_series.h"
#include "record/series/make_series.h"
#include "schema/tables/sampled_series.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace belay::findings {

using core::Result;

namespace {

record::SpanFrame frame_of(const Run& run) {
    return {.start_microseconds = core::to_microseconds(run.start),
            .bucket_seconds = run.bucket_seconds,
            .buckets = static_cast<size_t>(std::clamp(std::floor(run.seconds() / run.bucket_seconds), 0.0,
                                                      static_cast<double>(kMostBuckets))) +
                       1,
            .interval_seconds = run.interval_seconds};
}

std::string facts_of(const schema::SeriesTable& series, const record::SpanFrame& frame) {
    return record::series_facts(std::span(&series, 1), frame);
}

Result<stream::Batch> make(record::Archive& archive, const schema::SeriesTable& series,
                           const record::SpanFrame& frame) {
    BELAY_TRY(nodes, record::nodes_in(archive, *series.source));
    return record::make_series(archive, series, frame, std::move(nodes));
}

}  // namespace

Result<> add_series(record::Archive& archive, const Run& run) {
    const record::SpanFrame frame = frame_of(run);
    for (const schema::SeriesTable& series : schema::kSeriesTables) {
        BELAY_TRY(kept, record::attach_kept(archive, {&series.table, 1}, facts_of(series, frame)));
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
        BELAY_TRY(kept, record::attach_kept(archive, {&series.table, 1}, facts));
        if (kept) continue;
        BELAY_TRY(made, make(archive, series, frame));
        if (made.rows() > 0) BELAY_CHECK(record::keep_table(claim, made, facts));
    }
    return {};
}

}  // namespace belay::findings

#include "findings/prepare.h"

#include "findings/derived_tables.h"
#include "findings/macros.h"
#include "findings/measure_run.h"
#include "findings/series_store.h"
#include "record/series/counter.h"
#include "schema/schema.h"

#include <algorithm>

namespace belay::findings {

using core::Result;

namespace {

// A record without GPUs has their tables all the same, without rows.
Result<> add_missing(record::Archive& archive) {
    BELAY_TRY(names, archive.query("SELECT table_name FROM information_schema.tables"));
    for (const schema::Table* table : schema::gpu_digest_tables()) {
        auto is_it = [&](const auto& row) { return record::as_text(row[0]) == table->name; };
        if (std::ranges::none_of(names.rows, is_it)) BELAY_CHECK(archive.add(*table, stream::Batch(*table)));
    }
    return {};
}

// Of a moment, the start of its bucket, which joins seconds with series; and whether it lies in the run, or
// at most a bucket outside it, where nothing was sampled yet or any more; and how far a counter went.
Result<> define_macros(record::Archive& archive, const Run& run) {
    const int64_t start = core::to_microseconds(run.start);
    const auto bucket = static_cast<int64_t>(run.bucket_seconds * 1e6);
    BELAY_CHECK(archive.define(fmt::format(
        "CREATE MACRO bucket_of(x) AS make_timestamp({0} + ((epoch_us(x) - {0}) // {1})::BIGINT * {1})",
        start, bucket)));
    BELAY_CHECK(archive.define(std::string(record::kIncreaseMacro)));
    return archive.define(fmt::format("CREATE MACRO in_run(x) AS epoch_us(x) BETWEEN {} AND {}",
                                      start - bucket, core::to_microseconds(run.end) + bucket));
}

}  // namespace

Result<Run> find_run(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    if (prepare_gpus) BELAY_CHECK(prepare_gpus(archive));
    BELAY_CHECK(add_missing(archive));
    return find_sampled_time(archive);
}

Result<Run> prepare(record::Archive& archive, const PrepareGpus& prepare_gpus) {
    BELAY_TRY(run, find_run(archive, prepare_gpus));
    BELAY_CHECK(define_macros(archive, run));
    BELAY_CHECK(add_series(archive, run));
    BELAY_CHECK(add_derived_tables(archive));
    for (const Macro& macro : macros())
        BELAY_CHECK(archive.define(fmt::format("CREATE MACRO {} AS {}", macro.head, macro.sql)));
    BELAY_CHECK(find_start_up(archive, run));
    BELAY_CHECK(count_rows(archive, run));
    return run;
}

}  // namespace belay::findings

#include "observe/table_writer.h"

#include "schema/tables/coverage.h"
#include "stream/liveness.h"

#include <algorithm>

namespace belay::observe {

using schema::column;
using schema::kCoverage;

stream::Batch& TableWriter::rows(const schema::Table& table) {
    return batches_.try_emplace(&table, table).first->second;
}

void TableWriter::count(const schema::Table& table, core::Time at, int64_t due, bool taken) {
    if (due <= 0) return;
    auto& runs = runs_[&table];
    auto [counted_to, is_first] = counted_to_.try_emplace(&table, at - due * interval_);
    core::Time start = counted_to->second;
    if (taken && due > 1) {
        // The last of them was taken when it came due, those before were missed.
        const core::Time last = std::max(start, at - interval_);
        add_run(runs, {.start = start, .end = last, .due = due - 1, .taken = false});
        start = last;
        due = 1;
    }
    add_run(runs, {.start = start, .end = at, .due = due, .taken = taken});
    counted_to->second = at;
}

void TableWriter::add_run(std::vector<Run>& runs, const Run& run) {
    if (runs.empty() || runs.back().taken != run.taken) {
        runs.push_back(run);
        return;
    }
    runs.back().end = run.end;
    runs.back().due += run.due;
}

core::Result<> TableWriter::flush(core::Duration now) {
    const uint64_t before = stream_->bytes();
    BELAY_CHECK(write());
    const bool grew = stream_->bytes() != before;
    if (!grew && changed_ && now - *changed_ < stream::kShowsLifeEvery) return {};
    if (!grew) stream_->touch();
    changed_ = now;
    return {};
}

stream::Batch TableWriter::coverage() const {
    stream::Batch rows(kCoverage);
    for (const auto& [table, runs] : runs_)
        for (const Run& run : runs) {
            rows.add_row(run.end, node_);
            rows.set(column(kCoverage, "table_name"), table->name);
            rows.set(column(kCoverage, "start"), run.start);
            rows.set(column(kCoverage, "interval_seconds"), core::to_seconds(interval_));
            rows.set(column(kCoverage, "expected"), run.due);
            rows.set(column(kCoverage, "received"), run.taken ? run.due : 0);
        }
    return rows;
}

core::Result<> TableWriter::write() {
    for (auto& [table, batch] : batches_) {
        BELAY_CHECK(stream_->append(batch));
        batch.clear();
    }
    // Counts come after the samples that they count: a recorder killed in between has counted too little,
    // never too much.
    BELAY_CHECK(stream_->append(coverage()));
    for (auto& [table, runs] : runs_) runs.clear();
    return {};
}

size_t TableWriter::drop_excess(size_t most_rows) {
    size_t dropped = 0;
    for (auto& [table, batch] : batches_) {
        if (batch.rows() <= most_rows) continue;
        dropped += batch.rows();
        batch.clear();
        std::vector<Run> missed;
        for (Run run : runs_[table]) {
            run.taken = false;
            add_run(missed, run);
        }
        runs_[table] = std::move(missed);
    }
    return dropped;
}

core::Result<> TableWriter::finish(core::Time at) {
    BELAY_CHECK(write());
    return stream_->finish(at);
}

}  // namespace belay::observe

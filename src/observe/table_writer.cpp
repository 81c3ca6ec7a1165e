#include "observe/table_writer.h"

#include "schema/tables/coverage.h"
#include "stream/liveness.h"

namespace belay::observe {

using schema::column;
using schema::kCoverage;

stream::Batch& TableWriter::rows(const schema::Table& table) {
    return batches_.try_emplace(&table, table).first->second;
}

void TableWriter::count(const schema::Table& table, core::Time at, int64_t due, int64_t taken) {
    auto [entry, is_new] = counts_.try_emplace(&table, Count{.start = at - due * interval_, .end = at});
    entry->second.end = at;
    entry->second.due += due;
    entry->second.taken += taken;
}

core::Result<> TableWriter::flush(core::Duration now) {
    uint64_t before = segment_.bytes();
    BELAY_CHECK(write());
    if (segment_.bytes() == before && changed_ && now - *changed_ < stream::kShowsLifeEvery) return {};
    if (segment_.bytes() == before) segment_.touch();
    changed_ = now;
    return {};
}

core::Result<> TableWriter::write() {
    for (auto& [table, batch] : batches_) {
        BELAY_CHECK(segment_.append(batch));
        batch.clear();
    }
    // Counts come after the samples that they count: a recorder killed in between has counted too little,
    // never too much.
    stream::Batch coverage(kCoverage);
    for (auto& [table, count] : counts_) {
        if (count.due == 0) continue;
        coverage.add_row(count.end, node_);
        coverage.set(column(kCoverage, "table_name"), table->name);
        coverage.set(column(kCoverage, "start"), count.start);
        coverage.set(column(kCoverage, "interval_seconds"), core::to_seconds(interval_));
        coverage.set(column(kCoverage, "expected"), count.due);
        coverage.set(column(kCoverage, "received"), count.taken);
    }
    BELAY_CHECK(segment_.append(coverage));
    for (auto& [table, count] : counts_) count = {.start = count.end, .end = count.end};
    return {};
}

core::Result<> TableWriter::finish(core::Time at) {
    BELAY_CHECK(write());
    return segment_.finish(at);
}

}  // namespace belay::observe

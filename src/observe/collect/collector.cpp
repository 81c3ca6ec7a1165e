#include "observe/collect/collector.h"

#include "record/tables/host.h"

#include <ctime>

namespace belay::observe::collect {

namespace {

// Children that were asked something are not counted: they only wait.
double cpu_seconds() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

}  // namespace

std::vector<record::Batch> make_batches(std::span<const std::unique_ptr<Collector>> collectors) {
    std::vector<record::Batch> batches;
    batches.reserve(collectors.size());
    for (const std::unique_ptr<Collector>& collector : collectors) batches.emplace_back(collector->table());
    return batches;
}

void collect_all(std::span<const std::unique_ptr<Collector>> collectors, const Sample& sample,
                 std::span<record::Batch> rows, const ErrorSink& on_error) {
    double start = cpu_seconds();
    record::Batch* host_rows = nullptr;
    for (size_t i = 0; i < collectors.size(); ++i) {
        core::Result<> result = collectors[i]->collect(sample, rows[i]);
        if (!result && on_error) on_error(collectors[i]->table(), result.error());
        if (result && &rows[i].table() == &record::kHost) host_rows = &rows[i];
    }
    if (host_rows == nullptr || host_rows->empty()) return;
    host_rows->set(record::column(record::kHost, "collection_seconds"), cpu_seconds() - start);
}

}  // namespace belay::observe::collect

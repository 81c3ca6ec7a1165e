#include "observe/collect/collector.h"

#include "observe/collect/filesystem.h"
#include "observe/collect/gpu.h"
#include "observe/collect/host.h"
#include "observe/collect/io.h"
#include "observe/collect/network.h"
#include "observe/collect/process.h"
#include "schema/tables/host.h"

#include <ctime>

namespace belay::observe::collect {

namespace {

// CPU time spent so far by this thread and the helpers of the collectors.
double cpu_seconds(std::span<const std::unique_ptr<Collector>> collectors) {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    double seconds = static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
    for (const std::unique_ptr<Collector>& collector : collectors) seconds += collector->helper_cpu_seconds();
    return seconds;
}

}  // namespace

std::vector<std::unique_ptr<Collector>> make_collectors(const CollectOptions& options) {
    std::vector<std::unique_ptr<Collector>> collectors;
    collectors.push_back(make_host_collector(options));
    collectors.push_back(make_network_collector(options));
    collectors.push_back(make_filesystem_collector(options));
    collectors.push_back(make_process_collector(options));
    collectors.push_back(make_gpu_collector(options));
    collectors.push_back(make_io_collector(options));
    return collectors;
}

std::vector<stream::Batch> make_batches(std::span<const std::unique_ptr<Collector>> collectors) {
    std::vector<stream::Batch> batches;
    batches.reserve(collectors.size());
    for (const std::unique_ptr<Collector>& collector : collectors) batches.emplace_back(collector->table());
    return batches;
}

void collect_all(std::span<const std::unique_ptr<Collector>> collectors, const Sample& sample,
                 std::span<stream::Batch> rows, const ErrorSink& on_error) {
    double start = cpu_seconds(collectors);
    stream::Batch* host_rows = nullptr;
    for (size_t i = 0; i < collectors.size(); ++i) {
        core::Result<> result = collectors[i]->collect(sample, rows[i]);
        if (!result && on_error) on_error(collectors[i]->table(), result.error());
        if (result && &rows[i].table() == &schema::kHost) host_rows = &rows[i];
    }
    if (host_rows == nullptr || host_rows->empty()) return;
    host_rows->set(schema::column(schema::kHost, "collection_seconds"), cpu_seconds(collectors) - start);
}

}  // namespace belay::observe::collect

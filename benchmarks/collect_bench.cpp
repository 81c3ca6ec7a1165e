// What a tick of the collectors costs on this machine, beside a number of processes of the job. The time
// shown is CPU time, that of the child that asks the file systems included; at 1 Hz, 1 ms of it is 0.1 % of a
// core, which is the goal.
#include "observe/collect/collector.h"
#include "schema/tables/host.h"

#include <benchmark/benchmark.h>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace belay;
using namespace belay::observe::collect;

// Children that do nothing, as processes of the job.
class IdleProcesses {
  public:
    explicit IdleProcesses(int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            pid_t pid = fork();
            if (pid == 0)
                while (true) pause();
            pids_.push_back(pid);
        }
    }
    ~IdleProcesses() {
        for (pid_t pid : pids_) kill(pid, SIGKILL);
        for (pid_t pid : pids_) waitpid(pid, nullptr, 0);
    }

  private:
    std::vector<pid_t> pids_;
};

CollectOptions options() {
    CollectOptions options;
    options.job = {.roots = {getpid()}, .exclude = {getpid()}, .exclude_own_executable = false};
    return options;
}

void tick(benchmark::State& state) {
    IdleProcesses processes(state.range(0));
    std::vector<std::unique_ptr<Collector>> collectors = make_collectors(options());
    std::vector<stream::Batch> rows = make_batches(collectors);
    constexpr size_t kCost = schema::column(schema::kHost, "collection_seconds");
    core::Time now = core::system_clock().now();
    for (auto _ : state) {
        for (stream::Batch& batch : rows) batch.clear();
        now += std::chrono::seconds(1);
        collect_all(collectors, {now, "node"}, rows, nullptr);
        state.SetIterationTime(rows[0].values(kCost).reals.at(0));
    }
}
BENCHMARK(tick)->Arg(0)->Arg(8)->Arg(64)->Arg(256)->UseManualTime()->Unit(benchmark::kMicrosecond);

// One table alone, on the clock.
void table(benchmark::State& state) {
    std::unique_ptr<Collector> collector =
        std::move(make_collectors(options())[static_cast<size_t>(state.range(0))]);
    stream::Batch rows(collector->table());
    core::Time now = core::system_clock().now();
    for (auto _ : state) {
        rows.clear();
        now += std::chrono::seconds(1);
        if (!collector->collect({now, "node"}, rows)) state.SkipWithError("cannot collect");
    }
    state.SetLabel(std::string(collector->table().name));
}
BENCHMARK(table)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

}  // namespace

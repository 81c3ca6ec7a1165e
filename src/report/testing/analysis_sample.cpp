// Writes the page of made-up runs of two benchmarks on two machines: analysis_sample OUTPUT.html
#include "bench/analysis/runs_for_tests.h"
#include "core/file.h"
#include "report/analysis/page.h"

#include <cstdio>

namespace {

using namespace belay;

// One epoch after the other, with an error that falls.
void add_epochs(bench::RunInput& run, const bench::MadeRun& made) {
    for (double epoch = 1; epoch <= made.epochs; ++epoch)
        run.epochs.push_back({.number = epoch,
                              .start = made.staging + (epoch - 1) * made.epoch_seconds,
                              .seconds = made.epoch_seconds,
                              .metric = 1.0 / (1 + epoch)});
}

std::vector<bench::RunInput> made_runs() {
    std::vector<bench::RunInput> runs;
    for (const char* benchmark : {"cosmoflow", "deepcam"})
        for (const char* machine : {"alpha", "</script><b>beta</b>"})
            for (const double nodes : {4.0, 16.0, 64.0})
                for (int i = 0; i < 5; ++i) {
                    const bench::MadeRun made{.benchmark = benchmark,
                                              .platform = std::string(machine),
                                              .division = nodes > 16 ? "open" : "closed",
                                              .nodes = nodes,
                                              .batch = 16 * nodes,
                                              .epochs = 8.0 + i + nodes / 16,
                                              .epoch_seconds = 4000 / nodes + 5 * i,
                                              .start = 1'600'000'000};
                    runs.push_back(
                        bench::make_run(made, fmt::format("{}/{}/result_{}.txt", machine, nodes, i)));
                    runs.back().facts.data_wait_seconds_per_step = 0.01;
                    runs.back().facts.exposed_communication_seconds_per_step = 0.001 * nodes;
                    add_epochs(runs.back(), made);
                }
    // One that did not reach its target.
    runs.push_back(bench::make_run({.nodes = 4, .batch = 64, .success = false}, "alpha/4/result_9.txt"));
    return runs;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: analysis_sample OUTPUT.html\n", stderr);
        return 2;
    }
    bench::AnalysisOptions options;
    options.predictions.push_back({.units = 1024, .batch = 1024});
    options.capacity = {.memory = 64e9, .flash = 1e12};
    const auto written =
        core::replace_file(argv[1], report::render_analysis(bench::analyze_runs(made_runs(), options), ""));
    if (written) return 0;
    std::fputs(written.error().render().c_str(), stderr);
    return written.error().exit_status();
}

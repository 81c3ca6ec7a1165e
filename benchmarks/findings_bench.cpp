// Findings: what it costs to prepare the tables of a record and to ask all rules.
//   findings_bench                                   records in memory
//   BELAY_BENCH_RECORD=DIR findings_bench            and the hosts of a sealed record (see big_record.cpp)
#include "findings/cases.h"
#include "findings/catalogue.h"
#include "findings/engine.h"

#include <benchmark/benchmark.h>
#include <cstdlib>

#include <fmt/format.h>

namespace belay::findings {
namespace {

// A sound job of `nodes` nodes for `seconds` seconds.
Case sound_job(int64_t nodes, int64_t seconds) {
    std::string text = fmt::format(
        "[[case]]\nrule = \"hang\"\nname = \"sound\"\nfires = false\nnodes = {}\nseconds = {}\n"
        "use = [\"host\", \"allotment\", \"ranks\", \"steps\", \"network\"]\n",
        nodes, seconds);
    return parse_cases(text, "findings_bench.toml").value().front();
}

// Rows of the table host per second, for nodes x seconds.
void prepare_tables(benchmark::State& state) {
    Case job = sound_job(state.range(0), state.range(1));
    for (auto run : state) {
        state.PauseTiming();
        auto archive = build_case(job).value();
        state.ResumeTiming();
        benchmark::DoNotOptimize(prepare(archive, {}));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(prepare_tables)->Args({1, 90})->Args({4, 3600})->Args({64, 3600})->Unit(benchmark::kMillisecond);

void ask_all_rules(benchmark::State& state) {
    Case job = sound_job(state.range(0), state.range(1));
    RuleSet rules = load_rules(builtin_files()).value();
    for (auto run : state) {
        state.PauseTiming();
        auto archive = build_case(job).value();
        state.ResumeTiming();
        benchmark::DoNotOptimize(diagnose(archive, rules, {}));
    }
    state.counters["rules"] = static_cast<double>(rules.rules.size());
}
BENCHMARK(ask_all_rules)->Args({1, 90})->Args({4, 3600})->Args({64, 3600})->Unit(benchmark::kMillisecond);

void load_builtin_rules(benchmark::State& state) {
    for (auto run : state) benchmark::DoNotOptimize(load_rules(builtin_files()));
}
BENCHMARK(load_builtin_rules)->Unit(benchmark::kMillisecond);

// All but the digest of the GPUs.
void diagnose_sealed_record(benchmark::State& state) {
    const char* record = std::getenv("BELAY_BENCH_RECORD");
    if (record == nullptr) {
        state.SkipWithError("BELAY_BENCH_RECORD names no record");
        return;
    }
    RuleSet rules = load_rules(builtin_files()).value();
    for (auto run : state) {
        auto archive = record::Archive::open(record).value();
        benchmark::DoNotOptimize(diagnose(archive, rules, {}));
    }
}
BENCHMARK(diagnose_sealed_record)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace belay::findings

#include "stage/bench/bench.h"

#include "core/file.h"
#include "core/json.h"
#include "stage/bench/bench_plan.h"
#include "stage/bench/workload.h"

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(stage_bench, percentiles_are_times_that_were_measured) {
    std::vector<double> seconds(1000);
    std::iota(seconds.rbegin(), seconds.rend(), 1);
    const LatencySummary summary = summarize_latencies(seconds);
    EXPECT_EQ(summary.count, 1000u);
    EXPECT_EQ(summary.mean, 500.5);
    EXPECT_EQ(summary.p50, 500);
    EXPECT_EQ(summary.p90, 900);
    EXPECT_EQ(summary.p99, 990);
    EXPECT_EQ(summary.p999, 999);
    EXPECT_EQ(summary.longest, 1000);
    EXPECT_EQ(summarize_latencies({7}).p999, 7);
    EXPECT_TRUE(std::isnan(summarize_latencies({}).p50));
}

// Steps that wait `wait` and compute `compute` seconds, one behind the other.
std::vector<EmulatedStep> steps(const std::vector<std::pair<double, double>>& times) {
    std::vector<EmulatedStep> list;
    double at = 0;
    for (const auto& [wait, compute] : times) {
        list.push_back({.begin = at, .ready = at + wait, .end = at + wait + compute});
        at = list.back().end;
    }
    return list;
}

TEST(stage_bench, utilisation_drops_the_first_and_last_step) {
    const auto block = utilisation_of_block(steps({{100, 1}, {1, 3}, {0, 4}, {50, 1}}));
    ASSERT_TRUE(block);
    EXPECT_EQ(block->steps, 2u);
    EXPECT_DOUBLE_EQ(block->share, 7.0 / 8);
    EXPECT_FALSE(utilisation_of_block(steps({{1, 1}, {1, 1}})));
    EXPECT_DOUBLE_EQ(utilisation_of_block(steps({{1, 1}, {1, 1}}), 0)->share, 0.5);
}

TEST(stage_bench, blocks_weigh_by_their_steps) {
    const std::vector<Utilisation> blocks = {{.share = 1, .steps = 3}, {.share = 0.5, .steps = 1}};
    EXPECT_DOUBLE_EQ(mean_utilisation(blocks)->share, 0.875);
    EXPECT_EQ(mean_utilisation(blocks)->steps, 4u);
    EXPECT_FALSE(mean_utilisation({}));
}

TEST(stage_bench, every_number_once_in_another_order) {
    auto numbers = shuffled_numbers(1000, 7);
    EXPECT_EQ(numbers, shuffled_numbers(1000, 7));
    EXPECT_NE(numbers, shuffled_numbers(1000, 8));
    std::ranges::sort(numbers);
    for (uint64_t at = 0; at < numbers.size(); ++at) EXPECT_EQ(numbers[at], at);
    EXPECT_THAT(shuffled_numbers(0, 1), IsEmpty());
}

TEST(stage_bench, random_offsets_are_whole_blocks) {
    const auto offsets = random_offsets(100 * 4096 + 5, 4096, 100, 3);
    EXPECT_EQ(std::set<uint64_t>(offsets.begin(), offsets.end()).size(), 100u);
    for (const uint64_t offset : offsets) {
        EXPECT_EQ(offset % 4096, 0u);
        EXPECT_LE(offset + 4096, 100u * 4096);
    }
    EXPECT_THAT(random_offsets(8192, 4096, 5, 1), SizeIs(5));  // again from the beginning
    EXPECT_THAT(random_offsets(100, 4096, 5, 1), IsEmpty());
    EXPECT_THAT(random_offsets(uint64_t{1} << 40, 4096, 100, 1), SizeIs(100));
}

const EmulatedModel& model(std::string_view name) {
    return *std::ranges::find(emulated_models(), name, &EmulatedModel::name);
}

TEST(stage_bench, models_are_those_of_mlperf_storage) {
    // Bytes that one H100 takes in a second when it passes, as worked out by hand from the workloads' files.
    for (const auto& [name, gigabytes] :
         {std::pair{"unet3d", 2.86}, {"resnet50", 0.18}, {"cosmoflow", 0.57}}) {
        const EmulatedModel& each = model(name);
        EXPECT_NEAR(
            each.record_bytes * static_cast<double>(each.batch) / each.h100_seconds * each.pass_share / 1e9,
            gigabytes, 0.006)
            << name;
    }
}

TEST(stage_bench, emulated_files) {
    const auto files = plan_emulated_files(model("resnet50"), 2000, ~uint64_t{0}, 1);
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].samples.size(), 1251u);
    EXPECT_EQ(files[1].samples.size(), 749u);
    EXPECT_EQ(files[0].bytes(), 1251u * 114'660);
    // No more than there is room for, but one.
    EXPECT_THAT(plan_emulated_files(model("unet3d"), 100, 1, 1), SizeIs(1));
    uint64_t bytes = 0;
    const auto limited = plan_emulated_files(model("cosmoflow"), 100, 10'000'000, 1);
    for (const EmulatedFile& file : limited) bytes += file.bytes();
    EXPECT_LE(bytes, 10'000'000u);
    EXPECT_EQ(limited.size(), 3u);
}

TEST(stage_bench, sizes_have_the_mean_and_deviation_of_the_model) {
    const auto files = plan_emulated_files(model("cosmoflow"), 20'000, ~uint64_t{0}, 5);
    double sum = 0;
    double squares = 0;
    for (const EmulatedFile& file : files) {
        const auto size = static_cast<double>(file.bytes());
        sum += size;
        squares += size * size;
    }
    const double mean = sum / 20'000;
    EXPECT_NEAR(mean, 2'828'486, 2000);
    EXPECT_NEAR(std::sqrt(squares / 20'000 - mean * mean), 71'311, 1500);
}

TEST(stage_bench, an_epoch_reads_every_sample_once) {
    const std::vector<EmulatedFile> files = {{{10, 20}}, {{30}}, {{40, 50, 60}}};
    const auto reads = plan_epoch(files, 6, 0, 1);
    std::multiset<uint64_t> sizes;
    for (const SampleRead& read : reads) sizes.insert(read.bytes);
    EXPECT_EQ(sizes, (std::multiset<uint64_t>{10, 20, 30, 40, 50, 60}));
    EXPECT_THAT(reads, Contains(SampleRead{.file = 2, .offset = 90, .bytes = 60}));
    EXPECT_THAT(plan_epoch(files, 20, 0, 1), SizeIs(20));
    EXPECT_THAT(plan_epoch({}, 20, 0, 1), IsEmpty());
    bool differs = false;
    for (uint64_t epoch = 1; epoch < 10; ++epoch)
        differs = differs || plan_epoch(files, 6, epoch, 1) != reads;
    EXPECT_TRUE(differs);
}

TEST(stage_bench, accelerators_share_an_epoch) {
    std::vector<SampleRead> reads(13);
    for (uint64_t at = 0; at < reads.size(); ++at) reads[at].offset = at;
    auto offsets = [&](uint64_t accelerator) {
        std::vector<uint64_t> found;
        for (const SampleRead& read : reads_of_accelerator(reads, 2, accelerator, 3))
            found.push_back(read.offset);
        return found;
    };
    EXPECT_THAT(offsets(0), ElementsAre(0, 1, 6, 7));
    EXPECT_THAT(offsets(1), ElementsAre(2, 3, 8, 9));
    EXPECT_THAT(offsets(2), ElementsAre(4, 5, 10, 11));  // the thirteenth makes no whole step
}

class Place {
  public:
    const fs::path& path() const { return directory_.path(); }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

// As small as it can be; how fast this is does not matter.
BenchOptions tiny() {
    return {.bytes = 100'000,
            .block_bytes = 8192,
            .operations = 20,
            .files = 10,
            .file_bytes = 1000,
            .threads = 2,
            .models = {"cosmoflow"},
            .accelerators = 2,
            .steps = 4,
            .epochs = 2,
            .compute_factor = 0};
}

TEST(stage_bench_run, every_test_measures) {
    const Place place;
    BenchOptions options = tiny();
    std::vector<std::string> phases;
    options.progress = [&](std::string_view phase) { phases.emplace_back(phase); };
    const BenchReport report = run_bench(place.path(), options).value();
    std::vector<std::string> names;
    for (const BenchResult& result : report.results) {
        names.push_back(result.name);
        EXPECT_GT(result.value, 0) << result.name;
        EXPECT_GT(result.operations, 0u) << result.name;
        EXPECT_LE(result.first_done_seconds, result.seconds) << result.name;
        EXPECT_EQ(result.latency.count, result.operations) << result.name;
    }
    EXPECT_THAT(names, ElementsAre("sequential write", "sequential read", "random read", "metadata create",
                                   "metadata stat", "metadata open", "metadata remove", "files write",
                                   "files read", "shard read", "checkpoint write", "checkpoint read"));
    ASSERT_EQ(report.emulations.size(), 1u);
    EXPECT_EQ(report.emulations[0].samples, 16u);
    EXPECT_EQ(report.emulations[0].distinct_samples, 1u);
    EXPECT_EQ(report.emulations[0].utilisation->steps,
              8u);  // two of four, by two accelerators, in two epochs
    EXPECT_THAT(phases, Contains("reading in order"));
    EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(stage_bench_run, bytes_and_operations_are_those_that_were_wanted) {
    const Place place;
    BenchOptions options = tiny();
    options.tests = {"sequential", "random", "shard"};
    const BenchReport report = run_bench(place.path(), options).value();
    ASSERT_EQ(report.results.size(), 4u);
    EXPECT_EQ(report.results[0].bytes, 100'000u);
    EXPECT_EQ(report.results[1].bytes, 100'000u);
    EXPECT_EQ(report.results[2].operations, 20u);
    EXPECT_EQ(report.results[3].operations, 10u);
}

TEST(stage_bench_run, says_what_was_done_about_the_cache) {
    const Place place;
    BenchOptions options = tiny();
    options.tests = {"sequential"};
    options.direct = DirectMode::kNever;
    EXPECT_THAT(run_bench(place.path(), options)->results[1].cache,
                HasSubstr("of the pages stayed in memory"));
    options.direct = DirectMode::kAuto;
    EXPECT_THAT(run_bench(place.path(), options)->results[1].cache,
                testing::AnyOf(HasSubstr("O_DIRECT"), HasSubstr("stayed in memory")));
}

TEST(stage_bench_run, memory_is_not_taken_for_a_disk) {
    const fs::path memory = "/dev/shm";
    BenchOptions options = tiny();
    options.tests = {"sequential"};
    const auto report = run_bench(memory, options);
    if (!report || report->file_system != "tmpfs") GTEST_SKIP() << "there is no tmpfs to write to";
    EXPECT_THAT(report->results[1].cache, HasSubstr("100 % of the pages stayed in memory"));
    options.direct = DirectMode::kAlways;
    EXPECT_THAT(run_bench(memory, options).error().message(), HasSubstr("no O_DIRECT"));
}

TEST(stage_bench_run, a_short_epoch_is_said) {
    const Place place;
    BenchOptions options = tiny();
    options.tests = {"training"};
    EXPECT_THAT(run_bench(place.path(), options)->notes, Contains(HasSubstr("an epoch of 4 steps is short")));
    options.steps = 30;
    options.accelerators = options.epochs = 1;
    EXPECT_THAT(run_bench(place.path(), options)->notes, testing::Not(Contains(HasSubstr("is short"))));
}

TEST(stage_bench_run, nothing_is_left_after_a_stop) {
    const Place place;
    BenchOptions options = tiny();
    const std::atomic<bool> stop = true;
    options.stop = &stop;
    for (const std::string& test : bench_tests()) {
        options.tests = {test};
        EXPECT_EQ(run_bench(place.path(), options).error().cause(), core::Cause::kCancelled) << test;
        EXPECT_TRUE(fs::is_empty(place.path())) << test;
    }
}

// Who may rename in the directory of a project could have others' data deleted in its place.
TEST(stage_bench_run, what_took_the_place_of_its_directory_stays) {
    const Place place;
    fs::create_directory(place.path() / "results");
    std::ofstream(place.path() / "results/model") << "x";
    BenchOptions options = tiny();
    options.tests = {"metadata"};
    options.progress = [&](std::string_view) {
        if (!fs::exists(place.path() / "results")) return;
        for (const auto& entry : fs::directory_iterator(place.path())) {
            const fs::path ours = entry.path();
            if (!ours.filename().string().starts_with(".belay-bench-")) continue;
            fs::rename(ours, place.path() / "elsewhere");
            fs::rename(place.path() / "results", ours);
            break;
        }
    };
    (void)run_bench(place.path(), options);
    ASSERT_FALSE(fs::exists(place.path() / "results")) << "the test swapped nothing";
    size_t models = 0;
    for (const auto& entry : fs::recursive_directory_iterator(place.path()))
        models += entry.path().filename() == "model" ? 1 : 0;
    EXPECT_EQ(models, 1u);
}

TEST(stage_bench_run, what_is_no_directory_is_the_persons_mistake) {
    const Place place;
    std::ofstream(place.path() / "file") << "x";
    for (const char* name : {"file", "nothing"}) {
        EXPECT_EQ(run_bench(place.path() / name, tiny()).error().kind(), core::ErrorKind::kBadInput) << name;
        BenchOptions options = tiny();
        options.given = GivenTraining{.data = place.path() / name};
        EXPECT_EQ(run_bench({}, options).error().kind(), core::ErrorKind::kBadInput) << name;
    }
}

TEST(stage_bench_run, wrong_input_is_said) {
    const Place place;
    auto mistake = [&](auto change) {
        BenchOptions options = tiny();
        change(options);
        const auto report = run_bench(place.path(), options);
        return report ? "" : report.error().message();
    };
    EXPECT_THAT(mistake([](BenchOptions& options) { options.tests = {"fast"}; }),
                HasSubstr("no test \"fast\""));
    EXPECT_THAT(mistake([](BenchOptions& options) { options.models = {"gpt"}; }),
                HasSubstr("no model \"gpt\""));
    EXPECT_THAT(mistake([](BenchOptions& options) { options.block_bytes = 5000; }),
                HasSubstr("multiple of 4096"));
    EXPECT_THAT(mistake([](BenchOptions& options) { options.threads = 0; }), HasSubstr("--threads 0"));
    EXPECT_THAT(mistake([](BenchOptions& options) { options.threads = 100; }),
                HasSubstr("less than a block"));
    EXPECT_THAT(mistake([](BenchOptions& options) { options.bytes = uint64_t{1} << 49; }),
                HasSubstr("are free"));
    EXPECT_TRUE(fs::is_empty(place.path()));
}

BenchReport some_report(double value) {
    BenchReport report{.directory = "/scratch", .file_system = "lustre", .options = tiny()};
    report.options.tests = {"sequential", "random", "files", "training"};
    report.results.push_back({.name = "sequential read", .unit = "bytes/s", .value = value});
    report.emulations.push_back({.model = "unet3d",
                                 .utilisation = Utilisation{.share = 0.9, .steps = 5},
                                 .pass_share = 0.9,
                                 .samples_per_second = 2 * value});
    return report;
}

TEST(stage_bench_report, is_compared_with_a_baseline) {
    const std::string baseline = to_json(some_report(100)).dump();
    const BenchComparison comparison = compare_with_baseline(some_report(50), baseline, "b").value();
    EXPECT_THAT(comparison.differences, IsEmpty());
    ASSERT_EQ(comparison.changes.size(), 3u);
    EXPECT_EQ(comparison.changes[0].name, "sequential read");
    EXPECT_EQ(comparison.changes[0].ratio(), 0.5);
    EXPECT_EQ(comparison.changes[2].name, "unet3d utilisation");
    EXPECT_EQ(comparison.changes[2].ratio(), 1);
}

TEST(stage_bench_report, what_was_measured_otherwise_is_named) {
    BenchReport other = some_report(1);
    other.options.threads = 9;
    other.options.seed = 5;
    const auto comparison = compare_with_baseline(other, to_json(some_report(1)).dump(), "b").value();
    EXPECT_THAT(comparison.differences, ElementsAre("threads: 2 then, 9 now"));
}

TEST(stage_bench_report, a_baseline_that_is_none) {
    for (const char* text :
         {"", "{}", "[]", R"({"schema":"belay.stage.bench/1"})",
          R"({"schema":"belay.stage.bench/1","results":[1,{"name":"sequential read","value":"x"}]})"})
        EXPECT_FALSE(compare_with_baseline(some_report(1), text, "b")) << text;
}

TEST(stage_bench_report, passes_at_the_share_of_the_model) {
    BenchReport report = some_report(1);
    EXPECT_TRUE(report.emulations[0].passes());
    report.emulations[0].utilisation->share = 0.89;
    EXPECT_FALSE(report.emulations[0].passes());
    report.emulations[0].utilisation.reset();
    EXPECT_TRUE(to_json(report)["training"][0]["pass"].is_null());
}

TEST(stage_bench_report, equal_command_lines) {
    EXPECT_THAT(equal_commands(some_report(1), false, false), IsEmpty());
    const auto lines = equal_commands(some_report(1), true, true);
    EXPECT_THAT(lines, SizeIs(4));
    EXPECT_THAT(
        lines[0],
        HasSubstr(
            "elbencho --write --read --threads 2 --size 100000 --block 8k --direct /scratch/elbencho-large"));
    EXPECT_THAT(lines[3], HasSubstr("dlio_benchmark workload=cosmoflow_h100"));
}

}  // namespace
}  // namespace belay::stage

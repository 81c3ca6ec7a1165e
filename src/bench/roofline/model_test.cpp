#include "bench/roofline/model.h"

#include <cmath>

#include <gtest/gtest.h>

namespace belay::bench::roofline {
namespace {

constexpr double kGibi = 1024.0 * 1024 * 1024;
constexpr double kMebi = 1024.0 * 1024;

Number exactly(double value) {
    return {.value = value};
}
Number at_least(double value) {
    return {.value = value, .sense = Sense::kAtLeast};
}
Number at_most(double value) {
    return {.value = value, .sense = Sense::kAtMost};
}

Machine machine(double compute, double memory, double network, double io) {
    return {.rates = {exactly(compute), exactly(memory), exactly(network), exactly(io)}};
}

// 10 GFLOP, 2 GB of memory, 1 MB of parameters and 100 kB on storage a sample, 4 ranks with 2 samples each:
// b_n = 2·3/4·1e6/2 = 750 kB.
Workload workload() {
    return {.name = "worked",
            .flops = exactly(10e9),
            .memory_bytes = exactly(2e9),
            .parameter_bytes = exactly(1e6),
            .io_bytes = exactly(1e5),
            .ranks = 4,
            .local_batch = 2};
}

TEST(roofline_model, the_lowest_of_four_ceilings_binds) {
    // 100, 50, 40 and 30 samples/s.
    const auto analysis = analyze(workload(), machine(1e12, 1e11, 3e7, 3e6), 24).value();
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kCompute).samples_per_second, 100);
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kMemory).samples_per_second, 50);
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kNetwork).samples_per_second, 40);
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kIo).samples_per_second, 30);
    EXPECT_EQ(analysis.binds, Resource::kIo);
    EXPECT_DOUBLE_EQ(*analysis.share(), 0.8);
    EXPECT_TRUE(analysis.certain);
    EXPECT_TRUE(analysis.may_bind.empty());
    EXPECT_TRUE(analysis.notes.empty()) << analysis.notes.front();
    EXPECT_DOUBLE_EQ(*analysis.attained_flops_per_second(), 240e9);
}

TEST(roofline_model, each_resource_binds_where_it_is_scarce) {
    for (const Resource scarce : kResources) {
        Machine scarcer = machine(1e12, 1e12, 1e9, 1e8);
        *scarcer.rate(scarce).value /= 1e4;
        EXPECT_EQ(analyze(workload(), scarcer, std::nullopt)->binds, scarce) << to_text(scarce);
    }
}

TEST(roofline_model, what_the_all_reduce_sends_for_a_sample) {
    Workload run = workload();
    EXPECT_DOUBLE_EQ(*network_bytes(run).value, 750e3);
    run.ranks = 2;
    EXPECT_DOUBLE_EQ(*network_bytes(run).value, 500e3);
    run.local_batch = 8;
    EXPECT_DOUBLE_EQ(*network_bytes(run).value, 125e3);
    run.ranks = 1;
    EXPECT_DOUBLE_EQ(*network_bytes(run).value, 0);
    run.ranks.reset();
    EXPECT_FALSE(network_bytes(run).value);
}

TEST(roofline_model, one_rank_and_samples_in_memory_have_no_ceiling_there) {
    Workload alone = workload();
    alone.ranks = 1;
    alone.io_bytes = exactly(0);
    const auto analysis = analyze(alone, {.rates = {exactly(1e12), exactly(1e11)}}, 20).value();
    EXPECT_EQ(analysis.ceiling(Resource::kNetwork).state, CeilingState::kNone);
    EXPECT_EQ(analysis.ceiling(Resource::kIo).state, CeilingState::kNone);
    EXPECT_EQ(analysis.binds, Resource::kMemory);
    EXPECT_TRUE(analysis.certain);
}

// IEEE 9652793, on V100: FLOP and HBM bytes of a sample, and what HBM sustained.
TEST(roofline_model, the_published_numbers_of_a_v100) {
    struct Row {
        std::string_view name;
        double flops, bytes, ideal_bytes, sustained, intensity;
    };
    for (const Row& row : {Row{"cosmoflow", 247 * kGibi, 6.4 * kGibi, 1.44 * kGibi, 127e9, 38.6},
                           Row{"deepcam", 2887 * kGibi, 52 * kGibi, 5.8 * kGibi, 270e9, 55.5}}) {
        const double attained = row.sustained / row.bytes;
        const Workload run{.flops = exactly(row.flops),
                           .memory_bytes = exactly(row.bytes),
                           .io_bytes = exactly(0),
                           .ranks = 1};
        const auto analysis = analyze(run, {.rates = {exactly(125e12), exactly(829e9)}}, attained).value();
        const Ceiling& memory = analysis.ceiling(Resource::kMemory);
        EXPECT_NEAR(memory.intensity, row.intensity, 0.05) << row.name;
        // 125 TFLOP/s over 829 GB/s are 151 FLOP a byte: both lie left of the ridge.
        EXPECT_EQ(analysis.binds, Resource::kMemory) << row.name;
        EXPECT_NEAR(*analysis.share(), row.sustained / 829e9, 1e-12) << row.name;
        EXPECT_NEAR(*analysis.attained_flops_per_second(), row.intensity * row.sustained,
                    0.002 * row.intensity * row.sustained);
        // With no more traffic than is needed both would lie right of it.
        Workload ideal = run;
        ideal.memory_bytes = exactly(row.ideal_bytes);
        EXPECT_EQ(analyze(ideal, analysis.machine, attained)->binds, Resource::kCompute) << row.name;
    }
}

// 768·1152·16 values are 54 MiB in float32, so that 27 MiB a sample are half precision.
TEST(roofline_model, bytes_of_a_sample_of_deepcam) {
    EXPECT_DOUBLE_EQ(768.0 * 1152 * 16 * 4 / kMebi, 54);
    EXPECT_DOUBLE_EQ(128.0 * 128 * 128 * 4 * 2 / kMebi, 16);
}

TEST(roofline_model, a_lower_bound_of_the_bytes_makes_an_upper_bound_of_the_ceiling) {
    Workload run = workload();
    run.memory_bytes = at_least(2e9);
    const auto analysis = analyze(run, machine(1e12, 1e12, 1e9, 1e9), std::nullopt).value();
    const Ceiling& memory = analysis.ceiling(Resource::kMemory);
    EXPECT_DOUBLE_EQ(memory.high, 500);
    EXPECT_DOUBLE_EQ(memory.low, 0);
    // Compute is lower by what is known; memory could be lower still.
    EXPECT_EQ(analysis.binds, Resource::kCompute);
    EXPECT_FALSE(analysis.certain);
    EXPECT_EQ(analysis.may_bind, std::vector{Resource::kMemory});
    EXPECT_EQ(analysis.notes,
              std::vector<std::string>{"compute binds by what is known; memory could lie lower"});
}

TEST(roofline_model, a_run_at_the_ceiling_shows_that_no_other_is_lower) {
    Workload run = workload();
    run.memory_bytes = at_least(2e9);
    EXPECT_TRUE(analyze(run, machine(1e12, 1e12, 1e9, 1e9), 100)->certain);
    EXPECT_FALSE(analyze(run, machine(1e12, 1e12, 1e9, 1e9), 99)->certain);
}

TEST(roofline_model, a_lower_bound_of_a_rate_makes_a_lower_bound_of_the_ceiling) {
    Machine own = machine(1e12, 1e12, 1e9, 1e9);
    own.rate(Resource::kCompute).sense = Sense::kAtLeast;
    const auto analysis = analyze(workload(), own, 50).value();
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kCompute).low, 100);
    EXPECT_TRUE(std::isinf(analysis.ceiling(Resource::kCompute).high));
    // Compute may be as high as any: then memory binds.
    EXPECT_EQ(analysis.binds, Resource::kCompute);
    EXPECT_FALSE(analysis.certain);
}

TEST(roofline_model, a_read_from_the_page_cache_is_at_most_what_storage_gives) {
    Machine cached = machine(1e12, 1e12, 1e9, 1e9);
    cached.rate(Resource::kIo) = at_most(1e9);
    const auto analysis = analyze(workload(), cached, 50).value();
    EXPECT_DOUBLE_EQ(analysis.ceiling(Resource::kIo).high, 1e4);
    EXPECT_EQ(analysis.may_bind, std::vector{Resource::kIo});
}

TEST(roofline_model, what_is_not_known_is_never_certain_and_says_what_is_missing) {
    Machine two = machine(1e12, 1e12, 1e9, 1e9);
    two.rate(Resource::kNetwork) = {.source = "measure it in a step"};
    const auto analysis = analyze(workload(), two, 50).value();
    EXPECT_EQ(analysis.ceiling(Resource::kNetwork).state, CeilingState::kUnknown);
    EXPECT_FALSE(analysis.certain);
    EXPECT_EQ(analysis.may_bind, std::vector{Resource::kNetwork});
    EXPECT_EQ(analysis.notes.front(), "network: no ceiling is known without B_n: measure it in a step");
    Workload unknown = workload();
    unknown.memory_bytes = {};
    EXPECT_EQ(analyze(unknown, machine(1e12, 1e12, 1e9, 1e9), 50)->notes.front(),
              "memory: no ceiling is known without memory bytes of a sample");
}

TEST(roofline_model, nothing_known_binds_nothing) {
    const auto analysis = analyze({}, {}, std::nullopt).value();
    EXPECT_FALSE(analysis.binds);
    EXPECT_FALSE(analysis.bound());
    EXPECT_FALSE(analysis.share());
    EXPECT_FALSE(analysis.certain);
    EXPECT_EQ(analysis.may_bind.size(), 4U);
}

TEST(roofline_model, a_run_that_beats_a_ceiling_contradicts_it) {
    const auto analysis = analyze(workload(), machine(1e12, 1e12, 1e9, 1e6), 20).value();
    EXPECT_EQ(analysis.binds, Resource::kIo);
    EXPECT_DOUBLE_EQ(*analysis.share(), 2);
    EXPECT_TRUE(analysis.notes.front().starts_with("io: the run did 2.00 times what the ceiling allows"));
    // As timings go it is not.
    EXPECT_TRUE(analyze(workload(), machine(1e12, 1e12, 1e9, 1e6), 10.4)->notes.empty());
}

TEST(roofline_model, numbers_that_cannot_be_are_refused) {
    const double infinite = std::numeric_limits<double>::infinity();
    const Machine good = machine(1e12, 1e12, 1e9, 1e9);
    for (const double bad : {0.0, -1.0, infinite, std::nan("")}) {
        for (const Resource resource : kResources) {
            Machine wrong = good;
            wrong.rate(resource).value = bad;
            const auto refused = analyze(workload(), wrong, 1);
            ASSERT_FALSE(refused) << to_text(resource) << bad;
            EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
        }
        EXPECT_FALSE(analyze(workload(), good, bad));
        Workload wrong = workload();
        wrong.local_batch = bad;
        EXPECT_FALSE(analyze(wrong, good, 1));
    }
    Workload wrong = workload();
    wrong.ranks = 0.5;
    EXPECT_EQ(analyze(wrong, good, 1).error().message(), "the number of ranks cannot be 0.5");
    wrong = workload();
    wrong.flops.value = -3;
    EXPECT_EQ(analyze(wrong, good, 1).error().message(), "FLOP of a sample cannot be -3");
    wrong.flops.value = infinite;
    EXPECT_FALSE(analyze(wrong, good, 1));
}

TEST(roofline_model, names_read_back) {
    for (const Sense sense : {Sense::kValue, Sense::kAtLeast, Sense::kAtMost})
        EXPECT_EQ(sense_named(to_text(sense)), sense);
    EXPECT_FALSE(sense_named(""));
}

TEST(roofline_model, amounts_have_three_digits_and_a_prefix) {
    EXPECT_EQ(amount_text(1e10, "FLOP/s"), "10 GFLOP/s");
    EXPECT_EQ(amount_text(12.3456e6, "B"), "12.3 MB");
    EXPECT_EQ(amount_text(999.6, "B"), "1 kB");
    EXPECT_EQ(amount_text(0.5, "B"), "0.5 B");
}

}  // namespace
}  // namespace belay::bench::roofline

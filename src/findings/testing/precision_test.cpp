#include "findings/testing/precision.h"

#include "findings/catalogue.h"

#include <cmath>

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

TEST(findings_testing, most_of_what_fires_is_right) {
    auto rules = load_rules(builtin_files());
    ASSERT_TRUE(rules);
    auto precision = measure_precision(*rules, 24, 500);
    ASSERT_TRUE(precision) << precision.error().message();
    for (const std::string& mistake : precision->mistakes) SCOPED_TRACE(mistake);
    EXPECT_GE(precision->precision(), 0.95);
    EXPECT_GE(precision->recall(), 0.9);
    EXPECT_GE(precision->right(), 16);
}

TEST(findings_testing, a_second_is_never_more_than_a_second) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
        auto fault = static_cast<Fault>(seed % static_cast<uint32_t>(Fault::kCount));
        Job job = draw_job(fault, needs_gpus(fault), seed);
        Timeline timeline = simulate(job);
        ASSERT_EQ(timeline.ranks.size(), static_cast<size_t>(job.ranks()));
        for (const auto& rank : timeline.ranks)
            for (const Second& second : rank)
                EXPECT_LE(second.compute + second.load + second.wait + second.exchange + second.checkpoint,
                          1 + 1e-9);
    }
}

TEST(findings_testing, the_same_seed_is_the_same_job) {
    for (bool has_gpus : {false, true}) {
        auto rows = [&](uint32_t seed) {
            Job job = draw_job(Fault::kHang, has_gpus, seed);
            auto archive = record_of(job).value();
            return archive.query("SELECT count(*), sum(cpu_user_seconds_total) FROM process")->rows;
        };
        EXPECT_EQ(rows(3), rows(3));
        EXPECT_NE(rows(3), rows(4));
    }
}

}  // namespace
}  // namespace belay::findings

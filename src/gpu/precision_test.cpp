#include "gpu/precision.h"

#include <gtest/gtest.h>

namespace belay::gpu {

namespace {

double recorded_of(std::string_view name, double value) {
    for (const Field& field : kFields)
        if (field.name == name) return recorded(field, value);
    return kMissing;
}

}  // namespace

TEST(gpu, records_keep_the_digits_that_counters_tell) {
    EXPECT_EQ(recorded_of("sm_active_ratio", 0.123456789), 0.1235);
    EXPECT_EQ(recorded_of("sm_active_ratio", 0), 0);
    EXPECT_EQ(recorded_of("sm_active_ratio", 1), 1);
    EXPECT_EQ(recorded_of("power_watts", 651.237), 651.2);
    EXPECT_EQ(recorded_of("nvlink_sent_bytes_per_second", 123'456'789'012.0), 123'500'000'000.0);
    EXPECT_EQ(recorded_of("pcie_sent_bytes_per_second", 9999.4), 9999);
    EXPECT_EQ(recorded_of("pcie_sent_bytes_per_second", 0.7), 1);
    EXPECT_TRUE(std::isnan(recorded_of("sm_active_ratio", kMissing)));
}

TEST(gpu, totals_and_states_are_kept_as_they_are) {
    EXPECT_EQ(recorded_of("energy_joules_total", 123'456'789.123), 123'456'789.123);
    EXPECT_EQ(recorded_of("memory_used_bytes", 85'899'345'921.0), 85'899'345'921.0);
    EXPECT_EQ(recorded_of("clock_sm_hertz", 1'980'000'000.0), 1'980'000'000.0);
}

TEST(gpu, rounding_stays_within_its_step) {
    for (double value = 1e-3; value < 1e15; value *= 1.7) {
        EXPECT_NEAR(recorded_of("nvlink_sent_bytes_per_second", value), value, std::max(0.5, value * 5e-4));
        const double once = recorded_of("nvlink_sent_bytes_per_second", value);
        EXPECT_EQ(recorded_of("nvlink_sent_bytes_per_second", once), once);
    }
}

}  // namespace belay::gpu

#include "observe/hardware/hardware.h"

#include "observe/hardware/testing.h"
#include "schema/tables/numa.h"
#include "schema/tables/power.h"

#include <set>
#include <tuple>

#include <gmock/gmock.h>

namespace belay::observe::hardware {
namespace {

using namespace testing;

TEST(observe_hardware, the_collectors_of_this_folder_are_three_tables) {
    FakeHardware node;
    std::vector<std::string> tables;
    for (const auto& collector : make_hardware_collectors(node.options)) {
        tables.emplace_back(collector->table().name);
        EXPECT_EQ(node.sample(*collector).rows(), 0U) << "of a node that tells nothing";
    }
    EXPECT_THAT(tables, ::testing::ElementsAre("power", "nvme", "numa"));
    EXPECT_TRUE(node.events.empty());
}

// Whatever this machine has, as whoever runs the tests may see it. No disk is asked.
TEST(observe_hardware, what_this_machine_tells_makes_sense) {
    HardwareOptions options;
    options.read_smart_log = [](const char*, std::span<char, kSmartLogBytes>) { return 0; };
    for (const auto& collector : make_hardware_collectors(options)) {
        stream::Batch rows(collector->table());
        for (int64_t second = 1; second <= 3; ++second) {
            const stream::Batch tick = sampled(*collector, at_second(second));
            if (&collector->table() == &schema::kPower) {
                std::set<std::tuple<std::string, std::string, std::string>> known;
                for (size_t row = 0; row < tick.rows(); ++row) {
                    const auto key = std::tuple(*text(tick, row, "source"), *text(tick, row, "domain"),
                                                text(tick, row, "device").value_or(""));
                    EXPECT_TRUE(known.insert(key).second) << std::get<1>(key) << " is there twice";
                    EXPECT_GE(real(tick, row, "energy_joules_total").value_or(0), 0);
                    EXPECT_GT(real(tick, row, "temperature_celsius").value_or(0), -273.15);
                }
            }
            if (&collector->table() == &schema::kNuma) {
                for (size_t row = 0; row < tick.rows(); ++row)
                    EXPECT_LE(integer(tick, row, "memory_free_bytes"),
                              integer(tick, row, "memory_total_bytes"));
            }
            rows.append(tick);
        }
        RecordProperty(std::string(collector->table().name), static_cast<int>(rows.rows()));
    }
}

}  // namespace
}  // namespace belay::observe::hardware

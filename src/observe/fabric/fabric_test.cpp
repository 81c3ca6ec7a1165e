#include "observe/fabric/fabric.h"

#include "observe/fabric/testing.h"
#include "schema/tables/fabric.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace belay::observe::fabric {
namespace {

using namespace testing;
using namespace std::chrono_literals;

std::string names_of(const stream::Batch& rows) {
    std::string names;
    for (size_t row = 0; row < rows.rows(); ++row)
        names += fmt::format("{}/{} ", *text(rows, row, "device"), *integer(rows, row, "port"));
    return names;
}

TEST(observe_fabric, a_node_without_a_fast_network_owes_no_rows) {
    FabricRoot root;
    const auto fabric = make_fabric_collector(root.fabric_options());
    EXPECT_TRUE(sampled(*fabric, at_second(1)).empty());
    EXPECT_FALSE(fabric->is_expected());
    root.add_mlx5("mlx5_0");
    EXPECT_EQ(sampled(*fabric, at_second(2)).rows(), 1u);
    EXPECT_TRUE(fabric->is_expected());
}

TEST(observe_fabric, ports_of_both_kinds_have_rows) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    root.add_mlx5("mlx5_1", 1);
    root.add_mlx5("mlx5_1", 2);
    root.add_cxi("cxi0");
    root.write("run/cxi/cxi0/nacks", "12\n");
    FabricOptions options = root.fabric_options();
    options.retry_wait = 600s;
    const auto fabric = make_fabric_collector(options);
    stream::Batch rows = sampled(*fabric, at_second(7));
    EXPECT_EQ(names_of(rows), "mlx5_0/1 mlx5_1/1 mlx5_1/2 cxi0/1 ");
    EXPECT_EQ(text(rows, 0, "node"), "n1");
    EXPECT_EQ(integer(rows, 3, "time"), 7'000'000'000);
    EXPECT_EQ(integer(rows, 3, "receive_packets_total"), 12);
    EXPECT_EQ(integer(rows, 3, "retry_nacks_total"), 12);
    EXPECT_TRUE(is_null(rows, 0, "retry_nacks_total"));
}

TEST(observe_fabric, traffic_is_read_at_every_tick_and_states_now_and_then) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    FabricOptions options = root.fabric_options();
    options.slow_every = 3;
    const auto fabric = make_fabric_collector(options);
    (void)sampled(*fabric, at_second(1));
    root.write_files(FabricRoot::port_name("mlx5_0"),
                     {{"state", "1: DOWN"}, {"counters/port_rcv_data", "1000000000004"}});
    root.add_cxi("cxi0");
    stream::Batch rows = sampled(*fabric, at_second(2));
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 4000000000016);
    EXPECT_EQ(text(rows, 0, "state"), "ACTIVE");
    EXPECT_EQ(sampled(*fabric, at_second(3)).rows(), 1u);
    rows = sampled(*fabric, at_second(4));
    EXPECT_EQ(text(rows, 0, "state"), "DOWN");
    EXPECT_EQ(integer(rows, 0, "link_up"), 0);
    EXPECT_EQ(names_of(rows), "mlx5_0/1 cxi0/1 ");
}

TEST(observe_fabric, a_device_that_went_and_came_again_begins_anew) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    root.add_cxi("cxi0");
    const auto fabric = make_fabric_collector(root.fabric_options());
    EXPECT_EQ(names_of(sampled(*fabric, at_second(1))), "mlx5_0/1 cxi0/1 ");
    root.remove("sys/class/infiniband/mlx5_0");
    root.remove("sys/class/cxi");
    EXPECT_TRUE(sampled(*fabric, at_second(2)).empty());
    EXPECT_TRUE(fabric->is_expected());
    root.write_files(FabricRoot::port_name("mlx5_0"),
                     {{"state", "4: ACTIVE"}, {"counters/port_rcv_data", "5"}});
    stream::Batch rows = sampled(*fabric, at_second(3));
    EXPECT_EQ(names_of(rows), "mlx5_0/1 ");
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 20);
    EXPECT_TRUE(is_null(rows, 0, "symbol_errors_total"));
}

TEST(observe_fabric, a_device_that_was_exchanged_between_two_looks_is_opened_again) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    const auto fabric = make_fabric_collector(root.fabric_options());
    (void)sampled(*fabric, at_second(1));
    root.remove("sys/class/infiniband/mlx5_0");
    root.write_files(FabricRoot::port_name("mlx5_0"), {{"counters/port_rcv_data", "5"}});
    EXPECT_EQ(integer(sampled(*fabric, at_second(2)), 0, "receive_bytes_total"), 20);
}

TEST(observe_fabric, of_very_many_ports_the_first_are_sampled) {
    FabricRoot root;
    for (int device = 0; device < 300; ++device)
        root.write(FabricRoot::port_name(fmt::format("mlx5_{:03}", device)) + "/state", "4: ACTIVE\n");
    std::vector<stream::Event> events;
    FabricOptions options = root.fabric_options();
    options.on_event = [&](const stream::Event& event) { events.push_back(event); };
    const auto fabric = make_fabric_collector(options);
    EXPECT_EQ(sampled(*fabric, at_second(1)).rows(), 256u);
    EXPECT_EQ(sampled(*fabric, at_second(2)).rows(), 256u);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].subject, "fabric");
    EXPECT_EQ(events[0].message, "fabric: 44 ports beyond the first 256 are left out");
}

TEST(observe_fabric, a_class_that_cannot_be_listed_is_an_error) {
    FabricRoot root;
    root.write("sys/class/x", "");
    fs::create_symlink("infiniband", root.sys() / "class/infiniband");  // leads to itself
    std::vector<stream::Event> events;
    FabricOptions options = root.fabric_options();
    options.on_event = [&](const stream::Event& event) { events.push_back(event); };
    const auto fabric = make_fabric_collector(options);
    stream::Batch rows(fabric->table());
    const core::Result<> result = fabric->collect({at_second(1), "n1"}, rows);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind(), core::ErrorKind::kSystem);
    EXPECT_TRUE(rows.empty());
    EXPECT_TRUE(events.empty());
    // The other kind goes on, and then it is told once.
    root.add_cxi("cxi0");
    EXPECT_EQ(sampled(*fabric, at_second(2)).rows(), 1u);
    EXPECT_EQ(sampled(*fabric, at_second(3)).rows(), 1u);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].code, ELOOP);
}

TEST(observe_fabric, counters_that_may_not_be_read_are_told_once) {
    if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    fs::permissions(root.sys() / "class/infiniband/mlx5_0/ports/1/counters/symbol_error", fs::perms::none);
    std::vector<stream::Event> events;
    FabricOptions options = root.fabric_options();
    options.on_event = [&](const stream::Event& event) { events.push_back(event); };
    const auto fabric = make_fabric_collector(options);
    for (int second = 1; second < 4; ++second) {
        stream::Batch rows = sampled(*fabric, at_second(second));
        EXPECT_TRUE(is_null(rows, 0, "symbol_errors_total"));
        EXPECT_EQ(integer(rows, 0, "link_downed_total"), 3);
    }
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].code, EACCES);
    EXPECT_EQ(events[0].device, "mlx5_0");
}

TEST(observe_fabric, the_table_is_as_readers_expect_it) {
    std::vector<std::string_view> names;
    for (const schema::Column& column : schema::kFabric.columns) {
        EXPECT_EQ(std::ranges::find(names, column.name), names.end()) << column.name << " twice";
        names.push_back(column.name);
        EXPECT_FALSE(column.doc.empty()) << column.name;
        EXPECT_EQ(column.doc.find('\n'), std::string_view::npos) << column.name;
        EXPECT_EQ(column.name.find("_bytes_") != std::string_view::npos, column.unit == "B") << column.name;
    }
    EXPECT_EQ(names[0], "time");
    EXPECT_EQ(names[1], "node");
}

TEST(observe_fabric, ports_of_this_machine_are_sampled) {
    const auto fabric = make_fabric_collector({});
    for (int second = 1; second < 3; ++second) {
        stream::Batch rows = sampled(*fabric, at_second(second));
        EXPECT_EQ(fabric->is_expected(), !rows.empty());
    }
}

}  // namespace
}  // namespace belay::observe::fabric

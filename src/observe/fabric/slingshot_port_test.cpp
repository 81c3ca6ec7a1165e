#include "observe/fabric/slingshot_port.h"

#include "observe/fabric/slingshot_counters.h"
#include "observe/fabric/testing.h"

namespace belay::observe::fabric {
namespace {

using namespace testing;

std::unique_ptr<Port> open_cxi(const FabricRoot& root) {
    const core::Result<std::vector<PortPlace>> places = list_slingshot_ports(root.sys());
    EXPECT_EQ(places->size(), 1u);
    return open_slingshot_port(places->at(0));
}

stream::Batch row_of_cxi(Port& port) {
    stream::Batch rows(schema::kFabric);
    EXPECT_TRUE(port.read());
    port.add_row({at_second(1), "n1"}, rows);
    return rows;
}

TEST(observe_fabric, a_slingshot_adapter_tells_traffic_and_link) {
    FabricRoot root;
    root.add_cxi("cxi0");
    fs::create_symlink("../../../bus/pci/drivers/cxi_ss1", root.sys() / "class/cxi/cxi0/device/driver");
    root.set_telemetry("cxi0", "hni_sts_rx_ok_octets", 9'000'000'001);
    root.set_telemetry("cxi0", "hni_rx_ok_8192_to_max", 1'000'001);
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    stream::Batch rows = row_of_cxi(*port);
    EXPECT_EQ(text(rows, 0, "kind"), "slingshot");
    EXPECT_EQ(text(rows, 0, "device"), "cxi0");
    EXPECT_EQ(integer(rows, 0, "port"), 1);
    EXPECT_EQ(text(rows, 0, "driver"), "cxi_ss1");
    EXPECT_EQ(text(rows, 0, "state"), "up");
    EXPECT_EQ(integer(rows, 0, "link_up"), 1);
    EXPECT_EQ(integer(rows, 0, "link_bits_per_second"), 200'000'000'000);
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 9'000'000'001);
    EXPECT_EQ(integer(rows, 0, "receive_bytes_at_least_total"), 16483 + int64_t{1'000'000} * 8192);
    EXPECT_EQ(integer(rows, 0, "receive_packets_total"), 1'000'012);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 5);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_at_least_total"), 16483);
    EXPECT_EQ(integer(rows, 0, "transmit_packets_total"), 12);
    EXPECT_EQ(integer(rows, 0, "transmit_paused_cycles_total"), 17) << "the highest of eight";
    EXPECT_EQ(integer(rows, 0, "transmit_discards_total"), 8 * 10 + 28) << "the sum of eight";
    EXPECT_EQ(integer(rows, 0, "llr_transmit_replays_total"), 5);
    EXPECT_EQ(integer(rows, 0, "link_restarts_total"), 0);
    for (std::string_view absent :
         {"link_layer", "phys_state", "saturated", "link_restart_time", "symbol_errors_total",
          "pause_frames_received_total", "resource_nacks_total"})
        EXPECT_TRUE(is_null(rows, 0, absent)) << absent;
}

TEST(observe_fabric, every_slingshot_counter_has_its_files) {
    FabricRoot root;
    root.add_cxi("cxi0");
    for (const CounterSource& source : kSlingshotSources)
        for (size_t file = 0; file < file_count(source); ++file)
            root.set_telemetry("cxi0",
                               source.numbered > 0 ? fmt::format("{}{}", source.files[0], file)
                                                   : std::string(source.files[file]),
                               static_cast<int64_t>(source.column));
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    stream::Batch rows = row_of_cxi(*port);
    for (const CounterSource& source : kSlingshotSources) {
        const auto files = source.combine == Combine::kSum ? static_cast<int64_t>(file_count(source)) : 1;
        EXPECT_EQ(rows.values(source.column).integers[0], files * static_cast<int64_t>(source.column))
            << schema::kFabric.columns[source.column].name;
    }
}

TEST(observe_fabric, restarts_of_a_slingshot_link_are_counted) {
    FabricRoot root;
    root.add_cxi("cxi0");
    root.write("sys/class/cxi/cxi0/device/link_restarts/time_0", "1743569000\n");
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    EXPECT_EQ(integer(row_of_cxi(*port), 0, "link_restarts_total"), 0);
    EXPECT_EQ(integer(row_of_cxi(*port), 0, "link_restart_time"), 1743569000'000'000'000);
    root.write("sys/class/cxi/cxi0/device/link_restarts/time_1", "1743569213\n");
    root.write("sys/class/cxi/cxi0/device/link_restarts/time_2", "1743569214\n");
    root.write("sys/class/cxi/cxi0/device/link_restarts/time_3", "-5\n");
    port->look();
    EXPECT_EQ(integer(row_of_cxi(*port), 0, "link_restarts_total"), 2);
    EXPECT_EQ(integer(row_of_cxi(*port), 0, "link_restart_time"), 1743569214'000'000'000);
}

TEST(observe_fabric, a_slingshot_link_that_is_down_has_a_row) {
    FabricRoot root;
    root.add_cxi("cxi0");
    root.write_files(FabricRoot::cxi_name("cxi0"), {{"properties/link", "0"}, {"properties/speed", "-1"}});
    root.write("sys/class/cxi/cxi0/device/port/link", "down");
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    stream::Batch rows = row_of_cxi(*port);
    EXPECT_EQ(integer(rows, 0, "link_up"), 0);
    EXPECT_EQ(text(rows, 0, "state"), "down");
    EXPECT_TRUE(is_null(rows, 0, "link_bits_per_second"));
    EXPECT_EQ(integer(rows, 0, "receive_packets_total"), 12);
}

TEST(observe_fabric, cassini_2_does_not_name_its_state) {
    FabricRoot root;
    root.add_cxi("cxi0");
    root.write("sys/class/cxi/cxi0/device/port/link", "NOT IMPLEMENTED!!\n");
    root.write("sys/class/cxi/cxi0/device/properties/speed", "0\n");
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    stream::Batch rows = row_of_cxi(*port);
    EXPECT_TRUE(is_null(rows, 0, "state"));
    EXPECT_EQ(integer(rows, 0, "link_up"), 1);
    EXPECT_TRUE(is_null(rows, 0, "link_bits_per_second"));
}

TEST(observe_fabric, a_virtual_function_has_no_list_of_restarts) {
    FabricRoot root;
    root.write_files(FabricRoot::cxi_name("cxi0"), {{"properties/link", "1"}});
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    stream::Batch rows = row_of_cxi(*port);
    EXPECT_EQ(integer(rows, 0, "link_up"), 1);
    for (std::string_view absent :
         {"link_restarts_total", "receive_packets_total", "receive_bytes_at_least_total"})
        EXPECT_TRUE(is_null(rows, 0, absent)) << absent;
}

TEST(observe_fabric, hostile_telemetry_is_null) {
    FabricRoot root;
    root.add_cxi("cxi0");
    const std::unique_ptr<Port> port = open_cxi(root);
    port->look();
    for (std::string_view wrong :
         {"", "-1@1.5\n", "1@\n", "@1.5\n", "x@1.5\n", "1@1.5", "99999999999999999999@1.5\n"}) {
        root.write("sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets", wrong);
        root.write("sys/class/cxi/cxi0/device/telemetry/hni_rx_ok_64", wrong);
        stream::Batch rows = row_of_cxi(*port);
        EXPECT_TRUE(is_null(rows, 0, "receive_bytes_total")) << wrong;
        EXPECT_TRUE(is_null(rows, 0, "receive_bytes_at_least_total")) << wrong;
        EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 5);
    }
    root.set_telemetry("cxi0", "hni_sts_rx_ok_octets", (int64_t{1} << 56) - 1);
    EXPECT_EQ(text(row_of_cxi(*port), 0, "saturated"), "receive_bytes_total");
}

}  // namespace
}  // namespace belay::observe::fabric

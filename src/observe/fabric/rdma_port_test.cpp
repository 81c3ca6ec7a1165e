#include "observe/fabric/rdma_port.h"

#include "observe/fabric/rdma_counters.h"
#include "observe/fabric/testing.h"

namespace belay::observe::fabric {
namespace {

using namespace testing;

// The row of a port that is there.
stream::Batch row_of(const FabricRoot& root, std::string_view device, int number = 1) {
    stream::Batch rows(schema::kFabric);
    const core::Result<std::vector<PortPlace>> places = list_rdma_ports(root.sys());
    EXPECT_TRUE(places.has_value());
    for (const PortPlace& place : *places) {
        if (place.device != device || place.number != number) continue;
        const std::unique_ptr<Port> port = open_rdma_port(place);
        port->look();
        EXPECT_TRUE(port->read());
        port->add_row({at_second(1), "n1"}, rows);
    }
    EXPECT_EQ(rows.rows(), 1u) << device;
    return rows;
}

TEST(observe_fabric, mlx5_has_every_counter_of_infiniband) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    stream::Batch rows = row_of(root, "mlx5_0");
    EXPECT_EQ(text(rows, 0, "kind"), "rdma");
    EXPECT_EQ(integer(rows, 0, "port"), 1);
    EXPECT_EQ(text(rows, 0, "link_layer"), "InfiniBand");
    EXPECT_EQ(text(rows, 0, "state"), "ACTIVE");
    EXPECT_EQ(text(rows, 0, "phys_state"), "LinkUp");
    EXPECT_EQ(integer(rows, 0, "link_up"), 1);
    EXPECT_EQ(integer(rows, 0, "link_bits_per_second"), 200'000'000'000);
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 4000000000012);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 8000000000020);
    constexpr std::pair<std::string_view, int64_t> kCounts[] = {{"receive_packets_total", 31},
                                                                {"transmit_packets_total", 32},
                                                                {"transmit_wait_ticks_total", 33},
                                                                {"symbol_errors_total", 1},
                                                                {"link_error_recoveries_total", 2},
                                                                {"link_downed_total", 3},
                                                                {"receive_errors_total", 4},
                                                                {"receive_remote_physical_errors_total", 5},
                                                                {"receive_switch_relay_errors_total", 6},
                                                                {"transmit_discards_total", 7},
                                                                {"transmit_constraint_errors_total", 8},
                                                                {"receive_constraint_errors_total", 9},
                                                                {"local_link_integrity_errors_total", 10},
                                                                {"excessive_buffer_overruns_total", 11},
                                                                {"vl15_dropped_total", 12},
                                                                {"out_of_sequence_total", 14},
                                                                {"packet_sequence_errors_total", 15},
                                                                {"rnr_nak_retries_total", 16},
                                                                {"local_ack_timeouts_total", 17},
                                                                {"cnp_sent_total", 18},
                                                                {"cnp_handled_total", 19},
                                                                {"icrc_errors_total", 20}};
    for (const auto& [name, count] : kCounts) EXPECT_EQ(integer(rows, 0, name), count) << name;
    for (std::string_view absent :
         {"receive_dropped_total", "retransmitted_packets_total", "saturated", "driver",
          "receive_bytes_at_least_total", "link_restarts_total", "retry_nacks_total"})
        EXPECT_TRUE(is_null(rows, 0, absent)) << absent;
}

TEST(observe_fabric, the_driver_is_where_the_device_links_to) {
    FabricRoot root;
    root.add_mlx5("mlx5_0");
    fs::create_directories(root.sys() / "class/infiniband/mlx5_0/device");
    fs::create_symlink("../../../bus/pci/drivers/mlx5_core",
                       root.sys() / "class/infiniband/mlx5_0/device/driver");
    EXPECT_EQ(text(row_of(root, "mlx5_0"), 0, "driver"), "mlx5_core");
}

// Linux 6.6: irdma has no PMA, and names its counters as iWARP's MIB does.
TEST(observe_fabric, irdma_counts_ipv4_and_ipv6_apart) {
    FabricRoot root;
    root.write_files(FabricRoot::port_name("irdma0"), {{"state", "4: ACTIVE"},
                                                       {"link_layer", "Ethernet"},
                                                       {"rate", "100 Gb/sec (4X EDR)"},
                                                       {"counters/port_rcv_data", "N/A (no PMA)"},
                                                       {"counters/symbol_error", "N/A (no PMA)"},
                                                       {"hw_counters/ip4InOctets", "1000"},
                                                       {"hw_counters/ip6InOctets", "20"},
                                                       {"hw_counters/ip4OutOctets", "3000"},
                                                       {"hw_counters/ip6OutOctets", "40"},
                                                       {"hw_counters/ip4InPkts", "5"},
                                                       {"hw_counters/ip6InPkts", "6"},
                                                       {"hw_counters/ip4InDiscards", "7"},
                                                       {"hw_counters/ip6InDiscards", "8"},
                                                       {"hw_counters/cnpSent", "9"},
                                                       {"hw_counters/cnpHandled", "10"},
                                                       {"hw_counters/cnpIgnored", "11"},
                                                       {"hw_counters/RxECNMrkd", "12"},
                                                       {"hw_counters/iwInRdmaWrites", "13"},
                                                       {"hw_counters/tcpRetransSegs", "14"},
                                                       {"hw_counters/RNR received", "15"}});
    stream::Batch rows = row_of(root, "irdma0");
    EXPECT_EQ(text(rows, 0, "link_layer"), "Ethernet");
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 1020);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 3040);
    EXPECT_EQ(integer(rows, 0, "receive_packets_total"), 11);
    EXPECT_EQ(integer(rows, 0, "receive_dropped_total"), 15);
    EXPECT_EQ(integer(rows, 0, "cnp_sent_total"), 9);
    EXPECT_EQ(integer(rows, 0, "cnp_handled_total"), 10);
    EXPECT_EQ(integer(rows, 0, "cnp_ignored_total"), 11);
    EXPECT_EQ(integer(rows, 0, "ecn_marked_packets_total"), 12);
    EXPECT_EQ(integer(rows, 0, "receive_write_requests_total"), 13);
    EXPECT_EQ(integer(rows, 0, "retransmitted_packets_total"), 14);
    EXPECT_EQ(integer(rows, 0, "rnr_nak_retries_total"), 15);
    EXPECT_TRUE(is_null(rows, 0, "symbol_errors_total"));
    EXPECT_TRUE(is_null(rows, 0, "transmit_packets_total"));
}

TEST(observe_fabric, bytes_of_efa_are_no_words) {
    FabricRoot root;
    root.write_files(FabricRoot::port_name("rdmap0s31"), {{"state", "4: ACTIVE"},
                                                          {"link_layer", "Unspecified"},
                                                          {"hw_counters/rx_bytes", "101"},
                                                          {"hw_counters/tx_bytes", "102"},
                                                          {"hw_counters/rx_pkts", "3"},
                                                          {"hw_counters/tx_pkts", "4"},
                                                          {"hw_counters/rx_drops", "5"},
                                                          {"hw_counters/retrans_pkts", "6"},
                                                          {"hw_counters/retrans_bytes", "7"},
                                                          {"hw_counters/retrans_timeout_events", "8"},
                                                          {"hw_counters/unresponsive_remote_events", "9"},
                                                          {"hw_counters/impaired_remote_conn_events", "10"}});
    stream::Batch rows = row_of(root, "rdmap0s31");
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 101);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 102);
    EXPECT_EQ(integer(rows, 0, "receive_packets_total"), 3);
    EXPECT_EQ(integer(rows, 0, "transmit_packets_total"), 4);
    EXPECT_EQ(integer(rows, 0, "receive_dropped_total"), 5);
    EXPECT_EQ(integer(rows, 0, "retransmitted_packets_total"), 6);
    EXPECT_EQ(integer(rows, 0, "retransmitted_bytes_total"), 7);
    EXPECT_EQ(integer(rows, 0, "retransmit_timeouts_total"), 8);
    EXPECT_EQ(integer(rows, 0, "unresponsive_remotes_total"), 9);
    EXPECT_EQ(integer(rows, 0, "impaired_connections_total"), 10);
    EXPECT_TRUE(is_null(rows, 0, "link_bits_per_second"));
}

TEST(observe_fabric, bnxt_re_has_its_errors_and_discards) {
    FabricRoot root;
    root.write_files(FabricRoot::port_name("bnxt_re0"), {{"state", "4: ACTIVE"},
                                                         {"hw_counters/rx_roce_errors", "65535"},
                                                         {"hw_counters/rx_roce_discards", "2"},
                                                         {"hw_counters/tx_roce_discards", "3"},
                                                         {"hw_counters/max_retry_exceeded", "4"},
                                                         {"hw_counters/np_ecn_marked_roce_packets", "5"}});
    stream::Batch rows = row_of(root, "bnxt_re0");
    EXPECT_EQ(integer(rows, 0, "receive_errors_total"), 65535);
    EXPECT_TRUE(is_null(rows, 0, "saturated")) << "this one is of 64 bits";
    EXPECT_EQ(integer(rows, 0, "receive_dropped_total"), 2);
    EXPECT_EQ(integer(rows, 0, "transmit_discards_total"), 3);
    EXPECT_EQ(integer(rows, 0, "transport_retries_exceeded_total"), 4);
    EXPECT_EQ(integer(rows, 0, "ecn_marked_packets_total"), 5);
}

// MLNX_OFED before 4.0: 32 bits in counters/, 64 in counters_ext/.
TEST(observe_fabric, old_drivers_have_64_bits_elsewhere) {
    FabricRoot root;
    root.write_files(FabricRoot::port_name("mlx4_0", 2), {{"state", "4: ACTIVE"},
                                                          {"rate", "56 Gb/sec (4X FDR)"},
                                                          {"counters/port_rcv_data", "4294967295"},
                                                          {"counters_ext/port_rcv_data_64", "5000000000"},
                                                          {"counters/port_xmit_data", "4294967295"},
                                                          {"counters/port_xmit_packets", "4294967295"},
                                                          {"counters/port_xmit_wait", "4294967295"}});
    stream::Batch rows = row_of(root, "mlx4_0", 2);
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 20'000'000'000);
    EXPECT_EQ(integer(rows, 0, "transmit_bytes_total"), 17'179'869'180);
    EXPECT_EQ(text(rows, 0, "saturated"),
              "transmit_bytes_total,transmit_packets_total,transmit_wait_ticks_total");
    EXPECT_EQ(integer(rows, 0, "link_bits_per_second"), 56'000'000'000);
}

TEST(observe_fabric, a_port_that_is_down_has_a_row) {
    FabricRoot root;
    root.write_files(FabricRoot::port_name("mlx5_1"), {{"state", "1: DOWN"},
                                                       {"phys_state", "3: Disabled"},
                                                       {"link_layer", "InfiniBand"},
                                                       {"rate", "10 Gb/sec (4X SDR)"},
                                                       {"counters/port_rcv_data", "0"}});
    stream::Batch rows = row_of(root, "mlx5_1");
    EXPECT_EQ(text(rows, 0, "state"), "DOWN");
    EXPECT_EQ(text(rows, 0, "phys_state"), "Disabled");
    EXPECT_EQ(integer(rows, 0, "link_up"), 0);
    EXPECT_EQ(integer(rows, 0, "receive_bytes_total"), 0);
}

TEST(observe_fabric, a_port_that_says_nothing_has_a_row_of_nulls) {
    FabricRoot root;
    root.write(FabricRoot::port_name("odd") + "/state", "ACTIVE");
    stream::Batch rows = row_of(root, "odd");
    for (size_t column = 5; column < schema::kFabric.columns.size(); ++column)
        EXPECT_EQ(rows.values(column).present[0], 0) << schema::kFabric.columns[column].name;
}

TEST(observe_fabric, ports_are_listed_by_device_and_number) {
    FabricRoot root;
    EXPECT_TRUE(list_rdma_ports(root.sys())->empty()) << "without the class";
    for (std::string_view name : {"b/ports/2/x", "b/ports/10/x", "b/ports/1/x", "a/ports/1/x", "c/ports/0/x",
                                  "c/ports/256/x", "c/ports/-1/x", "c/ports/one/x", "d/x"})
        root.write(fs::path("sys/class/infiniband") / name, "");
    std::string listed;
    const auto ports = list_rdma_ports(root.sys());
    ASSERT_TRUE(ports);
    for (const PortPlace& place : *ports) listed += fmt::format("{}{} ", place.device, place.number);
    EXPECT_EQ(listed, "a1 b1 b2 b10 ");
}

TEST(observe_fabric, a_port_that_went_is_not_opened) {
    FabricRoot root;
    EXPECT_EQ(open_rdma_port({"mlx5_0", 1, root.sys() / "class/infiniband/mlx5_0/ports/1"}), nullptr);
}

}  // namespace
}  // namespace belay::observe::fabric

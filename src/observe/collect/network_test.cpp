#include "observe/collect/network.h"

#include "observe/collect/testing.h"

namespace belay::observe::collect {
namespace {

using namespace testing;

TEST(observe_collect, network_has_a_row_per_interface) {
    FakeRoot root;
    root.load("aarch64_no_psi");
    std::unique_ptr<Collector> network = make_network_collector(root.options());
    stream::Batch rows = sampled(*network, at_second(1));
    ASSERT_EQ(rows.rows(), 4u);
    size_t hsn0 = row_where(rows, "device", "hsn0").value();
    EXPECT_EQ(integer(rows, hsn0, "receive_bytes_total"), 98765432109876);
    EXPECT_EQ(integer(rows, hsn0, "receive_packets_total"), 54321098765);
    EXPECT_EQ(integer(rows, hsn0, "receive_errors_total"), 1);
    EXPECT_EQ(integer(rows, hsn0, "receive_dropped_total"), 2);
    EXPECT_EQ(integer(rows, hsn0, "transmit_bytes_total"), 87654321098765);
    EXPECT_EQ(integer(rows, hsn0, "transmit_packets_total"), 43210987654);
    EXPECT_EQ(integer(rows, hsn0, "transmit_errors_total"), 7);
    EXPECT_EQ(integer(rows, hsn0, "transmit_dropped_total"), 8);
    EXPECT_EQ(integer(rows, hsn0, "carrier"), 1);
    EXPECT_EQ(integer(rows, hsn0, "carrier_changes_total"), 3);
    EXPECT_EQ(integer(rows, hsn0, "link_bits_per_second"), 200'000'000'000);
    size_t hsn1 = row_where(rows, "device", "hsn1").value();  // speed -1
    EXPECT_EQ(integer(rows, hsn1, "carrier"), 0);
    EXPECT_TRUE(is_null(rows, hsn1, "link_bits_per_second"));
    size_t lo = row_where(rows, "device", "lo").value();  // has no speed
    EXPECT_EQ(integer(rows, lo, "receive_bytes_total"), 123456);
    EXPECT_TRUE(is_null(rows, lo, "link_bits_per_second"));
    size_t nmn0 = row_where(rows, "device", "nmn0").value();  // not in /sys at all
    EXPECT_TRUE(is_null(rows, nmn0, "carrier"));
    EXPECT_TRUE(is_null(rows, nmn0, "carrier_changes_total"));
}

TEST(observe_collect, link_state_is_looked_at_now_and_then) {
    FakeRoot root;
    root.load("aarch64_no_psi");
    CollectOptions options = root.options();
    options.slow_every = 3;
    std::unique_ptr<Collector> network = make_network_collector(options);
    auto carrier = [&](int second) {
        stream::Batch rows = sampled(*network, at_second(second));
        return integer(rows, row_where(rows, "device", "hsn0").value(), "carrier");
    };
    EXPECT_EQ(carrier(1), 1);
    root.write("sys/class/net/hsn0/carrier", "0\n");
    EXPECT_EQ(carrier(2), 1);
    EXPECT_EQ(carrier(3), 1);
    EXPECT_EQ(carrier(4), 0);
}

TEST(observe_collect, a_new_interface_is_looked_at_when_it_comes) {
    FakeRoot root;
    root.load("x86_64_psi/tick1");
    std::unique_ptr<Collector> network = make_network_collector(root.options());
    EXPECT_FALSE(row_where(sampled(*network, at_second(1)), "device", "hsn0").has_value());
    root.load("aarch64_no_psi");
    stream::Batch rows = sampled(*network, at_second(2));
    EXPECT_EQ(integer(rows, row_where(rows, "device", "hsn0").value(), "carrier"), 1);
    EXPECT_FALSE(row_where(rows, "device", "eth0").has_value());
}

TEST(observe_collect, an_interface_that_stands_on_others_says_so) {
    FakeRoot root;
    std::string text = "Inter-|   Receive                 |  Transmit\n face |bytes  |bytes\n";
    for (std::string_view name : {"eth0", "eth1", "bond0", "br0", "veth1", "eth0.7", "old"})
        text += fmt::format("{}: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n", name);
    root.write("proc/net/dev", text);
    for (std::string_view name : {"eth0", "eth1", "bond0", "br0", "veth1", "eth0.7"})
        root.write(fmt::format("sys/class/net/{}/carrier", name), "1\n");
    for (std::string_view entry :
         {"eth0/device/x", "eth0/upper_bond0/x", "eth1/device/x", "bond0/lower_eth0/x", "br0/lower_bond0/x",
          "br0/lower_veth1/x", "veth1/brport/x", "eth0.7/lower_eth0/x"})
        root.write(fmt::format("sys/class/net/{}", entry), "");
    std::unique_ptr<Collector> network = make_network_collector(root.options());
    stream::Batch rows = sampled(*network, at_second(1));
    auto elsewhere = [&](std::string_view name) {
        return integer(rows, row_where(rows, "device", name).value(), "counted_elsewhere");
    };
    for (std::string_view own : {"eth0", "eth1"}) EXPECT_EQ(elsewhere(own), 0) << own;
    for (std::string_view other : {"bond0", "br0", "veth1", "eth0.7"})
        EXPECT_EQ(elsewhere(other), 1) << other;
    EXPECT_TRUE(is_null(rows, row_where(rows, "device", "old").value(), "counted_elsewhere"))
        << "not in /sys";
}

TEST(observe_collect, network_of_this_machine_has_the_loopback) {
    std::unique_ptr<Collector> network = make_network_collector({});
    stream::Batch rows = sampled(*network, at_second(1));
    ASSERT_TRUE(row_where(rows, "device", "lo").has_value());
    EXPECT_FALSE(is_null(rows, *row_where(rows, "device", "lo"), "transmit_bytes_total"));
}

}  // namespace
}  // namespace belay::observe::collect

// For the tests of this folder: adapters in a temporary /sys, as the drivers show them.
#pragma once

#include "observe/collect/testing.h"
#include "observe/fabric/fabric.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::observe::fabric::testing {

using namespace collect::testing;

using Files = std::vector<std::pair<std::string_view, std::string_view>>;  // name, first line

class FabricRoot : public FakeRoot {
  public:
    fs::path run() const { return sys().parent_path() / "run"; }
    static std::string port_name(std::string_view device, int port = 1) {
        return fmt::format("sys/class/infiniband/{}/ports/{}", device, port);
    }
    static std::string cxi_name(std::string_view device) {
        return fmt::format("sys/class/cxi/{}/device", device);
    }

    void write_files(const fs::path& directory, const Files& files) const {
        for (const auto& [name, line] : files) write(directory / name, std::string(line) + "\n");
    }
    // As mlx5 shows a port of InfiniBand: Linux 6.
    void add_mlx5(std::string_view device, int port = 1) const {
        write_files(port_name(device, port), {{"state", "4: ACTIVE"},
                                              {"phys_state", "5: LinkUp"},
                                              {"link_layer", "InfiniBand"},
                                              {"rate", "200 Gb/sec (4X HDR)"},
                                              {"counters/port_rcv_data", "1000000000003"},
                                              {"counters/port_xmit_data", "2000000000005"},
                                              {"counters/port_rcv_packets", "31"},
                                              {"counters/port_xmit_packets", "32"},
                                              {"counters/port_xmit_wait", "33"},
                                              {"counters/symbol_error", "1"},
                                              {"counters/link_error_recovery", "2"},
                                              {"counters/link_downed", "3"},
                                              {"counters/port_rcv_errors", "4"},
                                              {"counters/port_rcv_remote_physical_errors", "5"},
                                              {"counters/port_rcv_switch_relay_errors", "6"},
                                              {"counters/port_xmit_discards", "7"},
                                              {"counters/port_xmit_constraint_errors", "8"},
                                              {"counters/port_rcv_constraint_errors", "9"},
                                              {"counters/local_link_integrity_errors", "10"},
                                              {"counters/excessive_buffer_overrun_errors", "11"},
                                              {"counters/VL15_dropped", "12"},
                                              {"counters/unicast_rcv_packets", "13"},
                                              {"hw_counters/lifespan", "10"},
                                              {"hw_counters/out_of_sequence", "14"},
                                              {"hw_counters/packet_seq_err", "15"},
                                              {"hw_counters/rnr_nak_retry_err", "16"},
                                              {"hw_counters/local_ack_timeout_err", "17"},
                                              {"hw_counters/np_cnp_sent", "18"},
                                              {"hw_counters/rp_cnp_handled", "19"},
                                              {"hw_counters/rx_icrc_encapsulated", "20"}});
    }
    // As cxi_ss1 shows an adapter with its link up: SHS 12.
    void add_cxi(std::string_view device) const {
        const fs::path directory = cxi_name(device);
        write_files(directory, {{"properties/link", "1"}, {"properties/speed", "200000"}});
        write(directory / "port/link", "up");
        for (int i = 0; i < 10; ++i) write(directory / fmt::format("link_restarts/time_{}", i), "0\n");
        for (std::string_view prefix : {"hni_rx_ok_", "hni_tx_ok_"})
            for (std::string_view bin :
                 {"27", "35", "36_to_63", "64", "65_to_127", "128_to_255", "256_to_511", "512_to_1023",
                  "1024_to_2047", "2048_to_4095", "4096_to_8191", "8192_to_max"})
                set_telemetry(device, fmt::format("{}{}", prefix, bin), 1);
        for (std::string_view name :
             {"hni_sts_rx_ok_octets", "hni_sts_tx_ok_octets", "hni_rx_paused_std", "hni_llr_tx_replay_event"})
            set_telemetry(device, name, 5);
        for (int i = 0; i < 8; ++i) {
            set_telemetry(device, fmt::format("hni_tx_paused_{}", i), 10 + i);
            set_telemetry(device, fmt::format("hni_discard_cntr_{}", i), 10 + i);
        }
    }
    void set_telemetry(std::string_view device, std::string_view name, int64_t count) const {
        write(fs::path(cxi_name(device)) / "telemetry" / name,
              fmt::format("{}@1743569213.088677609\n", count));
    }

    FabricOptions fabric_options() const { return {.sys = sys(), .run = run(), .slow_every = 1}; }
};

}  // namespace belay::observe::fabric::testing

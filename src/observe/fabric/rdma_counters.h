// Where the counters of a port below /sys/class/infiniband/DEVICE/ports/PORT stand.
//
// counters/ has what InfiniBand's PortCounters have (drivers/infiniband/core/sysfs.c of Linux, from which the
// widths are). A counter of n bits stays at 2^n - 1. Data are counted in words of 4 bytes; the kernel reads
// 64 bits of them where the adapter has PortCountersExtended, else 32. counters_ext/ is of MLNX_OFED before
// 4.0. RoCE drivers without that (irdma, efa) say "N/A" or nothing there and count bytes in hw_counters/.
//
// hw_counters/ is a driver's own. The names of mlx5 came first, and bnxt_re took them over; the others have
// theirs:
//   irdma    cnpHandled …, bytes and packets of IPv4 and IPv6 apart, earlier with a prefix iw or tcp
//   efa      rx_bytes, retrans_pkts …
//   mana     requester_timeout, responder_oos …
// There too stands lifespan, which counts nothing: the kernel asks mlx5 for all counters at once, and again
// after that many milliseconds.
#pragma once

#include "observe/fabric/counter_set.h"

namespace belay::observe::fabric {

consteval CounterSource pma(std::string_view column, std::string_view file, uint8_t bits) {
    return {.column = schema::column(schema::kFabric, column),
            .directory = "counters",
            .files = {file},
            .bits = bits};
}
consteval CounterSource hardware(std::string_view column, std::string_view file,
                                 std::string_view second = {}) {
    return {.column = schema::column(schema::kFabric, column),
            .directory = "hw_counters",
            .files = {file, second}};
}
consteval CounterSource every_tick(CounterSource source, int64_t factor = 1) {
    source.factor = factor;
    source.pace = Pace::kEveryTick;
    return source;
}
consteval CounterSource of_mlnx_ofed_3(CounterSource source) {
    source.directory = "counters_ext";
    source.bits = 0;
    return source;
}

inline constexpr int64_t kWordBytes = 4;

inline constexpr CounterSource kRdmaSources[] = {
    every_tick(of_mlnx_ofed_3(pma("receive_bytes_total", "port_rcv_data_64", 0)), kWordBytes),
    every_tick(pma("receive_bytes_total", "port_rcv_data", 32), kWordBytes),
    every_tick(hardware("receive_bytes_total", "rx_bytes")),
    every_tick(hardware("receive_bytes_total", "ip4InOctets", "ip6InOctets")),
    every_tick(of_mlnx_ofed_3(pma("transmit_bytes_total", "port_xmit_data_64", 0)), kWordBytes),
    every_tick(pma("transmit_bytes_total", "port_xmit_data", 32), kWordBytes),
    every_tick(hardware("transmit_bytes_total", "tx_bytes")),
    every_tick(hardware("transmit_bytes_total", "ip4OutOctets", "ip6OutOctets")),
    every_tick(of_mlnx_ofed_3(pma("receive_packets_total", "port_rcv_packets_64", 0))),
    every_tick(pma("receive_packets_total", "port_rcv_packets", 32)),
    every_tick(hardware("receive_packets_total", "rx_pkts")),
    every_tick(hardware("receive_packets_total", "ip4InPkts", "ip6InPkts")),
    every_tick(of_mlnx_ofed_3(pma("transmit_packets_total", "port_xmit_packets_64", 0))),
    every_tick(pma("transmit_packets_total", "port_xmit_packets", 32)),
    every_tick(hardware("transmit_packets_total", "tx_pkts")),
    every_tick(hardware("transmit_packets_total", "ip4OutPkts", "ip6OutPkts")),
    every_tick(pma("transmit_wait_ticks_total", "port_xmit_wait", 32)),

    pma("receive_errors_total", "port_rcv_errors", 16),
    hardware("receive_errors_total", "rx_roce_errors"),
    hardware("receive_dropped_total", "rx_drops"),
    hardware("receive_dropped_total", "rx_roce_discards"),
    hardware("receive_dropped_total", "ip4InDiscards", "ip6InDiscards"),
    pma("transmit_discards_total", "port_xmit_discards", 16),
    hardware("transmit_discards_total", "tx_roce_discards"),

    pma("symbol_errors_total", "symbol_error", 16),
    pma("link_error_recoveries_total", "link_error_recovery", 8),
    pma("link_downed_total", "link_downed", 8),
    pma("receive_remote_physical_errors_total", "port_rcv_remote_physical_errors", 16),
    pma("receive_switch_relay_errors_total", "port_rcv_switch_relay_errors", 16),
    pma("transmit_constraint_errors_total", "port_xmit_constraint_errors", 8),
    pma("receive_constraint_errors_total", "port_rcv_constraint_errors", 8),
    pma("local_link_integrity_errors_total", "local_link_integrity_errors", 4),
    pma("excessive_buffer_overruns_total", "excessive_buffer_overrun_errors", 4),
    pma("vl15_dropped_total", "VL15_dropped", 16),

    hardware("out_of_buffer_total", "out_of_buffer"),
    hardware("out_of_sequence_total", "out_of_sequence"),
    hardware("out_of_sequence_total", "responder_oos"),
    hardware("duplicate_requests_total", "duplicate_request"),
    hardware("duplicate_requests_total", "responder_dup_request"),
    hardware("rnr_nak_retries_total", "rnr_nak_retry_err"),
    hardware("rnr_nak_retries_total", "requester_rnr_nak"),
    hardware("rnr_nak_retries_total", "RNR received"),  // irdma of the third generation
    hardware("packet_sequence_errors_total", "packet_seq_err"),
    hardware("packet_sequence_errors_total", "requester_oos_nak"),
    hardware("packet_sequence_errors_total", "Nak Sequence Error"),
    hardware("implied_nak_sequence_errors_total", "implied_nak_seq_err"),
    hardware("implied_nak_sequence_errors_total", "requester_implicit_nak"),
    hardware("local_ack_timeouts_total", "local_ack_timeout_err"),
    hardware("local_ack_timeouts_total", "requester_timeout"),
    hardware("transport_retries_exceeded_total", "req_transport_retries_exceeded"),
    hardware("transport_retries_exceeded_total", "max_retry_exceeded"),
    hardware("rnr_retries_exceeded_total", "req_rnr_retries_exceeded"),
    hardware("response_local_length_errors_total", "resp_local_length_error"),
    hardware("response_cqe_errors_total", "resp_cqe_error"),
    hardware("request_cqe_errors_total", "req_cqe_error"),
    hardware("response_cqe_flush_errors_total", "resp_cqe_flush_error"),
    hardware("request_cqe_flush_errors_total", "req_cqe_flush_error"),
    hardware("request_remote_invalid_requests_total", "req_remote_invalid_request"),
    hardware("request_remote_access_errors_total", "req_remote_access_errors"),
    hardware("response_remote_access_errors_total", "resp_remote_access_errors"),
    hardware("adaptive_retransmits_total", "roce_adp_retrans"),
    hardware("adaptive_retransmit_timeouts_total", "roce_adp_retrans_to"),
    hardware("slow_restarts_total", "roce_slow_restart"),
    hardware("slow_restart_cnps_total", "roce_slow_restart_cnps"),
    hardware("slow_restart_transitions_total", "roce_slow_restart_trans"),
    hardware("cnp_sent_total", "np_cnp_sent"),
    hardware("cnp_sent_total", "cnpSent"),
    hardware("cnp_handled_total", "rp_cnp_handled"),
    hardware("cnp_handled_total", "cnpHandled"),
    hardware("cnp_ignored_total", "rp_cnp_ignored"),
    hardware("cnp_ignored_total", "cnpIgnored"),
    hardware("ecn_marked_packets_total", "np_ecn_marked_roce_packets"),
    hardware("ecn_marked_packets_total", "RxECNMrkd"),
    hardware("icrc_errors_total", "rx_icrc_encapsulated"),
    hardware("receive_write_requests_total", "rx_write_requests"),
    hardware("receive_write_requests_total", "InRdmaWrites"),
    hardware("receive_write_requests_total", "iwInRdmaWrites"),
    hardware("receive_read_requests_total", "rx_read_requests"),
    hardware("receive_read_requests_total", "InRdmaReads"),
    hardware("receive_read_requests_total", "iwInRdmaReads"),
    hardware("receive_atomic_requests_total", "rx_atomic_requests"),
    hardware("receive_atomic_requests_total", "Rx atomics"),
    hardware("retransmitted_packets_total", "retrans_pkts"),
    hardware("retransmitted_packets_total", "RetransSegs"),
    hardware("retransmitted_packets_total", "tcpRetransSegs"),
    hardware("retransmitted_bytes_total", "retrans_bytes"),
    hardware("retransmit_timeouts_total", "retrans_timeout_events"),
    hardware("unresponsive_remotes_total", "unresponsive_remote_events"),
    hardware("impaired_connections_total", "impaired_remote_conn_events"),
};
static_assert(are_in_order(kRdmaSources));

}  // namespace belay::observe::fabric

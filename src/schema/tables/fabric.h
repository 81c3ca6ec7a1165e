#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

// Which port a row is of. A port that is down has rows, too.
inline constexpr Column kFabricPort[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"kind", kText, "", "rdma (InfiniBand, RoCE, iWARP, EFA) or slingshot"},
    {"device", kText, "", "the adapter, such as mlx5_0 or cxi0"},
    {"port", kInteger, "", "number of the port; 1 for Slingshot, whose adapters have one"},
    {"driver", kText, "", "of the adapter; which counters there are depends on it"},
    {"link_layer", kText, "", "InfiniBand or Ethernet; null for Slingshot"},
    {"state", kText, "",
     "logical state: DOWN, INIT, ARMED, ACTIVE; of Slingshot up, down and others, null for Cassini 2"},
    {"phys_state", kText, "", "physical state: LinkUp, Polling, Disabled and so on; null for Slingshot"},
    {"saturated", kText, "",
     "counters of the row that stand at the highest value that they can have: lower bounds; null for none"},
    {"link_restart_time", kTimestamp, "", "when the driver last restarted the link by itself; Slingshot"},
};

consteval Quantity fabric_counter(std::string_view name, std::string_view doc, SeriesColumn series = {}) {
    return {name, kInteger, "", doc, series, {kCounter}};
}
consteval Quantity fabric_bytes(std::string_view name, std::string_view doc, SeriesColumn series = {}) {
    return {name, kInteger, "B", doc, series, {kCounter}};
}
consteval SeriesColumn fabric_increase(std::string_view name, std::string_view doc) {
    return {name, "", doc, Fold::kIncrease};
}

// What ports of both kinds have. A counter that went back began anew: its device was taken away and came
// back, or somebody reset it.
inline constexpr Quantity kFabricQuantities[] = {
    {"link_up", kBoolean, "", "whether the link carries traffic"},
    {"link_bits_per_second",
     kInteger,
     "bit/s",
     "speed of the link; where it is down, the driver's guess, or null",
     {"link_bits_per_second", "bit/s", "speed of the link", Fold::kHighest}},
    fabric_bytes(
        "receive_bytes_total",
        "bytes received; counted in 32 bits, stays at 17179869180; Slingshot: 56 bits, wraps or stays",
        {"received_bytes_per_second", "B/s", "received"}),
    fabric_bytes("transmit_bytes_total",
                 "bytes sent; counted in 32 bits, stays at 17179869180; Slingshot: 56 bits, wraps or stays",
                 {"sent_bytes_per_second", "B/s", "sent"}),
    fabric_bytes(
        "receive_bytes_at_least_total",
        "lower bound of the bytes received: packets by size, each as the smallest of its bin; Slingshot",
        {"received_at_least_bytes_per_second", "B/s", "received, at least"}),
    fabric_bytes("transmit_bytes_at_least_total",
                 "lower bound of the bytes sent: packets by size, each as the smallest of its bin; Slingshot",
                 {"sent_at_least_bytes_per_second", "B/s", "sent, at least"}),
    fabric_counter("receive_packets_total", "packets received; counted in 32 bits, stays at 4294967295"),
    fabric_counter("transmit_packets_total", "packets sent; counted in 32 bits, stays at 4294967295"),
    fabric_counter(
        "receive_errors_total",
        "packets received with an error; InfiniBand: 16 bits, stays at 65535; Slingshot: bad frames",
        fabric_increase("receive_errors_in_span", "packets received with an error in the span")),
    fabric_counter("receive_dropped_total",
                   "packets received and dropped for want of room; of drivers other than mlx5"),
    fabric_counter(
        "transmit_discards_total",
        "packets dropped unsent: port down, congested or too late; InfiniBand: 16 bits, stays at 65535",
        fabric_increase("transmit_discards_in_span", "packets dropped before they were sent")),
};

// Counters of every InfiniBand port (IBTA, PortCounters), which RoCE drivers have in part.
inline constexpr Quantity kFabricInfinibandQuantities[] = {
    fabric_counter(
        "transmit_wait_ticks_total",
        "ticks of its clock in which data waited for room at the other end; 32 bits, stays at 4294967295"),
    fabric_counter("symbol_errors_total", "minor errors of the link; 16 bits, stays at 65535",
                   fabric_increase("symbol_errors_in_span", "minor errors of the link in the span")),
    fabric_counter("link_error_recoveries_total",
                   "times the link recovered by retraining; 8 bits, stays at 255",
                   fabric_increase("link_error_recoveries_in_span", "recoveries by retraining in the span")),
    fabric_counter("link_downed_total", "times recovery failed and the link went down; 8 bits, stays at 255",
                   fabric_increase("link_downed_in_span", "times the link went down in the span")),
    fabric_counter("receive_remote_physical_errors_total",
                   "packets that another port had marked as bad; 16 bits, stays at 65535"),
    fabric_counter("receive_switch_relay_errors_total",
                   "packets that could not be passed on; 16 bits, stays at 65535"),
    fabric_counter("transmit_constraint_errors_total",
                   "packets that the port may not send; 8 bits, stays at 255"),
    fabric_counter("receive_constraint_errors_total",
                   "packets that the port may not receive; 8 bits, stays at 255"),
    fabric_counter("local_link_integrity_errors_total",
                   "times local physical errors came too often; 4 bits, stays at 15"),
    fabric_counter("excessive_buffer_overruns_total",
                   "times buffers overran for too long; 4 bits, stays at 15"),
    fabric_counter("vl15_dropped_total",
                   "management packets dropped for want of room; 16 bits, stays at 65535"),
};

// Counters of reliable connections and of congestion. Drivers have some of them each; what one does not
// count is null (observe/fabric/rdma_counters.h).
inline constexpr Quantity kFabricTransportQuantities[] = {
    fabric_counter("out_of_buffer_total", "packets dropped because no receive request was posted"),
    fabric_counter("out_of_sequence_total", "packets received out of their order",
                   fabric_increase("out_of_sequence_in_span", "packets out of their order in the span")),
    fabric_counter("duplicate_requests_total", "requests received a second time"),
    fabric_counter("rnr_nak_retries_total", "answers that the other end is not ready to receive"),
    fabric_counter("packet_sequence_errors_total", "answers that a packet came out of its order"),
    fabric_counter("implied_nak_sequence_errors_total", "answers missing, as a later one showed"),
    fabric_counter(
        "local_ack_timeouts_total", "requests that were not answered in time",
        fabric_increase("local_ack_timeouts_in_span", "requests not answered in time, in the span")),
    fabric_counter("transport_retries_exceeded_total", "requests given up after all retries"),
    fabric_counter("rnr_retries_exceeded_total", "requests given up because the other end was never ready"),
    fabric_counter("response_local_length_errors_total", "requests received that were too long"),
    fabric_counter("response_cqe_errors_total", "receives that completed with an error"),
    fabric_counter("request_cqe_errors_total", "sends that completed with an error"),
    fabric_counter("response_cqe_flush_errors_total", "receives flushed with their queue"),
    fabric_counter("request_cqe_flush_errors_total", "sends flushed with their queue"),
    fabric_counter("request_remote_invalid_requests_total", "requests that the other end found invalid"),
    fabric_counter("request_remote_access_errors_total", "requests that the other end denied access"),
    fabric_counter("response_remote_access_errors_total", "requests that were denied access here"),
    fabric_counter("adaptive_retransmits_total", "adaptive retransmissions for RoCE"),
    fabric_counter("adaptive_retransmit_timeouts_total", "adaptive retransmissions after a timeout"),
    fabric_counter("slow_restarts_total", "slow restarts of RoCE"),
    fabric_counter("slow_restart_cnps_total", "congestion notifications made by slow restarts"),
    fabric_counter("slow_restart_transitions_total", "connections that went into slow restart"),
    fabric_counter("cnp_sent_total", "congestion notifications sent, for packets that a switch had marked"),
    fabric_counter("cnp_handled_total", "congestion notifications received and obeyed",
                   fabric_increase("cnp_handled_in_span", "congestion notifications obeyed in the span")),
    fabric_counter("cnp_ignored_total", "congestion notifications received and ignored"),
    fabric_counter("ecn_marked_packets_total", "packets received that a switch had marked as congested"),
    fabric_counter("icrc_errors_total", "RoCE packets received with a wrong checksum"),
    fabric_counter("receive_write_requests_total", "RDMA writes received"),
    fabric_counter("receive_read_requests_total", "RDMA reads received"),
    fabric_counter("receive_atomic_requests_total", "atomic operations received"),
    fabric_counter("retransmitted_packets_total", "packets or segments sent again"),
    fabric_bytes("retransmitted_bytes_total", "bytes sent again"),
    fabric_counter("retransmit_timeouts_total", "timeouts that made packets be sent again"),
    fabric_counter("unresponsive_remotes_total", "times the other end did not respond"),
    fabric_counter("impaired_connections_total", "times a connection to another end was impaired"),
};

// Counters of a Slingshot adapter, of 56 bits each (Cassini's registers, by the names of its driver).
inline constexpr Quantity kFabricSlingshotQuantities[] = {
    fabric_counter(
        "link_restarts_total",
        "restarts of the link by the driver since sampling began; of more than 10 between two looks, 10",
        fabric_increase("link_restarts_in_span", "times the link was restarted in the span")),
    fabric_counter(
        "llr_transmit_replays_total", "times frames were sent again over the link (hni_llr_tx_replay_event)",
        fabric_increase("llr_transmit_replays_in_span", "times frames were sent again in the span")),
    fabric_counter("llr_receive_replays_total", "times the other end sent frames again"),
    fabric_counter("llr_transmit_discards_total", "frames that link-level retry discarded"),
    fabric_counter("codewords_corrected_total", "code words of the link whose errors were corrected"),
    fabric_counter("codewords_uncorrected_total",
                   "code words of the link with more errors than can be corrected"),
    fabric_counter("codewords_good_total", "code words of the link without an error"),
    fabric_counter("ecc_corrected_errors_total", "errors in the adapter's memory that were corrected"),
    fabric_counter("ecc_uncorrected_errors_total",
                   "errors in the adapter's memory that could not be corrected"),
    fabric_counter("pause_frames_received_total", "pause frames received, of the priority that had most"),
    fabric_counter("pause_frames_sent_total", "pause frames sent"),
    fabric_counter("receive_paused_cycles_total",
                   "clock cycles in which the receive buffer asked for a pause of some priority"),
    fabric_counter("transmit_paused_cycles_total",
                   "clock cycles in which sending was paused, of the priority that was paused most"),
    fabric_counter("transmit_stalled_cycles_total",
                   "clock cycles in which sending waited for link-level retry"),
    fabric_counter("request_timeouts_total", "requests that were not answered in time"),
    fabric_counter("source_connection_timeouts_total", "timeouts of connections at their source"),
    fabric_counter("target_connection_timeouts_total", "timeouts of connections at their target"),
    fabric_counter(
        "resource_nacks_total",
        "requests refused because the target had no room for their connection or result, or was busy"),
    fabric_counter("sequence_nacks_total", "requests refused here because one before them was missing"),
    fabric_counter("retried_requests_total", "requests that the retry handler sent again"),
    fabric_counter("response_errors_total", "responses received with an error"),
};

// What the retry handler of a Slingshot adapter reports (cxi_rh): it prints 32 bits with a sign, so
// that a counter beyond 2147483647 is null.
inline constexpr Quantity kFabricRetryQuantities[] = {
    fabric_counter("retry_request_timeouts_total", "timeouts that the retry handler was told of",
                   fabric_increase("retry_request_timeouts_in_span", "timeouts of requests in the span")),
    fabric_counter("retry_nacks_total", "refusals that the retry handler was told of"),
    fabric_counter("retry_resource_busy_nacks_total", "of these, because the target was busy"),
    fabric_counter("retry_sequence_nacks_total", "of these, because a request before was missing"),
    fabric_counter("retry_source_timeouts_total", "timeouts of connections at their source"),
    fabric_counter("retry_target_timeouts_total", "timeouts of connections at their target"),
    fabric_counter("retry_cancelled_connections_total", "connections that the retry handler gave up"),
    fabric_counter("retry_cancelled_ordered_packets_total", "ordered packets given up"),
    fabric_counter("retry_cancelled_unordered_packets_total", "unordered packets given up"),
    {"retry_parked_nodes", kInteger, "", "nodes of the network to which nothing is sent for now"},
};

inline constexpr auto kFabricColumns =
    joined(columns_of(kFabricPort), columns_of(kFabricQuantities), columns_of(kFabricInfinibandQuantities),
           columns_of(kFabricTransportQuantities), columns_of(kFabricSlingshotQuantities),
           columns_of(kFabricRetryQuantities));

// Errors, states and counters of connections are read at every tenth sample, and stand in the rows until they
// are read again; bytes, packets, waiting and pauses are read for each row.
inline constexpr Table kFabric{
    "fabric", Cadence::kPeriodic,
    "traffic, state and errors of the ports of the fast network: InfiniBand, RoCE and Slingshot",
    kFabricColumns};

}  // namespace belay::schema

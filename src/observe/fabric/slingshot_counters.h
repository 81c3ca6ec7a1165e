// Where the counters of a Slingshot adapter stand: /sys/class/cxi/cxiN/device/telemetry of the driver
// cxi_ss1, as Cassini's registers are called (cassini_cntr_desc.h of its headers says what each counts). All
// are of 56 bits, and nothing says whether one wraps; it may stay. Both generations, Cassini 1 and 2, have
// all of these names. Each read goes over the bus to the adapter.
#pragma once

#include "observe/fabric/counter_set.h"

namespace belay::observe::fabric {

inline constexpr std::string_view kTelemetry = "telemetry";
inline constexpr uint8_t kRegisterBits = 56;
inline constexpr uint8_t kPriorities = 8;

consteval CounterSource telemetry(std::string_view column, std::string_view file) {
    return {.column = schema::column(schema::kFabric, column),
            .directory = kTelemetry,
            .files = {file},
            .bits = kRegisterBits};
}
consteval CounterSource telemetry_sum(std::string_view column, std::array<std::string_view, 5> files) {
    return {.column = schema::column(schema::kFabric, column), .directory = kTelemetry, .files = files};
}
// One file for each of the eight priorities, or traffic classes.
consteval CounterSource per_priority(std::string_view column, std::string_view prefix, Combine combine) {
    return {.column = schema::column(schema::kFabric, column),
            .directory = kTelemetry,
            .files = {prefix},
            .numbered = kPriorities,
            .combine = combine};
}
consteval CounterSource each_tick(CounterSource source) {
    source.pace = Pace::kEveryTick;
    return source;
}

inline constexpr CounterSource kSlingshotSources[] = {
    each_tick(telemetry("receive_bytes_total", "hni_sts_rx_ok_octets")),
    each_tick(telemetry("transmit_bytes_total", "hni_sts_tx_ok_octets")),
    each_tick(telemetry("receive_paused_cycles_total", "hni_rx_paused_std")),
    each_tick(per_priority("transmit_paused_cycles_total", "hni_tx_paused_", Combine::kHighest)),

    telemetry_sum("receive_errors_total", {"hni_rx_bad_ieee", "hni_rx_bad_opt"}),
    per_priority("receive_dropped_total", "hni_pfc_fifo_oflw_cntr_", Combine::kSum),
    per_priority("transmit_discards_total", "hni_discard_cntr_", Combine::kSum),
    telemetry("llr_transmit_replays_total", "hni_llr_tx_replay_event"),
    telemetry("llr_receive_replays_total", "hni_llr_rx_replay_event"),
    telemetry("llr_transmit_discards_total", "hni_llr_tx_discard"),
    telemetry("codewords_corrected_total", "hni_pcs_corrected_cw"),
    telemetry("codewords_uncorrected_total", "hni_pcs_uncorrected_cw"),
    telemetry("codewords_good_total", "hni_pcs_good_cw"),
    telemetry("ecc_corrected_errors_total", "hni_cor_ecc_err_cntr"),
    telemetry("ecc_uncorrected_errors_total", "hni_ucor_ecc_err_cntr"),
    // A standard pause frame counts for every priority, so their sum would count it eight times.
    per_priority("pause_frames_received_total", "hni_pause_recv_", Combine::kHighest),
    telemetry("pause_frames_sent_total", "hni_pause_sent"),
    telemetry("transmit_stalled_cycles_total", "hni_tx_stall_llr"),
    telemetry("request_timeouts_total", "pct_spt_timeouts"),
    telemetry("source_connection_timeouts_total", "pct_sct_timeouts"),
    telemetry("target_connection_timeouts_total", "pct_tct_timeouts"),
    telemetry_sum("resource_nacks_total", {"pct_no_tct_nacks", "pct_no_mst_nacks", "pct_no_trs_nacks",
                                           "pct_no_matching_tct", "pct_resource_busy"}),
    telemetry("sequence_nacks_total", "pct_bad_seq_nacks"),
    telemetry("retried_requests_total", "pct_retry_srb_requests"),
    telemetry("response_errors_total", "pct_rsp_err_rcvd"),
};
static_assert(are_in_order(kSlingshotSources));

// Packets by size, as hni_rx_ok_* and hni_tx_ok_* count them.
struct SizeBin {
    std::string_view name;
    int64_t smallest_bytes;
};
inline constexpr SizeBin kSizeBins[] = {
    {"27", 27},
    {"35", 35},
    {"36_to_63", 36},
    {"64", 64},
    {"65_to_127", 65},
    {"128_to_255", 128},
    {"256_to_511", 256},
    {"512_to_1023", 512},
    {"1024_to_2047", 1024},
    {"2048_to_4095", 2048},
    {"4096_to_8191", 4096},
    {"8192_to_max", 8192},
};
inline constexpr size_t kSizeBinCount = std::size(kSizeBins);

}  // namespace belay::observe::fabric

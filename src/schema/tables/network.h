#pragma once

#include "schema/schema.h"

namespace belay::schema {

inline constexpr Column kNetworkColumns[] = {
    {"time", ColumnType::kTimestamp, "", "when the row was sampled"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"device", ColumnType::kText, "", "network interface"},
    {"receive_bytes_total", ColumnType::kInteger, "B", "bytes received; RDMA traffic is not in it"},
    {"receive_packets_total", ColumnType::kInteger, "", "packets received"},
    {"receive_errors_total", ColumnType::kInteger, "", "packets received with an error"},
    {"receive_dropped_total", ColumnType::kInteger, "", "packets dropped on receive"},
    {"transmit_bytes_total", ColumnType::kInteger, "B", "bytes sent; RDMA traffic is not in it"},
    {"transmit_packets_total", ColumnType::kInteger, "", "packets sent"},
    {"transmit_errors_total", ColumnType::kInteger, "", "packets not sent because of an error"},
    {"transmit_dropped_total", ColumnType::kInteger, "", "packets dropped before they were sent"},
    {"carrier", ColumnType::kBoolean, "", "whether the link is up"},
    {"carrier_changes_total", ColumnType::kInteger, "", "times the link went up or down"},
    {"link_bits_per_second", ColumnType::kInteger, "bit/s", "negotiated speed of the link"},
    {"counted_elsewhere", ColumnType::kBoolean, "",
     "whether other interfaces of the node count the same traffic: of a bond, a bridge, a VLAN, a bridge's "
     "port"},
};

inline constexpr Table kNetwork{"network", Cadence::kPeriodic, "traffic and link state per network interface",
                                kNetworkColumns, 2};

// SQL: whether the bytes of a row are the node's own traffic with others, counted once. Of older records, and
// where /sys was not there, the name tells as well as it can.
inline constexpr std::string_view kOwnTraffic =
    "device <> 'lo' AND NOT coalesce(counted_elsewhere, regexp_matches(device, "
    "'^(bond[0-9]|team[0-9]|br-|br[0-9]|virbr|docker|cni|veth|tap|vnet|vlan[0-9]|macvlan|ipvlan)"
    "|^(eth|en|hsn|bond|team)[a-z0-9]*[.][0-9]+$'))";

}  // namespace belay::schema

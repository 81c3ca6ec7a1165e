#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

inline constexpr Column kNetworkNames[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"device", kText, "", "network interface"},
};

// What is measured on an interface, and what is kept of it. Without a file of /proc: of /sys.
inline constexpr Quantity kNetworkQuantities[] = {
    {"receive_bytes_total",
     kInteger,
     "B",
     "bytes received; RDMA traffic is not in it",
     {"received_bytes_per_second", "B/s", "received"},
     {kCounter, "net/dev", "", 1}},
    {"receive_packets_total", kInteger, "", "packets received", {}, {kCounter, "net/dev", "", 2}},
    {"receive_errors_total",
     kInteger,
     "",
     "packets received with an error",
     {},
     {kCounter, "net/dev", "", 3}},
    {"receive_dropped_total", kInteger, "", "packets dropped on receive", {}, {kCounter, "net/dev", "", 4}},
    {"transmit_bytes_total",
     kInteger,
     "B",
     "bytes sent; RDMA traffic is not in it",
     {"sent_bytes_per_second", "B/s", "sent"},
     {kCounter, "net/dev", "", 9}},
    {"transmit_packets_total", kInteger, "", "packets sent", {}, {kCounter, "net/dev", "", 10}},
    {"transmit_errors_total",
     kInteger,
     "",
     "packets not sent because of an error",
     {},
     {kCounter, "net/dev", "", 11}},
    {"transmit_dropped_total",
     kInteger,
     "",
     "packets dropped before they were sent",
     {},
     {kCounter, "net/dev", "", 12}},
    {"carrier", kBoolean, "", "whether the link is up"},
    {"carrier_changes_total",
     kInteger,
     "",
     "times the link went up or down",
     {"carrier_changes_in_span", "", "times the link went up or down in the span", Fold::kIncrease},
     {kCounter}},
    {"link_bits_per_second",
     kInteger,
     "bit/s",
     "negotiated speed of the link",
     {"link_bits_per_second", "bit/s", "speed of the link", Fold::kHighest}},
    {"counted_elsewhere", kBoolean, "",
     "whether other interfaces of the node count the same traffic: of a bond, a bridge, a VLAN, a bridge's "
     "port"},
};

inline constexpr auto kNetworkColumns = joined(columns_of(kNetworkNames), columns_of(kNetworkQuantities));

// The index of the first quantity's column.
inline constexpr size_t kFirstNetworkQuantity = std::size(kNetworkNames);

inline constexpr Table kNetwork{"network", Cadence::kPeriodic, "traffic and link state per network interface",
                                kNetworkColumns, 2};

// SQL: whether an interface is a card's, as its name tells: none that stands on others, or that software
// made.
inline constexpr std::string_view kIsCard =
    "device <> 'lo' AND NOT regexp_matches(device, "
    "'^(bond[0-9]|team[0-9]|br-|br[0-9]|virbr|docker|cni|veth|tap|tun|vnet|vlan[0-9]|macvlan|ipvlan)"
    "|^(eth|en|hsn|bond|team)[a-z0-9]*[.][0-9]+$')";

// SQL: whether the bytes of a row are the node's own traffic with others, counted once. Of older records, and
// where /sys was not there, the name tells as well as it can.
inline constexpr std::string_view kUnlessCounted = "device <> 'lo' AND coalesce(NOT counted_elsewhere, ";
inline constexpr std::string_view kCountedEnd = ")";
inline constexpr std::string_view kOwnTraffic = JoinedText<kUnlessCounted, kIsCard, kCountedEnd>::kText;

// SQL: packets that were damaged, and that were dropped, in both directions.
inline constexpr std::string_view kInterfaceErrors = "receive_errors_total + transmit_errors_total";
inline constexpr std::string_view kInterfaceDrops = "receive_dropped_total + transmit_dropped_total";

}  // namespace belay::schema

#pragma once

#include "schema/schema.h"

namespace belay::schema {

using enum ColumnType;
using enum Sampled;

// Domains contain one another (a package its cores, a module its sockets): values of several must not be
// added.
inline constexpr Column kPowerDomain[] = {
    {"time", kTimestamp, "", "when the row was sampled"},
    {"node", kText, "", "name of the node"},
    {"source", kText, "",
     "who measures: rapl, rapl_mmio or rapl_tpmi (the CPU itself), hwmon (sensors of the board), pm_counters "
     "(Cray's board controller)"},
    {"domain", kText, "",
     "what is measured: package-0/dram; power_meter/Grace Power Socket 0; node, cpu0, memory, accel0. "
     "Domains "
     "contain one another"},
    {"device", kText, "",
     "where the kernel has it: intel-rapl:0:0, the device below a sensor; null where there is only one"},
};

inline constexpr Quantity kPowerQuantities[] = {
    {"energy_joules_total",
     kReal,
     "J",
     "energy used since some beginning. RAPL wraps at max_energy_range_uj (minutes to hours) and is "
     "unwrapped: "
     "exact to one unit of the counter as long as no more than one range is used between two samples. "
     "Counters "
     "of a Cray that were started anew go on from where they were",
     {"energy_joules_in_span", "J", "energy used in the span", Fold::kIncrease},
     {kCounter}},
    {"power_watts",
     kReal,
     "W",
     "power; of power meters the mean over their own interval; null where only energy is counted",
     {"power_watts", "W", "power of the domain"}},
    {"temperature_celsius",
     kReal,
     "°C",
     "temperature; of hwmon read every tenth tick, and that value between",
     {"temperature_celsius", "°C", "highest temperature", Fold::kHighest}},
};

inline constexpr auto kPowerColumns = joined(columns_of(kPowerDomain), columns_of(kPowerQuantities));

inline constexpr Table kPower{
    "power", Cadence::kPeriodic,
    "energy, power and temperature of the parts of a node, as far as they are measured", kPowerColumns};

}  // namespace belay::schema

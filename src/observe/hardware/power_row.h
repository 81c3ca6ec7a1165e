// A row of the table power.
#pragma once

#include "observe/collect/collector.h"
#include "schema/tables/power.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::observe::hardware {

struct PowerReading {
    std::string_view source, domain;
    std::string_view device = {};  // empty where there is only one
    std::optional<double> joules = {}, watts = {}, celsius = {};
};

// A domain of which nothing could be read has no row.
inline void add_power_row(const collect::Sample& sample, const PowerReading& reading, stream::Batch& rows) {
    using schema::column;
    using schema::kPower;
    if (!reading.joules && !reading.watts && !reading.celsius) return;
    rows.add_row(sample.time, sample.node);
    rows.set(column(kPower, "source"), reading.source);
    rows.set(column(kPower, "domain"), reading.domain);
    if (!reading.device.empty()) rows.set(column(kPower, "device"), reading.device);
    rows.set(column(kPower, "energy_joules_total"), reading.joules);
    rows.set(column(kPower, "power_watts"), reading.watts);
    rows.set(column(kPower, "temperature_celsius"), reading.celsius);
}

// From millionths (µJ, µW) and thousandths (m°C), correctly rounded.
inline std::optional<double> in_units(std::optional<int64_t> parts, double per_unit) {
    if (!parts) return std::nullopt;
    return static_cast<double>(*parts) / per_unit;
}
inline constexpr double kMicro = 1e6;
inline constexpr double kMilli = 1e3;

}  // namespace belay::observe::hardware

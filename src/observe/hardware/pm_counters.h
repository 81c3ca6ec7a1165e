// Power and energy that the board controller of a Cray node measures: /sys/cray/pm_counters, renewed about
// ten times a second. All files of one moment are read, or none. See "User access to compute node power data"
// of the HPE Cray EX documentation.
#pragma once

#include "core/time.h"
#include "observe/hardware/energy_total.h"
#include "observe/hardware/sensor_file.h"
#include "observe/hardware/sensor_text.h"
#include "observe/hardware/told_once.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::hardware {

// What a file's name says: "energy" is that of the node, "accel0_power" that of accel0. Nothing for limits
// and for what describes the counters.
struct PmFileName {
    std::string_view domain;
    PmUnit unit;
    bool operator==(const PmFileName&) const = default;
};
std::optional<PmFileName> parse_pm_file_name(std::string_view name);

// Reads again, up to three times, until the freshness was the same before and after; false if it never was.
// What it was is left in `freshness`.
bool read_one_moment(const std::function<std::optional<int64_t>()>& read_freshness,
                     const std::function<void()>& read_all, std::optional<int64_t>& freshness);

class PmCounters {
  public:
    // That the controller has stopped renewing them is told.
    PmCounters(const std::filesystem::path& sys, ToldOnce& told);

    void look();
    // Adds no rows where the files were renewed under the reader three times, or not at all for longer than
    // two scans.
    void collect(const collect::Sample& sample, stream::Batch& rows);
    bool is_there() const { return !domains_.empty(); }

  private:
    struct Counter {
        SensorFile file;
        std::optional<int64_t> value = {};
    };
    struct Domain {
        std::string name;
        std::optional<Counter> counters[3] = {};  // by PmUnit
        EnergyTotal energy = {};

        std::optional<Counter>& of(PmUnit unit) { return counters[static_cast<size_t>(unit)]; }
        std::optional<double> value(PmUnit unit);
    };

    void read_all();
    bool stands_still(core::Time now);

    std::filesystem::path root_;
    ToldOnce* told_;
    SensorFile freshness_file_, startup_file_;
    double scans_per_second_;
    std::vector<Domain> domains_;
    std::optional<int64_t> freshness_, startup_, known_startup_;
    std::optional<int64_t> last_freshness_;
    core::Time renewed_{};  // when the freshness last was another one
};

}  // namespace belay::observe::hardware

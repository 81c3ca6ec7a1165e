// Energy that CPUs count themselves (RAPL): the zones below /sys/class/powercap, of Intel and AMD. See
// Documentation/power/powercap/powercap.rst of Linux.
#pragma once

#include "observe/hardware/energy_total.h"
#include "observe/hardware/sensor_file.h"
#include "observe/hardware/told_once.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::hardware {

// What a zone's name "intel-rapl:0:1" says.
struct PowercapZoneName {
    std::string_view source;  // "rapl"; the part before the first ":" where it is of no known kind
    std::string_view parent;  // "intel-rapl:0"; empty for a zone on top
};
// Nothing for what is not a zone: a kind of control, as "intel-rapl", has no number.
std::optional<PowercapZoneName> parse_zone_name(std::string_view name);

class Powercap {
  public:
    Powercap(const std::filesystem::path& sys, ToldOnce& told)
        : root_(sys / "class/powercap"), told_(&told) {}

    // Looks for zones. Those that this process may not read are told: since Linux 5.10 only root may
    // (CVE-2020-8694).
    void look();
    void collect(const collect::Sample& sample, stream::Batch& rows);
    bool is_there() const { return !zones_.empty(); }

  private:
    struct Zone {
        std::string device;
        std::string source;
        std::string domain;
        SensorFile energy;             // µJ
        std::optional<int64_t> range;  // µJ
        EnergyTotal total = {};
    };

    std::optional<Zone> open_zone(const std::string& device) const;

    std::filesystem::path root_;
    ToldOnce* told_;
    std::vector<Zone> zones_;
};

}  // namespace belay::observe::hardware

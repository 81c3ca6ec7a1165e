// Sensors of power, energy and temperature below /sys/class/hwmon. Their numbers change from boot to boot, so
// they are known by the chip's name, their label and the device. See Documentation/hwmon/sysfs-interface.rst
// of Linux.
#pragma once

#include "observe/collect/collector.h"
#include "observe/hardware/sensor_file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::hardware {

enum class HwmonKind : uint8_t { kEnergy, kPower, kTemperature };

// What a file's name "power1_average" says.
struct HwmonAttribute {
    HwmonKind kind;
    int64_t number;
    bool operator==(const HwmonAttribute&) const = default;
};
// Only of files with a reading: powerN_average, powerN_input, energyN_input, tempN_input.
std::optional<HwmonAttribute> parse_hwmon_attribute(std::string_view name);

// Readings that are not taken: of disks, where each is a command that may keep its caller, and of single
// cores, which are many. An empty label asks for the chip as a whole.
bool is_left_out(std::string_view chip, std::string_view label);

class Hwmon {
  public:
    explicit Hwmon(const std::filesystem::path& sys) : root_(sys / "class/hwmon") {}

    void look();
    // `slow`: temperatures are read too; otherwise those of the last time stand.
    void collect(const collect::Sample& sample, bool slow, stream::Batch& rows);
    bool is_there() const { return !domains_.empty(); }

  private:
    struct Sensor {
        int64_t number;
        SensorFile file;
    };
    struct Domain {
        std::string name;
        std::string device;
        std::optional<Sensor> sensors[3] = {};  // by HwmonKind
        std::optional<double> celsius = {};

        std::optional<Sensor>& of(HwmonKind kind) { return sensors[static_cast<size_t>(kind)]; }
        std::optional<int64_t> read(HwmonKind kind) {
            return of(kind) ? of(kind)->file.number() : std::nullopt;
        }
    };

    Domain* find(std::string_view name, std::string_view device);
    void add_chip(const std::filesystem::path& chip);
    void add(const std::filesystem::path& file, HwmonAttribute attribute, const std::string& chip,
             const std::string& device);

    std::filesystem::path root_;
    std::vector<Domain> domains_;
};

}  // namespace belay::observe::hardware

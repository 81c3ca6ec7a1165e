#include "observe/hardware/hwmon.h"

#include "observe/hardware/power_row.h"
#include "observe/hardware/sensor_text.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

namespace belay::observe::hardware {

namespace {

constexpr size_t kMostDomains = 64;
constexpr int64_t kAbsoluteZero = -273'150;  // m°C
// What a meter says that cannot tell, until Linux 6.7: all bits of ACPI's integer of milliwatts (ACPI 6.5,
// 10.4).
constexpr int64_t kUnknownPower = int64_t{0xFFFF'FFFF} * 1000;

struct Attribute {
    std::string_view prefix, suffix;
    HwmonKind kind;
};
constexpr Attribute kAttributes[] = {{"power", "_average", HwmonKind::kPower},
                                     {"power", "_input", HwmonKind::kPower},
                                     {"energy", "_input", HwmonKind::kEnergy},
                                     {"temp", "_input", HwmonKind::kTemperature}};
constexpr std::string_view kPrefixes[] = {"energy", "power", "temp"};  // by HwmonKind

struct LeftOut {
    std::string_view chip;
    std::string_view label;  // how it begins; empty: all
};
constexpr LeftOut kLeftOut[] = {
    {"nvme", ""}, {"drivetemp", ""}, {"coretemp", "Core "}, {"amd_energy", "Ecore"}};

std::vector<std::string> attributes_in(const std::filesystem::path& directory) {
    std::vector<std::string> names = names_in(directory);
    std::erase_if(names, [](const std::string& name) { return !parse_hwmon_attribute(name); });
    return names;
}

// The label, of power meters of ACPI what the maker calls it ("Grace Power Socket 0"), or else "temp1".
std::string label_of(const std::filesystem::path& directory, HwmonAttribute attribute) {
    const std::string sensor =
        fmt::format("{}{}", kPrefixes[static_cast<size_t>(attribute.kind)], attribute.number);
    for (const char* suffix : {"_label", "_oem_info"})
        if (std::string label = name_in(directory / (sensor + suffix)); !label.empty()) return label;
    return sensor;
}

}  // namespace

std::optional<HwmonAttribute> parse_hwmon_attribute(std::string_view name) {
    for (const Attribute& attribute : kAttributes) {
        if (!name.ends_with(attribute.suffix)) continue;
        const std::string_view sensor = name.substr(0, name.size() - attribute.suffix.size());
        if (const auto number = number_behind(sensor, attribute.prefix))
            return HwmonAttribute{attribute.kind, *number};
    }
    return std::nullopt;
}

bool is_left_out(std::string_view chip, std::string_view label) {
    return std::ranges::any_of(kLeftOut, [&](const LeftOut& left_out) {
        return chip == left_out.chip &&
               (left_out.label.empty() || (!label.empty() && label.starts_with(left_out.label)));
    });
}

void Hwmon::look() {
    domains_.clear();
    for (const std::string& chip : names_in(root_)) add_chip(root_ / chip);
}

void Hwmon::add_chip(const std::filesystem::path& chip) {
    // Older drivers have name and sensors with the device (hwmon_device_register(); power_meter on GH200).
    std::filesystem::path directory = chip;
    std::vector<std::string> attributes = attributes_in(directory);
    if (attributes.empty()) attributes = attributes_in(directory = chip / "device");
    std::string name = name_in(chip / "name");
    if (name.empty()) name = name_in(directory / "name");
    if (name.empty() || is_left_out(name, "")) return;
    std::error_code error;
    const std::string device = std::filesystem::read_symlink(chip / "device", error).filename().string();
    for (const std::string& attribute : attributes)
        add(directory / attribute, *parse_hwmon_attribute(attribute), name, device);
}

Hwmon::Domain* Hwmon::find(std::string_view name, std::string_view device) {
    const auto found = std::ranges::find_if(
        domains_, [&](const Domain& domain) { return domain.name == name && domain.device == device; });
    return found == domains_.end() ? nullptr : &*found;
}

// Of one sensor the average comes before what it reads now. Sensors of one label that tell different things
// are one domain; those that tell the same are told apart by their number.
void Hwmon::add(const std::filesystem::path& file, HwmonAttribute attribute, const std::string& chip,
                const std::string& device) {
    const std::string label = label_of(file.parent_path(), attribute);
    if (is_left_out(chip, label)) return;
    std::string name = fmt::format("{}/{}", chip, label);
    Domain* domain = find(name, device);
    if (domain != nullptr && domain->of(attribute.kind)) {
        if (domain->of(attribute.kind)->number == attribute.number) return;
        name += fmt::format(" {}", attribute.number);
        domain = find(name, device);
        if (domain != nullptr && domain->of(attribute.kind)) return;
    }
    if (domain == nullptr) {
        if (domains_.size() == kMostDomains) return;
        domain = &domains_.emplace_back(Domain{.name = name, .device = device});
    }
    domain->of(attribute.kind) = Sensor{attribute.number, SensorFile(file)};
}

void Hwmon::collect(const collect::Sample& sample, bool slow, stream::Batch& rows) {
    for (Domain& domain : domains_) {
        if (slow) {
            std::optional<int64_t> millidegrees = domain.read(HwmonKind::kTemperature);
            if (millidegrees && *millidegrees < kAbsoluteZero) millidegrees.reset();
            domain.celsius = in_units(millidegrees, kMilli);
        }
        std::optional<int64_t> microwatts = domain.read(HwmonKind::kPower);
        if (microwatts == kUnknownPower) microwatts.reset();
        std::optional<int64_t> microjoules = domain.read(HwmonKind::kEnergy);
        if (microjoules && *microjoules < 0) microjoules.reset();
        add_power_row(sample,
                      {.source = "hwmon",
                       .domain = domain.name,
                       .device = domain.device,
                       .joules = in_units(microjoules, kMicro),
                       .watts = in_units(microwatts, kMicro),
                       .celsius = domain.celsius},
                      rows);
    }
}

}  // namespace belay::observe::hardware

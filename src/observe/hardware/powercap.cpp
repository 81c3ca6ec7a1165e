#include "observe/hardware/powercap.h"

#include "observe/hardware/power_row.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace belay::observe::hardware {

namespace {

constexpr size_t kMostZones = 128;

struct ControlType {
    std::string_view name;
    std::string_view source;
};
// Of drivers/powercap: by registers of the CPU, by memory of the host bridge, by the TPMI of newer servers.
// Zones of AMD's CPUs are those of the first.
constexpr ControlType kControlTypes[] = {
    {"intel-rapl", "rapl"}, {"intel-rapl-mmio", "rapl_mmio"}, {"intel-rapl-tpmi", "rapl_tpmi"}};

}  // namespace

std::optional<PowercapZoneName> parse_zone_name(std::string_view name) {
    const size_t first = name.find(':'), last = name.rfind(':');
    if (first == std::string_view::npos || first == 0 || last + 1 == name.size()) return std::nullopt;
    const std::string_view type = name.substr(0, first);
    const auto* known = std::ranges::find(kControlTypes, type, &ControlType::name);
    return PowercapZoneName{.source = known == std::end(kControlTypes) ? type : known->source,
                            .parent = first == last ? std::string_view() : name.substr(0, last)};
}

std::optional<Powercap::Zone> Powercap::open_zone(const std::string& device) const {
    const std::optional<PowercapZoneName> name = parse_zone_name(device);
    const std::filesystem::path directory = root_ / device;
    // Zones of power alone (dtpm) have no energy.
    if (!name || access((directory / "energy_uj").c_str(), F_OK) != 0) return std::nullopt;
    std::string domain = name_in(directory / "name");
    if (domain.empty()) domain = device;
    if (!name->parent.empty())
        if (const std::string parent = name_in(root_ / name->parent / "name"); !parent.empty())
            domain = parent + "/" + domain;
    return Zone{.device = device,
                .source = std::string(name->source),
                .domain = std::move(domain),
                .energy = SensorFile(directory / "energy_uj"),
                .range = SensorFile(directory / "max_energy_range_uj").number()};
}

void Powercap::look() {
    std::vector<Zone> zones;
    for (const std::string& device : names_in(root_)) {
        if (zones.size() == kMostZones) break;
        std::optional<Zone> zone = open_zone(device);
        if (!zone) continue;
        (void)zone->energy.number();
        if (const int error = zone->energy.error(); error == EACCES || error == EPERM) {
            told_->tell("the energy of CPUs (RAPL) is not read",
                        core::errno_error(error, "cannot read " + zone->energy.path().native())
                            .hint("since CVE-2020-8694 only root may")
                            .error());
            continue;
        }
        const auto known = std::ranges::find(zones_, device, &Zone::device);
        if (known != zones_.end() && known->range == zone->range) zone->total = known->total;
        zones.push_back(std::move(*zone));
    }
    zones_ = std::move(zones);
}

void Powercap::collect(const collect::Sample& sample, stream::Batch& rows) {
    for (Zone& zone : zones_) {
        const std::optional<int64_t> reading = zone.energy.number();
        if (!reading || *reading < 0) continue;
        add_power_row(sample,
                      {.source = zone.source,
                       .domain = zone.domain,
                       .device = zone.device,
                       .joules = in_units(zone.total.unwrapped(*reading, zone.range), kMicro)},
                      rows);
    }
}

}  // namespace belay::observe::hardware

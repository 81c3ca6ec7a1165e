#include "score/ceilings.h"

#include "core/text.h"
#include "core/toml.h"

#include <algorithm>
#include <cmath>

// ceilings.toml, embedded
extern "C" const char belay_ceilings[], belay_ceilings_end[];

namespace belay::score {

using core::Result;

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;

class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : source_(text, file) {}

    Result<std::vector<DeviceCeilings>> read() {
        BELAY_TRY(table, core::parse_toml(source_));
        std::vector<DeviceCeilings> devices;
        for (auto&& [key, value] : table) {
            const auto* list = value.as_array();
            if (key.str() != "device" || list == nullptr)
                return wrong_key(key, "a file of ceilings has nothing but [[device]]");
            for (const toml::node& node : *list) {
                const auto* entry = node.as_table();
                if (entry == nullptr) return wrong(node, "must be a table, not {}", core::describe(node));
                BELAY_TRY(device, read_device(*entry));
                devices.push_back(std::move(device));
            }
        }
        return devices;
    }

  private:
    Result<DeviceCeilings> read_device(const toml::table& table) {
        DeviceCeilings device;
        for (auto&& [key, value] : table) BELAY_CHECK(read_key(device, key, value));
        if (device.match.empty()) return wrong(table, "a device needs match, a part of its name");
        if (device.calibrated && (device.date.empty() || device.ceilings.clock_hertz <= 0))
            return wrong(table, "what is calibrated needs date and clock_mhz");
        return device;
    }

    Result<> read_key(DeviceCeilings& device, const toml::key& key, const toml::node& value) {
        const std::string_view name = key.str();
        for (auto [known, target] : {std::pair{"match", &device.match},
                                     {"profile", &device.profile},
                                     {"date", &device.date},
                                     {"driver", &device.driver},
                                     {"source", &device.source}})
            if (name == known) return read_text(value, *target);
        if (name == "calibrated") {
            auto flag = value.value_exact<bool>();
            if (!flag) return wrong(value, "must be true or false, not {}", core::describe(value));
            device.calibrated = *flag;
            return {};
        }
        if (name == "clock_mhz") return read_number(value, device.ceilings.clock_hertz, kMega);
        if (name == "clock_max_mhz") return read_number(value, device.ceilings.clock_max_hertz, kMega);
        if (name == "spread") return read_number(value, device.spread, 1);
        if (name == "peak_dram_gbytes_per_second")
            return read_number(value, device.peak[static_cast<size_t>(Limit::kDram)], kGiga);
        if (name == "peak_tflops") return read_peaks(device, value);
        if (name == "link_gbytes_per_second") return read_links(device, value);
        for (size_t i = 0; i < kLimits; ++i)
            if (name == kLimitNames[i]) return read_ceiling(value, device.ceilings.active[i]);
        return wrong_key(
            key,
            "the keys are match, profile, calibrated, date, driver, source, spread, clock_mhz, "
            "clock_max_mhz, tensor, "
            "fp64, fp32, fp16, dram, peak_tflops, peak_dram_gbytes_per_second, link_gbytes_per_second");
    }

    Result<> read_links(DeviceCeilings& device, const toml::node& value) {
        const auto* table = value.as_table();
        if (table == nullptr) return wrong(value, "must be a table, not {}", core::describe(value));
        for (auto&& [key, bandwidth] : *table) {
            auto link = std::ranges::find(kLinkNames, key.str());
            if (link == kLinkNames.end()) return wrong_key(key, "the links are pcie, nvlink, c2c");
            BELAY_CHECK(
                read_number(bandwidth, device.links[static_cast<size_t>(link - kLinkNames.begin())], kGiga));
        }
        return {};
    }

    Result<> read_peaks(DeviceCeilings& device, const toml::node& value) {
        const auto* table = value.as_table();
        if (table == nullptr) return wrong(value, "must be a table, not {}", core::describe(value));
        for (auto&& [key, peak] : *table) {
            auto limit = std::ranges::find(kLimitNames, key.str());
            if (limit == kLimitNames.end() || *limit == "dram")
                return wrong_key(key, "the pipes are tensor, fp64, fp32, fp16");
            BELAY_CHECK(
                read_number(peak, device.peak[static_cast<size_t>(limit - kLimitNames.begin())], kTera));
        }
        return {};
    }

    Result<> read_text(const toml::node& value, std::string& target) {
        auto text = value.value_exact<std::string>();
        if (!text) return wrong(value, "must be a text, not {}", core::describe(value));
        target = std::move(*text);
        return {};
    }

    Result<> read_number(const toml::node& value, double& target, double unit) {
        auto number = value.is_number() ? value.value<double>() : std::nullopt;
        if (!number || !std::isfinite(*number) || *number < 0)
            return wrong(value, "must be a number of at least 0, not {}", core::describe(value));
        target = *number * unit;
        return {};
    }

    Result<> read_ceiling(const toml::node& value, double& target) {
        BELAY_CHECK(read_number(value, target, 1));
        if (target <= 0 || target > 1)
            return wrong(value, "must be more than 0 and at most 1, the share of time");
        return {};
    }

    template <typename... Args>
    core::Failure wrong(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) {
        return core::bad_input(format, std::forward<Args>(args)...)
            .at(core::toml_position(source_, node.source().begin));
    }
    core::Failure wrong_key(const toml::key& key, const char* hint) {
        return core::bad_input("unknown key \"{}\"", key.str())
            .at(core::toml_position(source_, key.source().begin))
            .hint(hint);
    }

    core::SourceText source_;
};

}  // namespace

Result<std::vector<DeviceCeilings>> parse_ceilings(std::string_view text, const std::string& file) {
    return Reader(text, file).read();
}

const std::vector<DeviceCeilings>& builtin_ceilings() {
    static const std::vector<DeviceCeilings> known =
        parse_ceilings({belay_ceilings, belay_ceilings_end}, "ceilings.toml").value();
    return known;
}

DeviceCeilings find_ceilings(const std::vector<DeviceCeilings>& known, std::string_view device,
                             std::string_view profile) {
    const DeviceCeilings* found = nullptr;
    for (const DeviceCeilings& candidate : known)
        if (device.find(candidate.match) != std::string_view::npos && candidate.profile == profile &&
            (found == nullptr || candidate.match.size() >= found->match.size()))
            found = &candidate;
    if (found != nullptr) return *found;
    if (profile.empty()) return {};
    // Counters of a slice are relative to it, so those of the whole GPU are near.
    DeviceCeilings whole = find_ceilings(known, device);
    whole.calibrated = false;
    return whole;
}

}  // namespace belay::score

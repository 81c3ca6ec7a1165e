#include "observe/hardware/sensor_text.h"

#include "core/text.h"
#include "core/utf8.h"
#include "procfs/scan.h"

#include <algorithm>

namespace belay::observe::hardware {

namespace {

constexpr size_t kLongestName = 128;

std::string_view first_line(std::string_view text) {
    std::string_view line;
    return procfs::Lines(text).next(line) ? line : std::string_view();
}

struct NamedUnit {
    std::string_view name;
    PmUnit unit;
};
constexpr NamedUnit kPmUnits[] = {{"J", PmUnit::kJoules}, {"W", PmUnit::kWatts}, {"C", PmUnit::kCelsius}};

}  // namespace

std::optional<int64_t> parse_sensor_number(std::string_view text) {
    return core::parse_number<int64_t>(core::trim(first_line(text)));
}

std::string parse_name(std::string_view text) {
    return core::to_valid_utf8(core::utf8_prefix(core::trim(first_line(text)), kLongestName));
}

std::optional<PmCounter> parse_pm_counter(std::string_view text) {
    procfs::Words words(first_line(text));
    const std::optional<int64_t> value = core::parse_number<int64_t>(words.next());
    const auto* unit = std::ranges::find(kPmUnits, words.next(), &NamedUnit::name);
    if (!value || unit == std::end(kPmUnits)) return std::nullopt;
    if (*value < 0 && unit->unit != PmUnit::kCelsius) return std::nullopt;
    if (const std::string_view time = words.next();
        !time.empty() && (!procfs::count(time) || words.next() != "us"))
        return std::nullopt;
    return PmCounter{*value, unit->unit};
}

std::optional<int64_t> parse_pm_number(std::string_view text) {
    return procfs::count(procfs::Words(first_line(text)).next());
}

std::optional<int64_t> number_behind(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return std::nullopt;
    return procfs::count(name.substr(prefix.size()));
}

}  // namespace belay::observe::hardware

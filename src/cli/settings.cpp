#include "cli/settings.h"

#include "image/store_settings.h"

#include <vector>

namespace belay::cli {

namespace {

using core::Setting;
using core::SettingType;

constexpr Setting kRecordSettings[] = {
    {"record.interval", SettingType::kDuration, "1s", "time between two samples"},
    {"record.flush", SettingType::kDuration, "2s", "time between two writes; the most that a crash costs"},
    {"record.progress_pattern", SettingType::kTextList, "", "pattern of the program's own progress lines"},
};

// One line for each module that has settings.
constexpr std::span<const Setting> kTables[] = {
    kRecordSettings,
};

}  // namespace

std::span<const Setting> settings() {
    static const std::vector<Setting> joined = [] {
        std::vector<Setting> all;
        for (std::span<const Setting> table : kTables) all.insert(all.end(), table.begin(), table.end());
        std::span<const Setting> of_images = image::store_settings();
        all.insert(all.end(), of_images.begin(), of_images.end());
        return all;
    }();
    return joined;
}

}  // namespace belay::cli

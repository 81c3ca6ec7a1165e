#include "step/settings.h"

#include "image/store_settings.h"

#include <vector>

namespace belay::step {

namespace {

using core::Setting;
using core::SettingType;

constexpr Setting kRecordSettings[] = {
    {"record.directory", SettingType::kText, "belay-record-%j.%s",
     "of srun --record; %j is the job, %s the step, %r its restarts"},
    {"record.interval", SettingType::kDuration, "1s", "time between two samples"},
    {"record.flush", SettingType::kDuration, "2s", "time between two writes; the most that a crash costs"},
    {"record.gpu_source", SettingType::kText, "auto",
     "who reads GPUs: nvml, dcgm, or auto: the one that knows more of them"},
    {"record.progress_pattern", SettingType::kTextList, "", "pattern of the program's own progress lines"},
};

constexpr Setting kEnvSettings[] = {
    {"env.search_path", SettingType::kTextList, "/etc/edf",
     "directories of environments, after the user's own"},
    {"env.overlay_size", SettingType::kSize, "8GiB",
     "memory for what tasks write into a container's own files"},
};

constexpr Setting kVetSettings[] = {
    {"vet.timeout", SettingType::kDuration, "2m", "until all nodes of a step must have reported"},
};

constexpr Setting kGpuSettings[] = {
    {"nvml.library", SettingType::kText, "",
     "library that GPUs are read with; the driver's libnvidia-ml.so.1 without it"},
};

constexpr Setting kFindingsSettings[] = {
    {"findings.rules", SettingType::kText, "/etc/belay/findings.d", "directory of the site's own rules"},
    {"dcgm.library", SettingType::kText, "", "library of DCGM; the system's libdcgm.so.4 or .3 without it"},
    {"dcgm.address", SettingType::kText, "127.0.0.1",
     "where DCGM's host engine listens: an address, or the path of a socket"},
};

// One line for each module that has settings.
constexpr std::span<const Setting> kTables[] = {
    kRecordSettings, kEnvSettings, kVetSettings, kFindingsSettings, kGpuSettings,
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

}  // namespace belay::step

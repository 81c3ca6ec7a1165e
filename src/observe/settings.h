// What may be configured of recording.
#pragma once

#include "core/config.h"

namespace belay::observe {

inline constexpr core::Setting kSettings[] = {
    {"record.directory", core::SettingType::kText, "belay-record-%j.%s",
     "of srun --record; %j is the job, %s the step, %r its restarts"},
    {"record.interval", core::SettingType::kDuration, "1s", "time between two samples"},
    {"record.flush", core::SettingType::kDuration, "2s",
     "time between two writes to disk; a crash loses at most this much"},
    {"record.gpu_source", core::SettingType::kText, "auto",
     "who reads GPUs: nvml, dcgm, or auto: the one that knows more of them"},
    {"record.progress_pattern", core::SettingType::kTextList, "",
     "pattern of the program's own progress lines"},
    {"record.io_trace", core::SettingType::kBoolean, "no",
     "count what the job's programs do on each file system, by a library that they load (LD_PRELOAD)"},
    {"record.tiers", core::SettingType::kTextList, "",
     "what a mount is made for, such as \"/scratch=flash\": memory, node, flash, disk or home"},
};

}  // namespace belay::observe

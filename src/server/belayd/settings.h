// What may be configured of belayd.
#pragma once

#include "core/config.h"

namespace belay::server {

inline constexpr core::Setting kSettings[] = {
    {"server.data", core::SettingType::kText, "/var/lib/belay", "directory for blocks, records and state"},
    {"server.listen", core::SettingType::kText, "127.0.0.1:8440",
     "address and port; [::]:8440 for all addresses"},
    {"server.hosts", core::SettingType::kTextList, "",
     "names by which clients reach it, without ports; those of this machine are known"},
    {"server.certificate", core::SettingType::kText, "",
     "PEM file of its certificate; without one it makes its own in the data directory"},
    {"server.key", core::SettingType::kText, "", "PEM file of the key of server.certificate"},
    {"server.database", core::SettingType::kText, "",
     "state: sqlite:FILE or postgresql://…; without one a file in the data directory"},
    {"server.name", core::SettingType::kText, "a", "name of this belayd among those of one data directory"},
    {"server.slurm", core::SettingType::kText, "auto",
     "ask Slurm who runs what: yes, no, or auto: where it is there"},
    {"server.cluster", core::SettingType::kText, "",
     "name of the cluster, as agents are given it; without it, as Slurm says"},
    {"server.slurm_interval", core::SettingType::kDuration, "10s", "time between two looks at Slurm's queue"},
    {"server.record_delay", core::SettingType::kDuration, "2m",
     "from a job's end until its record is cut, where data are missing"},
    {"server.threads", core::SettingType::kInteger, "2", "threads that serve connections"},
    {"server.workers", core::SettingType::kInteger, "8", "threads that work for requests"},
};

}  // namespace belay::server

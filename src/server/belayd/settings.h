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
    {"server.staff", core::SettingType::kTextList, "",
     "users who see all jobs, when munge or the provider says who they are"},
    {"server.url", core::SettingType::kText, "",
     "of this server as browsers see it; needed to log in by a provider of identities"},
    {"server.oidc_issuer", core::SettingType::kText, "",
     "provider of identities (OpenID Connect), as its tokens name it"},
    {"server.oidc_client", core::SettingType::kText, "", "name by which the provider knows this server"},
    {"server.oidc_secret_file", core::SettingType::kText, "",
     "file with the secret that the provider gave, where it gave one"},
    {"server.oidc_user_claim", core::SettingType::kText, "preferred_username",
     "claim that names the user, as Slurm does"},
    {"server.oidc_staff_groups", core::SettingType::kTextList, "",
     "groups of the provider whose members see all jobs"},
    {"server.threads", core::SettingType::kInteger, "2", "threads that serve connections"},
    {"server.workers", core::SettingType::kInteger, "8", "threads that work for requests"},
};

}  // namespace belay::server

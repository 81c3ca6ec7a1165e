// proc_0.meta.txt of gssr-record: what ran. It looks like JSON, but nothing in it is escaped.
#pragma once

#include "core/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

struct GssrMeta {
    std::string version;             // of the recorder
    std::optional<core::Time> date;  // at which the recorder of rank 0 began
    std::string cluster;             // empty outside Slurm
    std::optional<int64_t> job_id;
    std::string job_name;
    std::optional<int64_t> gpus;  // that the job held on the first node
    std::optional<int64_t> step_nodes;
    std::vector<std::string> command;
};

// Takes whatever can be understood, key by key; of a key that stands twice the first. Any bytes are safe to
// pass.
GssrMeta parse_gssr_meta(std::string_view text);

}  // namespace belay::record

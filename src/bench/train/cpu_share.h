// Which ranks of a run have the same CPUs: the launcher may have bound each to its own, or left all of a node to all of its ranks.
#pragma once

#include "bench/train/group.h"
#include "bench/train/sharing.h"
#include "core/error.h"

#include <vector>

namespace belay::bench {

struct CpuShare {
    std::vector<int> usable;  // by this rank
    Sharing with;             // those that may use the same ones
    int threads() const;      // an equal part of the CPUs, one at least
};

// Every rank of the group calls it. Errors: kSystem.
core::Result<CpuShare> cpu_share(Group& group);

}  // namespace belay::bench

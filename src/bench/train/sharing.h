// Which ranks of a run have something of their node in common: a directory, CPUs.
#pragma once

#include "bench/train/group.h"
#include "core/error.h"

#include <string_view>

namespace belay::bench {

struct Sharing {
    int number = 0;  // of this rank among those that share
    int ranks = 1;   // that do
};

// Those on the same node that name the same thing as this rank. Every rank of the group calls it. Errors: of the group.
core::Result<Sharing> sharing(Group& group, std::string_view thing);

}  // namespace belay::bench

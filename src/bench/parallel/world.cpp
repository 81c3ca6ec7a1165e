#include "bench/parallel/world.h"

#include "core/text.h"
#include "slurm/step.h"

namespace belay::bench {

using core::bad_input;
using core::Result;

namespace {

bool has(const core::Environment& environment, const std::string& name) {
    auto it = environment.find(name);
    return it != environment.end() && !it->second.empty();
}

Result<int> number_in(const core::Environment& environment, const std::string& name, int smallest) {
    auto it = environment.find(name);
    if (it == environment.end()) return bad_input("{} is not set", name);
    auto number = core::parse_number<int>(it->second);
    if (!number || *number < smallest)
        return bad_input("{}: \"{}\" is not a whole number from {} on", name, it->second, smallest);
    return *number;
}

Result<World> from_variables(const core::Environment& environment) {
    World world{.launcher = Launcher::kVariables};
    BELAY_TRY(rank, number_in(environment, "RANK", 0));
    BELAY_TRY(size, number_in(environment, "WORLD_SIZE", 1));
    world.rank = rank;
    world.size = size;
    world.local_size = size;
    if (has(environment, "LOCAL_WORLD_SIZE")) {
        BELAY_TRY(local_size, number_in(environment, "LOCAL_WORLD_SIZE", 1));
        world.local_size = local_size;
        world.nodes = (size + local_size - 1) / local_size;
    }
    world.local_rank = rank % world.local_size;
    if (has(environment, "LOCAL_RANK")) {
        BELAY_TRY(local_rank, number_in(environment, "LOCAL_RANK", 0));
        world.local_rank = local_rank;
    }
    return world;
}

World from_slurm(const slurm::Step& step) {
    auto size = static_cast<int>(step.task_count), nodes = static_cast<int>(step.nodes.size());
    return {.launcher = Launcher::kSlurm,
            .rank = static_cast<int>(step.rank),
            .size = size,
            .local_rank = static_cast<int>(step.local_rank),
            .local_size = (size + nodes - 1) / nodes,
            .nodes = nodes,
            .first_node = step.nodes.front()};
}

}  // namespace

Result<World> world_from(const core::Environment& environment) {
    World world;
    if (has(environment, "RANK") || has(environment, "WORLD_SIZE")) {
        BELAY_TRY(found, from_variables(environment));
        world = found;
    } else {
        BELAY_TRY(step, slurm::read_step(slurm::lookup_in(environment)));
        if (step) world = from_slurm(*step);
    }
    if (world.rank >= world.size)
        return bad_input("rank {} does not exist in a run of {} processes", world.rank, world.size);
    return world;
}

}  // namespace belay::bench

#include "faults.h"

#include <fmt/format.h>

namespace belay::second_generator {

const char* name_of(Band band) {
    constexpr const char* kNames[] = {"negligible", "weak", "clear"};
    return kNames[static_cast<size_t>(band)];
}

std::vector<const Cause*> all_causes() {
    std::vector<const Cause*> all;
    for (auto part : {data_causes(), pace_causes(), end_causes(), host_causes(), gpu_causes(),
                      fabric_causes(), model_causes()})
        for (const Cause& cause : part) all.push_back(&cause);
    return all;
}

double cost(Random& random, Band band) {
    switch (band) {
        case Band::kNegligible:
            return random.uniform(0.005, 0.035);
        case Band::kWeak:
            return random.uniform(0.06, 0.13);
        case Band::kClear:
            break;
    }
    return random.uniform(0.2, 0.65);
}

double stretch(double cost) {
    return 1 / (1 - cost);
}

double onset(const Job& job, Random& random) {
    return random.chance(0.5) ? 0 : midway(job, random);
}

double midway(const Job& job, Random& random) {
    const double start = job.work.start_seconds * 1.1 + job.work.compile_seconds;
    return start + random.uniform(0.15, 0.6) * std::max(1.0, job.shape.seconds - start);
}

std::string rank_text(const Job& job, int rank) {
    return fmt::format("node {} rank {}", job.node_of(rank), rank);
}

std::string gpu_text(int node, int gpu) {
    return fmt::format("node {} GPU {}", node, gpu);
}

double by_band(Band band, double negligible, double weak, double clear) {
    return band == Band::kClear ? clear : band == Band::kWeak ? weak : negligible;
}

}  // namespace belay::second_generator

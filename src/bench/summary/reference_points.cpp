#include "bench/summary/reference_points.h"

#include <algorithm>

namespace belay::bench {

namespace {

constexpr double kCosmoflow32[] = {8, 8, 9, 8, 6, 8, 6, 6, 7, 8, 8, 8, 9, 8, 7, 8, 6,
                                   9, 8, 8, 8, 8, 9, 8, 9, 8, 8, 8, 8, 8, 8, 8, 8};
constexpr double kCosmoflow64[] = {19, 18, 20, 17, 18, 19, 18, 18, 18, 18,
                                   18, 18, 18, 19, 18, 18, 18, 18, 18, 20};
constexpr double kCosmoflow128[] = {16, 18, 18, 18, 18, 17, 18, 18, 18, 18,
                                    18, 18, 17, 18, 18, 18, 19, 18, 18, 18};
constexpr double kCosmoflow512[] = {22, 23, 23, 24, 24, 21, 23, 23, 23, 23,
                                    24, 23, 23, 21, 23, 23, 21, 23, 23, 23};
constexpr double kCosmoflow1024[] = {42, 38, 42, 40, 40, 39, 43, 37, 39, 37,
                                     43, 39, 38, 42, 40, 42, 42, 38, 36, 43};

constexpr double kDeepcam128Round1[] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
constexpr double kDeepcam128[] = {7, 7, 7, 7, 7, 7, 7, 8, 8, 6, 7, 8, 7, 6, 6, 7, 7, 6, 7, 7};
constexpr double kDeepcam256[] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
constexpr double kDeepcam512[] = {11, 11, 11, 11, 11, 10, 16, 12, 11, 11, 11, 10, 11, 11,
                                  11, 10, 11, 11, 11, 11, 11, 11, 11, 12, 11, 11, 11, 11,
                                  13, 10, 11, 13, 11, 11, 11, 10, 14, 10, 10, 10};
constexpr double kDeepcam1024[] = {13, 13, 12, 13, 13, 13, 14, 13, 13, 13};
constexpr double kDeepcam2048[] = {23, 23, 22, 23, 22, 26, 22, 22, 24, 22};

constexpr double kOc20With256[] = {20, 18, 20, 20, 22, 18, 19, 19, 21, 21};
constexpr double kOc20With1024[] = {23, 25, 22, 25, 25, 25, 25, 24, 23, 25};
constexpr double kOc20With2048[] = {33, 32, 33, 33, 33, 34, 33, 33, 30, 33};

constexpr double kOpenfold128[] = {97280, 87040, 81920,  92160, 92160, 87040, 92160, 81920, 81920, 81920,
                                   71680, 92160, 107520, 81920, 92160, 81920, 87040, 81920, 97280, 107520};
constexpr double kOpenfold256[] = {153600, 153600, 122880, 143360, 133120, 143360, 122880,
                                   122880, 112640, 112640, 133120, 153600, 122880, 133120,
                                   122880, 153600, 143360, 133120, 133120, 112640};

constexpr ReferenceRuns kRuns[] = {
    {"cosmoflow", 2, 3, 32, kCosmoflow32},     {"cosmoflow", 1, 3, 64, kCosmoflow64},
    {"cosmoflow", 1, 3, 128, kCosmoflow128},   {"cosmoflow", 1, 3, 512, kCosmoflow512},
    {"cosmoflow", 1, 3, 1024, kCosmoflow1024}, {"deepcam", 1, 1, 128, kDeepcam128Round1},
    {"deepcam", 2, 3, 128, kDeepcam128},       {"deepcam", 1, 3, 256, kDeepcam256},
    {"deepcam", 1, 3, 512, kDeepcam512},       {"deepcam", 1, 3, 1024, kDeepcam1024},
    {"deepcam", 1, 3, 2048, kDeepcam2048},     {"oc20", 1, 3, 256, kOc20With256},
    {"oc20", 1, 3, 1024, kOc20With1024},       {"oc20", 1, 3, 2048, kOc20With2048},
    {"openfold", 3, 3, 128, kOpenfold128},     {"openfold", 3, 3, 256, kOpenfold256},
};

struct RunCount {
    std::string_view benchmark;
    int first_round;
    size_t runs;
};
constexpr RunCount kCounts[] = {{"cosmoflow", 1, 10}, {"deepcam", 1, 5}, {"oc20", 1, 5}, {"openfold", 3, 10}};

struct NamedRound {
    std::string_view ruleset;
    int round;
};
constexpr NamedRound kRounds[] = {{"1.0.0", 1}, {"2.0.0", 2}, {"3.0.0", 3},
                                  {"1.0", 1},   {"2.0", 2},   {"3.0", 3}};

}  // namespace

std::vector<ReferenceRuns> reference_runs(int round, std::string_view benchmark) {
    std::vector<ReferenceRuns> found;
    for (const ReferenceRuns& runs : kRuns)
        if (runs.benchmark == benchmark && runs.first_round <= round && round <= runs.last_round)
            found.push_back(runs);
    std::ranges::sort(found, {}, &ReferenceRuns::batch);
    return found;
}

std::optional<size_t> required_runs(int round, std::string_view benchmark) {
    for (const RunCount& count : kCounts)
        if (count.benchmark == benchmark && count.first_round <= round) return count.runs;
    return std::nullopt;
}

std::string_view convergence_unit(std::string_view benchmark) {
    return benchmark == "openfold" ? "samples" : "epochs";
}

std::optional<int> round_of_rules(std::string_view ruleset) {
    for (const NamedRound& named : kRounds)
        if (named.ruleset == ruleset) return named.round;
    return std::nullopt;
}

}  // namespace belay::bench

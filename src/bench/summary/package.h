// A submission package as it lies on disk: systems/*.json and results/SYSTEM/{strong,weak}/BENCHMARK/result_*.txt.
//
// Somebody else packed it: no symbolic link is followed, only regular files are read, and what is too large or
// too many is left out. Whatever of this happens is a problem of the folder where it does, and the walk goes on.
#pragma once

#include "bench/compliance/check.h"
#include "bench/summary/system_description.h"
#include "core/directory.h"
#include "core/error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

inline constexpr size_t kMostSystemBytes = size_t{1} << 20;
inline constexpr size_t kMostFolders = 10'000;  // organisations, systems, benchmarks: of one folder each
inline constexpr size_t kMostLogsOfFolder = 100'000;  // 648 is the most that was published

// What package_checker_params switches off.
struct Bypass {
    bool rcp = false, seeds = false;
};
// Lines "rcp-bypass" and "seed-checker-bypass". `official`: as package_checker.py 4.1.59 reads them, which
// compares each line with its newline, so that only an unterminated last one counts.
Bypass parse_bypass(std::string_view text, bool official);

// The factor in scaling.json, which the official RCP checker leaves beside the logs. Errors: kBadInput.
core::Result<double> parse_scaling(std::string_view text, std::string_view file);
// Its bytes as the official tool writes them.
std::string format_scaling(double factor);

struct BenchmarkFolder {
    std::string system, scaling,
        benchmark;                         // names of folders; scaling is "strong", "weak" or something wrong
    std::string path;                      // from the root of the walk: "org/results/SYSTEM/strong/oc20"
    std::vector<std::string> logs;         // result_*.txt, sorted
    std::vector<std::string> others;       // neither logs nor known, sorted
    std::vector<std::string> pruned_logs;  // the same in pruned_results/, with that name before them
    Bypass bypass;                         // of the system and of this folder
    std::optional<double> scaling_file;
    bool has_code = false;  // benchmarks/BENCHMARK is a folder
    std::vector<std::string> problems;
};

struct SystemFolder {
    std::string name;
    std::optional<SystemDescription> description;
    std::vector<BenchmarkFolder> benchmarks;
    std::vector<std::string> problems;
};

struct Package {
    std::string name;  // of the organisation's folder
    std::vector<SystemFolder> systems;
    std::vector<std::string> problems;
};

// `root` is a package, a folder of packages, or one folder of result_*.txt; of the last, names come from the path
// where it is one of a package. Errors: kBadInput where it is none of them; kSystem where it cannot be listed.
core::Result<std::vector<Package>> walk_packages(const core::Directory& root, bool official);

}  // namespace belay::bench

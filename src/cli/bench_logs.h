// The logs that `belay bench analyze` is given: found in directories, read, judged, and placed in the package that they are in.
#pragma once

#include "bench/analysis/run.h"
#include "core/error.h"

#include <string>
#include <vector>

namespace belay::cli {

struct LogSearch {
    std::vector<std::string>
        paths;  // logs, and directories that are searched for result_*.txt, *.log and *.mllog
    std::string ruleset;
    std::vector<std::string> staging_excluded;  // names of systems whose staging moves nothing
    size_t threads = 1;
};

struct FoundLogs {
    std::vector<bench::RunInput> runs;  // in the order of their paths
    std::vector<std::string> left_out;  // with the reason
};

// Links are not followed. Errors: kBadInput where a path is not there, or no log is found; kSystem.
core::Result<FoundLogs> find_logs(const LogSearch& search);

}  // namespace belay::cli

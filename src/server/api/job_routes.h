// The routes of jobs: lists, what is known of one, its record and what was made of it, and what its owner may change.
#pragma once

#include "http/router.h"
#include "server/api/gate.h"
#include "server/live/hub.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Records as the routes need them. Each may block.
struct JobRecords {
    // The directory of a sealed record. Errors: kNotFound.
    std::function<core::Result<std::filesystem::path>(const Job& job)> record;
    // A file that was made of it: "score.json", "findings.json", "summary.json", "report.html". Errors: kNotFound where it is not there
    // yet, or could not be made, with why.
    std::function<core::Result<std::string>(const Job& job, std::string_view file)> answer;
    // The answer to a person's SQL as JSON. Errors: kBadInput for what is wrong with it, kTimedOut.
    std::function<core::Result<std::string>(const Job& job, const std::string& sql)> query;
    // Removes the record and all that was made of it.
    std::function<core::Result<>(const Job& job)> erase;
};

// `gate`, `hub` and what the functions use must outlive the routes.
std::vector<http::Route> job_routes(const Gate& gate, JobRecords records, LiveHub& hub);

}  // namespace belay::server

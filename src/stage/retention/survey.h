// belay stage retention: what a policy would purge of a tree, when, and whose. Only regular files count;
// directories, links and others are left. Nothing is changed.
#pragma once

#include "stage/retention/sums.h"
#include "stage/walk/walk.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace belay::stage {

struct Survey {
    RetentionCounts counts = {};  // without the entries, which are those of the list
    PurgeList list = {};
    Occupancy occupancy = {};
    Pressure pressure = Pressure::kNone;
    // Where more may be listed than the policy's author means: for whoever signs the list.
    std::vector<std::string> warnings = {};
    std::vector<std::string> notes = {};
    WalkReport walk = {};
};

struct SurveyOptions {
    size_t threads = 8;
    double most_calls_per_second = 0;
    core::Time now = {};
    bool with_list = true;  // else what is due is counted and not named
    const std::atomic<bool>* stop = nullptr;
    std::function<void(uint64_t looked)> progress = {};  // WalkOptions::progress
};

// Errors: kBadInput where `directory` is not one, for users that nobody knows; kSystem, kCancelled once `stop`
// is set.
core::Result<Survey> survey(const std::filesystem::path& directory, const RetentionPolicy& policy,
                            const SurveyOptions& options);

// What is to be said of the tree `root` besides its sums, of which the counts are. Pure.
std::vector<std::string> warnings_of(const RetentionRules& rules, const RetentionCounts& counts,
                                     std::string_view root);

nlohmann::ordered_json to_json(const Survey& survey, const RetentionPolicy& policy);

}  // namespace belay::stage

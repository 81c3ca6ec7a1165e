// Where the files of a recording of gssr are.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace belay::record {

struct GssrFile {
    int64_t rank = 0;  // of the task that recorded its node
    std::filesystem::path path;
    uint64_t bytes = 0;
};

struct GssrStep {
    int64_t number = 0;
    std::filesystem::path directory;
    std::vector<GssrFile> tables;  // proc_N.csv, by rank
    std::vector<GssrFile> metas;   // proc_N.meta.txt, by rank
};

// What a source is: steps of CSV (gssr-record, in C) or files of JSON (gssr, in Python), never both.
struct GssrLayout {
    std::filesystem::path root;                // places in messages are below it
    std::vector<GssrStep> steps;               // by number
    std::vector<std::filesystem::path> jsons;  // by name
};

// The source may be the directory of a job, the one above it if there is only one job in it, or one step's.
// Errors: kBadInput if it is no recording, holds several jobs, or is a SQLite export; kSystem.
core::Result<GssrLayout> find_gssr(const std::filesystem::path& source);

}  // namespace belay::record

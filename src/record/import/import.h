// Recordings of other tools as job records: what they hold that ours has too, and every defect of theirs that
// was found on the way, told once. Nothing that they left out is made up.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::record {

struct ImportOptions {
    std::filesystem::path source;  // the recording
    std::filesystem::path record;  // must not exist, or be an empty directory
    std::vector<int64_t> gpus;     // of each node, those that the job held; empty: all that were recorded
    std::string model;             // of the GPUs, which no recording names; empty: not known
    core::Time now;
    std::string version;                                          // of Belay
    std::function<void(uint64_t done, uint64_t total)> progress;  // bytes of the recording
};

// Something in a recording that is not as it should be, or that a reader must know.
struct Defect {
    std::string_view kind;   // a word or the name of a field that others of the same kind share
    bool is_warning = true;  // else for information
    std::string node;        // empty: the whole recording
    std::string place;       // "step_0/proc_0.csv:17"
    std::string text;        // one sentence without its dot
    std::string sentence() const { return place.empty() ? text : place + ": " + text; }
};

struct Imported {
    int64_t rows = 0;  // of the table `gpu`
    size_t nodes = 0;
    size_t devices = 0;
    bool aggregates_only = false;  // there are no samples, so no score can be computed
    std::vector<Defect> defects;
};

// A recording of gssr, of either generation: the directory of CSV files that gssr-record writes (in C), or
// the directory of JSON files that gssr writes (in Python). The record is sealed when it appears at its
// place. Errors: kBadInput if the source is not such a recording or the record's place is taken; kSystem.
core::Result<Imported> import_gssr(const ImportOptions& options);

// A directory of jobreport. It holds a mean, a minimum and a maximum per GPU, so the record has devices,
// allocations and one event `jobreport` per GPU, and no samples. Errors: as above.
core::Result<Imported> import_jobreport(const ImportOptions& options);

}  // namespace belay::record

// The checkpoints in a directory: what belongs to which, and what each is worth.
#pragma once

#include "core/directory.h"
#include "stage/lint/keep.h"

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace belay::stage {

// The files of a directory divided among its checkpoints; without pointers and readers. It is one checkpoint
// itself (".", or what `own_name` says of its step) where it holds files of one and no directories that are
// called as one of a series; files of torch.save with several numbers of steps are one checkpoint for each
// number. Pure.
std::vector<CheckpointContent> divide(std::vector<CheckpointFile> files, const std::string& own_name);

struct CheckpointSeries {
    std::vector<Checkpoint> checkpoints = {};  // the newest first
    std::vector<std::string> notes = {};       // of the whole
};

// Nothing is changed, and no link is followed. Errors: kBadInput where `directory` is not one or holds no
// checkpoint; kSystem.
core::Result<CheckpointSeries> lint(const std::filesystem::path& directory, const CheckpointDemand& demand);

nlohmann::ordered_json to_json(const CheckpointSeries& series);
nlohmann::ordered_json to_json(const KeepPlan& plan);

}  // namespace belay::stage

// The checkpoints in a directory: what belongs to which, and what each is worth.
#pragma once

#include "core/directory.h"
#include "stage/lint/keep.h"

#include <filesystem>
#include <functional>

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

// Nothing is changed, and no link is followed. `demand` says nothing of readers: there are eight in all.
// `progress` is told how many bytes were read, from any thread, never from two at once. Errors: kBadInput
// where `directory` is not one or holds no checkpoint; kSystem.
core::Result<CheckpointSeries> lint(const std::filesystem::path& directory, CheckpointDemand demand,
                                    const std::function<void(uint64_t bytes)>& progress = {});

nlohmann::ordered_json to_json(const CheckpointSeries& series);
nlohmann::ordered_json to_json(const KeepPlan& plan);

}  // namespace belay::stage

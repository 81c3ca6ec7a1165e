// What makes a checkpoint complete, one rule for each thing that can be told. A rule adds what it finds to
// the judgement.
#pragma once

#include "stage/lint/checkpoint.h"
#include "stage/lint/torch_file.h"

#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

namespace belay::stage {

class Inspection {
  public:
    Inspection(const CheckpointContent& of, const CheckpointDemand& wanted, Checkpoint& judged);

    const CheckpointContent& content;
    const CheckpointDemand& demand;
    Checkpoint& result;

    void problem(CheckpointState state, std::string what) const {
        result.problems.push_back({state, std::move(what)});
    }
    void note(std::string what) const;  // once
    // Whether reading a file failed for what is said in the judgement: a job may still write, and purge,
    // while its checkpoints are looked at.
    bool tells(const std::string& name, const core::Error& error) const;
    const CheckpointFile* file(std::string_view name) const;
    // Read once for all rules; also from several threads.
    const core::Result<SafetensorsFile>& safetensors(const CheckpointFile& file) const;
    // Ranks that a rule counted; the largest number holds.
    void ranks(int64_t count, RankCount counted = RankCount::kAll) const;

  private:
    std::unordered_map<std::string_view, const CheckpointFile*> files_;
    mutable std::mutex mutex_;
    mutable std::map<const CheckpointFile*, core::Result<SafetensorsFile>> safetensors_;
};

using CheckpointRule = core::Result<> (*)(const Inspection& inspection);

// Of several formats.
core::Result<> temporary_files(const Inspection& inspection);     // that were left behind
core::Result<> marker_and_pointer(const Inspection& inspection);  // written last
core::Result<> files_by_content(const Inspection& inspection);    // each by its own content
core::Result<> numbered_parts(const Inspection& inspection);      // "-00002-of-00005"
core::Result<> ranks_by_name(const Inspection& inspection);       // "rank_3"
core::Result<> files_of_indexes(
    const Inspection& inspection);  // "model.safetensors.index.json" and its tensors
// Of one.
core::Result<> deepspeed_grids(const Inspection& inspection);  // data-parallel x model-parallel ranks
core::Result<> megatron_directories(
    const Inspection& inspection);  // mp_rank_TT[_PPP[_EEE]], with equal files in each
core::Result<> distributed_pieces(const Inspection& inspection);  // ".metadata" and the files that it names

}  // namespace belay::stage

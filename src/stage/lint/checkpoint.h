// belay stage checkpoint lint: whether what lies in a directory is a checkpoint that training can go on from.
//
//   complete  everything is there that its index, names or pointer speak of, as long as it must be
//   partial   a file of a rank or a shard is missing
//   torn      a file is shorter than its own content says, or a checksum of it is wrong
//   unsynced  nothing says that the write came to its end: the pointer or marker does not exist or names an
//             older one, or a temporary file was left behind
//   foreign   it was written by another number of ranks, or by two different ones
//
// Only what is complete counts for what is kept (keep.h). Pure: what is read comes through a function.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// From the best to the worst: where several hold, a checkpoint is in the last of them.
enum class CheckpointState { kComplete, kUnsynced, kTorn, kPartial, kForeign };
std::string_view to_text(CheckpointState state);

struct CheckpointFile {
    std::string name;  // beneath the checkpoint: "mp_rank_00/model_optim_rng.pt"
    uint64_t bytes = 0;
    int64_t modified = 0;                          // nanoseconds since 1970
    std::optional<uint64_t> allocated_bytes = {};  // on the device; 0 of a hole that was never written to
};

// `size` bytes of a file of the checkpoint, fewer only at its end; from several threads at once where
// CheckpointDemand::readers says so. Errors: kSystem.
using ReadPiece =
    std::function<core::Result<std::string>(const std::string& name, uint64_t offset, size_t size)>;

// The file beside the checkpoints of a series that names the last one that was written to its end: "latest"
// of DeepSpeed, "latest_checkpointed_iteration.txt" of Megatron.
struct CheckpointPointer {
    std::string file;
    std::string text;  // "global_step500", "500", "release"
    bool operator==(const CheckpointPointer&) const = default;
};

struct CheckpointContent {
    std::string name;            // for people, beneath the directory that was named; "." for that itself
    std::string directory = {};  // in which its files are, likewise; "" for that itself
    std::optional<int64_t> step = {};
    std::vector<CheckpointFile> files = {};  // by name
    std::optional<CheckpointPointer> pointer = {};
    ReadPiece read = {};
};

struct CheckpointDemand {
    std::optional<int64_t> ranks = {};  // that the job has which would go on from it
    std::string marker = {};            // a file that a program writes last, where it writes one
    bool checksums = false;             // also reads all of each file that has a checksum
    size_t readers = 1;                 // threads that read files of a checkpoint
};

struct CheckpointProblem {
    CheckpointState state = CheckpointState::kPartial;
    std::string what;
    bool operator==(const CheckpointProblem&) const = default;
};

// What the names of files tell of how many ranks wrote them.
enum class RankCount {
    kAll,      // all of the job
    kDivisor,  // those of one model replica
    kAtLeast,  // those that had something to write
};

struct Checkpoint {
    std::string name;
    std::optional<int64_t> step = {};
    std::string format = {};            // a name of checkpoint_formats()
    std::optional<int64_t> ranks = {};  // that wrote it, where that can be told
    RankCount counted = RankCount::kAll;
    uint64_t files = 0;
    uint64_t bytes = 0;
    int64_t modified = 0;  // of its newest file, nanoseconds since 1970
    CheckpointState state = CheckpointState::kComplete;
    std::vector<CheckpointProblem> problems = {};  // why it is not complete, the worst first
    std::vector<std::string> notes = {};           // what could not be checked
};

// Names for messages and JSON: "torch.save", "torch distributed", "Megatron", "DeepSpeed", "safetensors".
std::vector<std::string_view> checkpoint_formats();
// The format of a checkpoint of these files; nothing where none of them belongs to one.
std::optional<std::string_view> checkpoint_format(const std::vector<CheckpointFile>& files);

// Errors: of `read`.
core::Result<Checkpoint> judge(const CheckpointContent& content, const CheckpointDemand& demand);

// Where nobody says how many ranks there are: one that fewer ranks wrote than another of its format in the
// series is foreign, as its names do not tell it from one in which the last ranks are missing.
void compare_ranks(std::vector<Checkpoint>& checkpoints);

}  // namespace belay::stage

// Names of checkpoint files: numbers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// The numbers of a name that is like a pattern, in which "#" stands for digits and "*" for anything:
// ("mp_rank_#_model_states.pt", "mp_rank_03_model_states.pt") -> {3}. Nothing where the name is not like it.
std::optional<std::vector<int64_t>> numbers_of(std::string_view pattern, std::string_view name);

// A file of one rank: "model_rank3.pt", "rank_3/model.pt", "optim-rank-3-of-8.pt".
struct RankName {
    int64_t rank = 0;
    std::string others;  // the name with "*" in the place of the rank, equal for all ranks
};
std::optional<RankName> rank_name(std::string_view name);

// One of several parts: "model-00002-of-00005.safetensors".
struct PartName {
    int64_t part = 0;
    int64_t parts = 0;
    std::string others;  // with "*" in the place of both numbers
};
std::optional<PartName> part_name(std::string_view name);

// The number of steps in the last part of a path, which is its last number beside rank and part: 500 of
// "iter_0000500", "checkpoint-500", "epoch=1-step=500.ckpt", "step500_rank3.pt".
std::optional<int64_t> step_of(std::string_view name);
// Whether it is called as one of a series: "iter_0000500", "global_step500", "checkpoint-500".
bool is_step_directory(std::string_view name);

// What programs call a file that they have not finished: "x.tmp", ".tmp-x", "x.part".
bool is_temporary_name(std::string_view name);

std::string_view last_part(std::string_view path);

}  // namespace belay::stage

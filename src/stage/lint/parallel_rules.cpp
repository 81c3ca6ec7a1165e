// Rules of the formats in which many ranks write, by how those name their files.
#include "core/text.h"
#include "stage/lint/names.h"
#include "stage/lint/rules.h"
#include "stage/lint/stored_pieces.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kMostMetadataBytes = uint64_t{512} << 20;

// deepspeed/runtime/engine.py and pipe/module.py: which of a name's numbers count ranks from 0.
struct Grid {
    std::string_view pattern;
    std::string_view what;
    std::array<int, 2>
        data_and_model;  // which number is the data-parallel and the model-parallel rank; -1: none is
};
constexpr std::array<Grid, 3> kGrids = {{
    {"*zero_pp_rank_#_mp_rank_#_optim_states.pt", "optimizer states", {0, 1}},
    {"*zero_pp_rank_#_mp_rank_#_model_states.pt", "model states of ZeRO 3", {0, 1}},
    {"mp_rank_#_model_states.pt", "model states", {-1, 0}},
}};

using Cell = std::pair<int64_t, int64_t>;  // data-parallel and model-parallel rank

// A grid can be told from the files as far as they reach; a product of more than this is not a checkpoint of
// ours.
constexpr int64_t kMostCells = int64_t{1} << 20;

// With pipeline parallelism each layer is a file of each tensor-parallel rank; mp_rank_* counts both kinds of
// ranks. A layer without parameters has no file, so numbers may be left out
// (deepspeed/runtime/pipe/module.py). Whether there are any.
bool check_layers(const Inspection& inspection) {
    std::map<int64_t, std::set<int64_t>> layers;
    int64_t last = 0;
    for (const CheckpointFile& file : inspection.content.files) {
        const std::string_view name = last_part(file.name);
        if (const auto alone = numbers_of("layer_#-model_states.pt", name)) layers[(*alone)[0]].insert(0);
        if (const auto both = numbers_of("layer_#-model_#-model_states.pt", name)) {
            layers[(*both)[0]].insert((*both)[1]);
            last = std::max(last, (*both)[1]);
        }
    }
    for (const auto& [layer, ranks] : layers)
        if (static_cast<int64_t>(ranks.size()) <= last)
            inspection.problem(CheckpointState::kPartial,
                               fmt::format("layer {}: {} of {} tensor-parallel ranks are there", layer,
                                           ranks.size(), last + 1));
    return !layers.empty();
}

}  // namespace

Result<> deepspeed_grids(const Inspection& inspection) {
    std::map<std::string_view, std::set<Cell>> cells;
    int64_t data = 0;
    int64_t model = 0;
    for (const CheckpointFile& file : inspection.content.files)
        for (const Grid& grid : kGrids) {
            const auto numbers = numbers_of(grid.pattern, last_part(file.name));
            if (!numbers) continue;
            auto number = [&](int place) { return place < 0 ? 0 : (*numbers)[static_cast<size_t>(place)]; };
            const Cell cell{number(grid.data_and_model[0]), number(grid.data_and_model[1])};
            cells[grid.what].insert(cell);
            data = std::max(data, cell.first + 1);
            model = std::max(model, cell.second + 1);
            break;
        }
    const bool has_layers = check_layers(inspection);
    if (cells.empty()) {
        if (has_layers)
            inspection.problem(CheckpointState::kPartial,
                               "there are layers, but no mp_rank_* with the state of the training");
        return {};
    }
    const bool has_data_ranks =
        data > 0 && (cells.contains("optimizer states") || cells.contains("model states of ZeRO 3"));
    if (data > kMostCells / std::max<int64_t>(model, 1)) {
        inspection.problem(CheckpointState::kForeign,
                           fmt::format("names {} data-parallel and {} model-parallel ranks", data, model));
        return {};
    }
    const int64_t ranks = std::max<int64_t>(data, 1) * model;
    for (const Grid& grid : kGrids) {
        const auto found = cells.find(grid.what);
        if (found == cells.end()) continue;
        const int64_t wanted_data = grid.data_and_model[0] < 0 ? 1 : data;
        std::vector<std::string> missing;
        for (int64_t d = 0; d < wanted_data; ++d)
            for (int64_t m = 0; m < model; ++m)
                if (!found->second.contains({d, m}))
                    missing.push_back(wanted_data == 1 ? std::to_string(m) : fmt::format("{}x{}", d, m));
        if (missing.empty()) continue;
        inspection.problem(
            CheckpointState::kPartial,
            fmt::format("{} of {}: {}, the first that of rank {}", grid.what,
                        core::format_count(static_cast<uint64_t>(wanted_data * model), "rank"),
                        core::format_count(missing.size(), "is missing", "are missing"), missing.front()));
    }
    if (!cells.contains("model states") && !cells.contains("model states of ZeRO 3") && !has_layers)
        inspection.problem(CheckpointState::kPartial, "there are optimizer states, but no model states");
    // Without optimizer states of data-parallel ranks those cannot be told.
    inspection.ranks(ranks, has_data_ranks ? RankCount::kAll : RankCount::kDivisor);
    return {};
}

Result<> megatron_directories(const Inspection& inspection) {
    std::map<std::vector<int64_t>, std::set<std::string>>
        directories;  // by tensor-, pipeline- and expert-parallel rank
    for (const CheckpointFile& file : inspection.content.files) {
        const size_t slash = file.name.rfind('/');
        if (slash == std::string::npos || is_temporary_name(file.name)) continue;
        const std::string_view directory = last_part(std::string_view(file.name).substr(0, slash));
        for (const std::string_view pattern : {"mp_rank_#_#_#", "mp_rank_#_#", "mp_rank_#"})
            if (const auto numbers = numbers_of(pattern, directory)) {
                directories[*numbers].insert(file.name.substr(slash + 1));
                break;
            }
    }
    std::map<size_t, std::vector<int64_t>> largest;  // by how many numbers their names have
    std::set<std::string> names;
    for (const auto& [numbers, held] : directories) {
        auto& most = largest[numbers.size()];
        most.resize(numbers.size());
        for (size_t at = 0; at < numbers.size(); ++at) most[at] = std::max(most[at], numbers[at]);
        names.insert(held.begin(), held.end());
    }
    if (largest.size() > 1) {
        inspection.problem(CheckpointState::kForeign,
                           "has directories of jobs with and without pipeline parallelism");
        return {};
    }
    if (largest.empty()) return {};
    int64_t cells = 1;
    for (const int64_t most : largest.begin()->second)
        cells = most >= kMostCells / cells ? kMostCells : cells * (most + 1);
    if (cells > static_cast<int64_t>(directories.size()))
        inspection.problem(CheckpointState::kPartial,
                           fmt::format("{} of {} directories mp_rank_* exist", directories.size(), cells));
    for (const auto& [numbers, held] : directories)
        for (const std::string& name : names)
            if (!held.contains(name))
                inspection.problem(
                    CheckpointState::kPartial,
                    fmt::format("{} of model-parallel rank {} is missing", name, fmt::join(numbers, "_")));
    inspection.note(
        "the files tell model-parallel ranks; how many data-parallel ones there were is not written in their "
        "names");
    inspection.ranks(cells, RankCount::kDivisor);
    return {};
}

Result<> distributed_pieces(const Inspection& inspection) {
    std::map<std::string, std::string> metadata;  // by directory, the file's name
    std::set<std::string> shards;
    for (const CheckpointFile& file : inspection.content.files) {
        const size_t slash = file.name.rfind('/');
        const std::string directory = slash == std::string::npos ? "" : file.name.substr(0, slash + 1);
        if (last_part(file.name) == ".metadata") metadata[directory] = file.name;
        if (file.name.ends_with(".distcp")) {
            shards.insert(file.name);
            metadata.try_emplace(directory);
        }
    }
    std::set<int64_t> ranks;
    for (const auto& [directory, name] : metadata) {
        if (name.empty()) {
            inspection.problem(
                CheckpointState::kUnsynced,
                fmt::format("the file that is written last, {}.metadata, is missing", directory));
            continue;
        }
        const CheckpointFile& file = *inspection.file(name);
        if (file.bytes > kMostMetadataBytes) {
            inspection.note(fmt::format("{}: is too large to be checked", name));
            continue;
        }
        const auto text = inspection.content.read(name, 0, static_cast<size_t>(file.bytes));
        if (!text && inspection.tells(name, text.error())) continue;
        if (!text) return std::unexpected(text.error());
        const auto pieces = stored_pieces(*text);
        if (!pieces && pieces.error().cause() == core::Cause::kNoSpace) {
            inspection.note(fmt::format("{}: is too large to be checked", name));
            continue;
        }
        if (!pieces) {
            inspection.problem(CheckpointState::kTorn, fmt::format("{}: {}", name, pieces.error().message()));
            continue;
        }
        for (const auto& [piece, end] : *pieces) {
            const std::string path = directory + piece;
            shards.erase(path);
            if (const auto numbers = numbers_of("__#_#.distcp", last_part(piece)))
                ranks.insert((*numbers)[0]);
            const CheckpointFile* shard = inspection.file(path);
            if (shard == nullptr)
                inspection.problem(CheckpointState::kPartial,
                                   fmt::format("{}: is missing, though {} names it", path, name));
            else if (shard->bytes < end)
                inspection.problem(CheckpointState::kTorn,
                                   fmt::format("{}: is {} long, but its pieces end at byte {}", path,
                                               core::format_count(shard->bytes, "byte"), end));
        }
        for (const std::string& shard : shards)
            if (shard.starts_with(directory) && shard.find('/', directory.size()) == std::string::npos)
                inspection.problem(
                    CheckpointState::kForeign,
                    fmt::format("{}: {} does not name it: it is left over from another number of ranks",
                                shard, name));
    }
    // Megatron writes these beside them.
    if (inspection.file("metadata.json") != nullptr && inspection.file("common.pt") == nullptr)
        inspection.problem(CheckpointState::kPartial, "common.pt is missing");
    if (!ranks.empty()) inspection.ranks(*ranks.rbegin() + 1, RankCount::kAtLeast);
    return {};
}

}  // namespace belay::stage

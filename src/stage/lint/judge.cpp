#include "core/text.h"
#include "stage/lint/names.h"
#include "stage/lint/rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

namespace belay::stage {

namespace {

using core::Result;

constexpr std::array<CheckpointRule, 4> kDeepSpeedRules = {deepspeed_grids, files_by_content, temporary_files,
                                                           marker_and_pointer};
constexpr std::array<CheckpointRule, 4> kMegatronRules = {megatron_directories, files_by_content,
                                                          temporary_files, marker_and_pointer};
constexpr std::array<CheckpointRule, 4> kDistributedRules = {distributed_pieces, files_by_content,
                                                             temporary_files, marker_and_pointer};
constexpr std::array<CheckpointRule, 6> kOtherRules = {
    files_by_content, files_of_indexes, numbered_parts, ranks_by_name, temporary_files, marker_and_pointer};

struct Format {
    std::string_view name;
    std::array<std::string_view, 4>
        patterns;  // of paths of files; the format is that of the first row with one of them
    std::span<const CheckpointRule> rules;
};
constexpr std::array<Format, 5> kFormats = {{
    {"DeepSpeed", {"*_model_states.pt", "*-model_states.pt", "*_optim_states.pt"}, kDeepSpeedRules},
    {"Megatron", {"*mp_rank_#/*", "*mp_rank_#_#/*", "*mp_rank_#_#_#/*"}, kMegatronRules},
    {"torch distributed", {"*.distcp", ".metadata", "*/.metadata"}, kDistributedRules},
    {"safetensors", {"*.safetensors", "*.safetensors.index.json"}, kOtherRules},
    {"torch.save", {"*.pt", "*.pth", "*.bin", "*.ckpt"}, kOtherRules},
}};

bool is_of(const Format& format, const CheckpointFile& file) {
    return std::ranges::any_of(format.patterns, [&](std::string_view pattern) {
        return !pattern.empty() && numbers_of(pattern, file.name);
    });
}

const Format* format_of(const std::vector<CheckpointFile>& files) {
    for (const Format& format : kFormats)
        if (std::ranges::any_of(files, [&](const CheckpointFile& file) {
                return !is_temporary_name(file.name) && is_of(format, file);
            }))
            return &format;
    // What was being written when its program died may be all that there is.
    for (const Format& format : kFormats)
        for (const CheckpointFile& file : files) {
            const size_t end = file.name.rfind('.');
            if (!is_temporary_name(file.name)) continue;
            if (is_of(format, file) ||
                (end != std::string::npos && is_of(format, {.name = file.name.substr(0, end)})))
                return &format;
        }
    return nullptr;
}

void take_worst(Checkpoint& checkpoint) {
    std::ranges::stable_sort(checkpoint.problems, std::ranges::greater(), &CheckpointProblem::state);
    if (!checkpoint.problems.empty()) checkpoint.state = checkpoint.problems.front().state;
}

}  // namespace

std::string_view to_text(CheckpointState state) {
    static constexpr std::array<std::string_view, 5> kNames = {"complete", "unsynced", "torn", "partial",
                                                               "foreign"};
    return kNames[static_cast<size_t>(state)];
}

std::vector<std::string_view> checkpoint_formats() {
    std::vector<std::string_view> names;
    for (const Format& format : kFormats) names.push_back(format.name);
    return names;
}

std::optional<std::string_view> checkpoint_format(const std::vector<CheckpointFile>& files) {
    const Format* format = format_of(files);
    return format != nullptr ? std::optional(format->name) : std::nullopt;
}

Inspection::Inspection(const CheckpointContent& of, const CheckpointDemand& wanted, Checkpoint& judged)
    : content(of), demand(wanted), result(judged) {
    for (const CheckpointFile& each : of.files) files_.try_emplace(each.name, &each);
}

void Inspection::note(std::string what) const {
    if (std::ranges::find(result.notes, what) == result.notes.end()) result.notes.push_back(std::move(what));
}

bool Inspection::tells(const std::string& name, const core::Error& error) const {
    if (error.cause() == core::Cause::kDenied) {
        note(fmt::format("{}: may not be read, so its content was not checked", name));
        return true;
    }
    if (error.cause() != core::Cause::kNotFound) return false;
    std::string what = fmt::format("{}: has gone since the files were listed", name);
    if (std::ranges::find(result.problems, what, &CheckpointProblem::what) == result.problems.end())
        problem(CheckpointState::kPartial, std::move(what));
    return true;
}

const CheckpointFile* Inspection::file(std::string_view name) const {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : found->second;
}

const core::Result<SafetensorsFile>& Inspection::safetensors(const CheckpointFile& file) const {
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = safetensors_.find(&file); known != safetensors_.end()) return known->second;
    }
    auto read = judge_safetensors_file(file, content.read);
    const std::lock_guard lock(mutex_);
    return safetensors_.try_emplace(&file, std::move(read)).first->second;
}

void Inspection::ranks(int64_t count, RankCount counted) const {
    result.ranks = std::max(result.ranks.value_or(0), count);
    result.counted = counted;
}

namespace {

bool may_be_of(int64_t job, const Checkpoint& checkpoint) {
    switch (checkpoint.counted) {
        case RankCount::kAll:
            return job == *checkpoint.ranks;
        case RankCount::kDivisor:
            return job % *checkpoint.ranks == 0;
        case RankCount::kAtLeast:
            return job >= *checkpoint.ranks;
    }
    return true;
}

std::string words_for(const Checkpoint& checkpoint) {
    const std::string ranks = core::format_count(static_cast<uint64_t>(*checkpoint.ranks), "rank");
    switch (checkpoint.counted) {
        case RankCount::kAll:
            return fmt::format("was written by {}", ranks);
        case RankCount::kDivisor:
            return fmt::format("was written by replicas of {} each", ranks);
        case RankCount::kAtLeast:
            return fmt::format("was written by {} or more", ranks);
    }
    return "";
}

}  // namespace

Result<Checkpoint> judge(const CheckpointContent& content, const CheckpointDemand& demand) {
    Checkpoint result{.name = content.name, .step = content.step, .files = content.files.size()};
    for (const CheckpointFile& file : content.files) {
        result.bytes += file.bytes;
        result.modified = std::max(result.modified, file.modified);
    }
    const Inspection inspection(content, demand, result);
    if (const Format* format = format_of(content.files)) {
        result.format = format->name;
        for (const CheckpointRule rule : format->rules) BELAY_CHECK(rule(inspection));
    } else {
        inspection.problem(CheckpointState::kPartial, "holds no file of a known format");
    }
    if (demand.ranks && result.ranks && !may_be_of(*demand.ranks, result))
        inspection.problem(CheckpointState::kForeign,
                           fmt::format("{}; the job has {}", words_for(result), *demand.ranks));
    if (demand.ranks && !result.ranks) inspection.note("the files do not tell how many ranks wrote them");
    take_worst(result);
    return result;
}

void compare_ranks(std::vector<Checkpoint>& checkpoints) {
    std::map<std::string, const Checkpoint*> most;
    for (const Checkpoint& checkpoint : checkpoints) {
        const Checkpoint*& found = most[checkpoint.format];
        if (checkpoint.ranks && checkpoint.counted == RankCount::kAll &&
            (found == nullptr || *checkpoint.ranks > *found->ranks))
            found = &checkpoint;
    }
    for (Checkpoint& checkpoint : checkpoints) {
        const Checkpoint* other = most[checkpoint.format];
        if (!checkpoint.ranks || checkpoint.counted != RankCount::kAll || *checkpoint.ranks >= *other->ranks)
            continue;
        checkpoint.problems.push_back(
            {CheckpointState::kForeign,
             fmt::format("{}, but {} by {}; if all ranks wrote it, say so with --ranks {}",
                         words_for(checkpoint), other->name, *other->ranks, *checkpoint.ranks)});
        take_worst(checkpoint);
    }
}

}  // namespace belay::stage

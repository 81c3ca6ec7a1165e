#include "stage/lint/rules.h"

#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "stage/lint/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint64_t kMostIndexBytes = uint64_t{64} << 20;

// "3, 5, 6 and 12 more"
std::string listed(const std::vector<int64_t>& numbers) {
    constexpr size_t kMost = 8;
    std::vector<std::string> texts;
    for (size_t at = 0; at < std::min(numbers.size(), kMost); ++at)
        texts.push_back(std::to_string(numbers[at]));
    const std::string more =
        numbers.size() > kMost ? fmt::format(" and {} more", numbers.size() - kMost) : "";
    return core::join(texts, ", ") + more;
}

std::vector<int64_t> missing_of(const std::set<int64_t>& present, int64_t first, int64_t last) {
    constexpr size_t kMost = 1 << 16;
    std::vector<int64_t> missing;
    for (int64_t number = first; number <= last && missing.size() < kMost; ++number)
        if (!present.contains(number)) missing.push_back(number);
    return missing;
}

bool is_safetensors(std::string_view name) {
    return name.ends_with(".safetensors");
}

bool is_torch_file(std::string_view name) {
    static constexpr std::array<std::string_view, 4> kEnds = {".pt", ".pth", ".bin", ".ckpt"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

Result<> temporary_files(const Inspection& inspection) {
    if (is_temporary_name(inspection.content.name))
        inspection.problem(CheckpointState::kUnsynced, "has the name of a directory that is being written");
    for (const CheckpointFile& file : inspection.content.files)
        if (is_temporary_name(file.name))
            inspection.problem(CheckpointState::kUnsynced,
                               fmt::format("{}: a temporary file was left behind", file.name));
    return {};
}

Result<> marker_and_pointer(const Inspection& inspection) {
    const CheckpointContent& content = inspection.content;
    const std::string& marker = inspection.demand.marker;
    if (!marker.empty() && inspection.file(marker) == nullptr)
        inspection.problem(CheckpointState::kUnsynced,
                           fmt::format("the file that is written last, {}, is missing", marker));
    const bool needs_pointer =
        inspection.result.format == "DeepSpeed" || inspection.result.format == "Megatron";
    if (!content.pointer) {
        if (needs_pointer && marker.empty())
            inspection.problem(
                CheckpointState::kUnsynced,
                inspection.result.format == "Megatron"
                    ? "the file that is written last, latest_checkpointed_iteration.txt, is missing"
                    : "the file that is written last, \"latest\", is missing");
        else if (!needs_pointer && marker.empty() && inspection.result.format != "torch distributed")
            inspection.note(
                "this format has no mark that it was written to its end; name one with --marker where your "
                "program writes it");
        return {};
    }
    const auto pointed = step_of(content.pointer->text);
    if (pointed && content.step && *content.step > *pointed)
        inspection.problem(
            CheckpointState::kUnsynced,
            fmt::format("is newer than step {}, the last that {} names", *pointed, content.pointer->file));
    return {};
}

namespace {

// Of a file whose name says what it holds; nothing of any other.
Result<FileJudgement> judge_content(const Inspection& inspection, const CheckpointFile& file) {
    if (is_temporary_name(file.name)) return FileJudgement{};
    if (is_safetensors(file.name)) {
        const Result<SafetensorsFile>& found = inspection.safetensors(file);
        if (!found) return std::unexpected(found.error());
        return found->judgement;
    }
    if (!is_torch_file(file.name)) return FileJudgement{};
    return judge_torch_file(file, inspection.content.read, inspection.demand.checksums);
}

}  // namespace

Result<> files_by_content(const Inspection& inspection) {
    const auto& files = inspection.content.files;
    std::vector<std::optional<Result<FileJudgement>>> judged(files.size());
    BELAY_CHECK(core::in_parallel(files.size(), inspection.demand.readers, [&](size_t number) -> Result<> {
        judged[number] = judge_content(inspection, files[number]);
        return {};
    }));
    for (size_t number = 0; number < files.size(); ++number) {
        const std::string& name = files[number].name;
        auto& judgement = *judged[number];
        if (!judgement && inspection.tells(name, judgement.error())) continue;
        if (!judgement) return std::unexpected(std::move(judgement.error()));
        if (!judgement->torn.empty())
            inspection.problem(CheckpointState::kTorn, fmt::format("{}: {}", name, judgement->torn));
        if (!judgement->note.empty()) inspection.note(fmt::format("{}: {}", name, judgement->note));
    }
    return {};
}

Result<> numbered_parts(const Inspection& inspection) {
    std::map<std::string, std::map<int64_t, std::set<int64_t>>> groups;  // by name and number of parts
    for (const CheckpointFile& file : inspection.content.files)
        if (const auto part = part_name(file.name); part && !is_temporary_name(file.name))
            groups[part->others][part->parts].insert(part->part);
    for (const auto& [name, counts] : groups) {
        if (counts.size() > 1) {
            inspection.problem(CheckpointState::kForeign,
                               fmt::format("{}: some of these are parts of {}, others of {}", name,
                                           counts.begin()->first, counts.rbegin()->first));
            continue;
        }
        const auto& [parts, present] = *counts.begin();
        const int64_t first = present.contains(0) ? 0 : 1;
        if (const auto missing = missing_of(present, first, first + parts - 1); !missing.empty())
            inspection.problem(
                CheckpointState::kPartial,
                fmt::format("{}: of {} parts, these are missing: {}", name, parts, listed(missing)));
        if (rank_name(name)) inspection.ranks(parts);
    }
    return {};
}

Result<> ranks_by_name(const Inspection& inspection) {
    std::map<std::string, std::set<int64_t>> groups;
    int64_t last = -1;
    for (const CheckpointFile& file : inspection.content.files) {
        const auto rank = rank_name(file.name);
        if (!rank || is_temporary_name(file.name) || !(is_torch_file(file.name) || is_safetensors(file.name)))
            continue;
        groups[rank->others].insert(rank->rank);
        last = std::max(last, rank->rank);
    }
    if (last < 0) return {};
    // With parts that say of how many they are, the files know it better; else what the job has is the best
    // that is known.
    if (!inspection.result.ranks && inspection.demand.ranks)
        last = std::max(last, *inspection.demand.ranks - 1);
    inspection.ranks(last + 1);
    const std::set<int64_t> alone = {0};
    const bool several_write =
        std::ranges::any_of(groups, [&](const auto& group) { return group.second != alone; });
    for (const auto& [name, present] : groups) {
        if (several_write && present == alone) continue;  // what rank 0 writes for all
        if (const auto missing = missing_of(present, 0, last); !missing.empty())
            inspection.problem(
                CheckpointState::kPartial,
                fmt::format("{}: of ranks 0 to {}, these are missing: {}", name, last, listed(missing)));
    }
    return {};
}

namespace {

Result<> tensors_of_index(const Inspection& inspection, const std::string& index,
                          const std::string& directory,
                          const std::map<std::string, std::vector<std::string>>& wanted) {
    for (const auto& [name, tensors] : wanted) {
        const CheckpointFile* file = inspection.file(directory + name);
        if (file == nullptr) {
            inspection.problem(CheckpointState::kPartial,
                               fmt::format("{}: is missing, though {} names it", directory + name, index));
            continue;
        }
        if (!is_safetensors(name)) continue;
        const Result<SafetensorsFile>& held = inspection.safetensors(*file);
        if (!held && inspection.tells(file->name, held.error())) continue;
        if (!held) return std::unexpected(held.error());
        if (!held->judgement.torn.empty()) continue;
        for (const std::string& tensor : tensors)
            if (!held->tensors.contains(tensor)) {
                inspection.problem(CheckpointState::kTorn, fmt::format("{}: lacks {}, which {} says it holds",
                                                                       file->name, tensor, index));
                break;
            }
    }
    return {};
}

}  // namespace

Result<> files_of_indexes(const Inspection& inspection) {
    for (const CheckpointFile& file : inspection.content.files) {
        if (!file.name.ends_with(".index.json")) continue;
        if (file.bytes > kMostIndexBytes) {
            inspection.note(fmt::format("{}: is too large to be checked", file.name));
            continue;
        }
        const auto text = inspection.content.read(file.name, 0, static_cast<size_t>(file.bytes));
        if (!text && inspection.tells(file.name, text.error())) continue;
        if (!text) return std::unexpected(text.error());
        const auto index = core::parse_json(*text);
        const auto map = index.is_object() ? index.find("weight_map") : index.end();
        if (map == index.end() || !map->is_object()) {
            inspection.problem(CheckpointState::kTorn,
                               fmt::format("{}: is not an index of tensors", file.name));
            continue;
        }
        std::map<std::string, std::vector<std::string>> wanted;
        for (const auto& [tensor, name] : map->items())
            if (name.is_string()) wanted[name.get<std::string>()].push_back(tensor);
        const size_t slash = file.name.rfind('/');
        BELAY_CHECK(tensors_of_index(
            inspection, file.name, slash == std::string::npos ? "" : file.name.substr(0, slash + 1), wanted));
    }
    return {};
}

}  // namespace belay::stage

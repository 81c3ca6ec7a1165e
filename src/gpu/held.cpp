#include "gpu/held.h"

#include "core/text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace belay::gpu {

namespace {

std::optional<std::string_view> value_of(const core::Environment& environment, const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

constexpr int kMostGpus = 1024;

// "0,2" or "0-3": Slurm writes both, as the plugin that chose them does. Nothing if a part is neither.
std::optional<std::set<int>> parse_indices(std::string_view list) {
    std::set<int> indices;
    for (std::string_view word : core::split(list, ',')) {
        const size_t dash = word.find('-');
        const auto first = core::parse_number<int>(core::trim(word.substr(0, dash)));
        const auto last = dash == std::string_view::npos
                              ? first
                              : core::parse_number<int>(core::trim(word.substr(dash + 1)));
        if (!first || !last || *first < 0 || *last < *first || *last >= kMostGpus) return std::nullopt;
        for (int index = *first; index <= *last; ++index) indices.insert(index);
    }
    return indices;
}

std::optional<std::string_view> list_of_slurm(const core::Environment& environment) {
    for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"})
        if (auto list = value_of(environment, name); list && !list->empty()) return list;
    return std::nullopt;
}

std::optional<std::set<int>> listed_by_slurm(const core::Environment& environment) {
    auto list = list_of_slurm(environment);
    return list ? parse_indices(*list) : std::nullopt;
}

bool is_named(const Device& device, std::string_view word) {
    if (auto index = core::parse_number<int>(word)) return device.index == *index;
    return word.size() > 4 && (word.starts_with("GPU-") || word.starts_with("MIG-")) &&
           device.uuid.starts_with(word);
}

std::vector<size_t> visible_to_cuda(const std::vector<Device>& devices, std::string_view list) {
    std::set<size_t> visible;
    for (std::string_view word : core::split(list, ',')) {
        bool any = false;
        for (size_t i = 0; i < devices.size(); ++i)
            if (is_named(devices[i], core::trim(word))) any = true, visible.insert(i);
        if (!any) break;
    }
    return {visible.begin(), visible.end()};
}

}  // namespace

std::optional<size_t> gpus_given_by_slurm(const core::Environment& environment) {
    const auto list = list_of_slurm(environment);
    if (!list) return std::nullopt;
    const auto indices = parse_indices(*list);
    return indices ? indices->size() : core::split(*list, ',').size();
}

std::vector<size_t> held_devices(const std::vector<Device>& devices, const core::Environment& environment) {
    std::vector<size_t> all;
    std::set<int> shown;
    for (size_t i = 0; i < devices.size(); ++i) {
        all.push_back(i);
        shown.insert(devices[i].index);
    }
    const auto list = value_of(environment, "CUDA_VISIBLE_DEVICES");
    const bool sliced =
        std::ranges::any_of(devices, [](const Device& one) { return !one.mig_profile.empty(); });
    // Slurm numbers slices in another way than the driver does, but hands their names to CUDA.
    if (sliced && list && list->find("MIG-") != std::string_view::npos)
        return visible_to_cuda(devices, *list);
    if (auto listed = listed_by_slurm(environment); listed && !sliced) {
        if (shown.size() > listed->size())
            std::erase_if(all, [&](size_t i) { return !listed->contains(devices[i].index); });
        return all;
    }
    if (list) return visible_to_cuda(devices, *list);
    return all;
}

}  // namespace belay::gpu

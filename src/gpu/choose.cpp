#include "gpu/choose.h"

#include <algorithm>
#include <array>

namespace belay::gpu {

using core::Result;

namespace {

constexpr std::array<std::string_view, 3> kSources = {"auto", "nvml", "dcgm"};

}  // namespace

Result<> check_choice(const SourceChoice& choice) {
    if (std::ranges::find(kSources, choice.source) != kSources.end()) return {};
    return core::bad_input("record.gpu_source: there is no source of GPUs \"{}\"", choice.source)
        .hint("auto, nvml or dcgm");
}

Result<std::unique_ptr<Source>> open_source(const SourceChoice& choice) {
    BELAY_CHECK(check_choice(choice));
    auto open_host_engine = [&] {
        return open_dcgm(choice.dcgm_library, choice.dcgm_address, choice.interval);
    };
    if (choice.source == "dcgm") return open_host_engine();
    auto nvml = choice.nvml_library.empty() ? open_nvml() : open_nvml(choice.nvml_library);
    if (choice.source == "nvml") return nvml;
    // DCGM shows whole GPUs: their slices would be nobody's.
    if (nvml && std::ranges::any_of((*nvml)->devices(), [](const Device& device) {
            return device.profiling || !device.mig_profile.empty();
        }))
        return nvml;
    auto dcgm = open_host_engine();
    if (dcgm && !(*dcgm)->devices().empty()) return dcgm;
    if (dcgm) return nvml;
    if (!nvml) return std::unexpected(std::move(nvml.error()).also(dcgm.error()));
    // Most nodes have no DCGM, which is nothing to speak of; one that has it and cannot use it lacks columns.
    if (dcgm.error().cause() != core::Cause::kNotFound) (*nvml)->stand_in(std::move(dcgm.error()));
    return nvml;
}

}  // namespace belay::gpu

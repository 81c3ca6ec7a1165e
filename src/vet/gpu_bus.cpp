#include "vet/gpu_bus.h"

#include "core/file.h"
#include "core/text.h"
#include "gpu/held.h"
#include "procfs/mountinfo.h"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace belay::vet {

namespace {

namespace fs = std::filesystem;
using core::Result;

// Empty where it is not there: a device may be taken away meanwhile.
Result<std::string> trimmed_file(const fs::path& path) {
    auto text = core::read_file(path, 4096);
    if (!text && text.error().cause() == core::Cause::kNotFound) return std::string();
    BELAY_CHECK(text);
    return std::string(core::trim(*text));
}

Result<bool> is_drivers_gpu(const fs::path& device) {
    constexpr std::string_view kNvidia = "0x10de", kScreenCard = "0x0300", kCompute = "0x0302";
    BELAY_TRY(vendor, trimmed_file(device / "vendor"));
    if (vendor != kNvidia) return false;
    BELAY_TRY(device_class, trimmed_file(device / "class"));
    std::error_code error;
    if (fs::exists(fs::symlink_status(device / "physfn", error))) return false;
    const fs::path driver = fs::read_symlink(device / "driver", error).filename();
    if (device_class.starts_with(kScreenCard)) return driver == "nvidia";
    return device_class.starts_with(kCompute) && (driver == "nvidia" || driver.empty());
}

// cgroups deny the files of GPUs that are other jobs'; access() asks them as open() does.
bool may_open_all(const NodeView& node) {
    std::error_code error;
    for (fs::directory_iterator entry(node.path("/dev"), error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (name.starts_with("nvidia") && core::parse_number<int>(std::string_view(name).substr(6)) &&
            access(entry->path().c_str(), R_OK | W_OK) != 0)
            return false;
    }
    return !error;
}

bool is_nodes_own_dev(const NodeView& node) {
    auto text = core::read_file(node.path("/proc/self/mountinfo"), size_t{16} << 20);
    auto mounts = procfs::parse_mountinfo(text.value_or(""));
    const procfs::Mount* mount = procfs::mounted_on(mounts, "/dev");
    return mount != nullptr && mount->type == "devtmpfs";
}

}  // namespace

Result<std::vector<std::string>> gpus_on_bus(const NodeView& node) {
    std::vector<std::string> addresses;
    const fs::path bus = node.path("/sys/bus/pci/devices");
    std::error_code error;
    for (fs::directory_iterator entry(bus, error), end; !error && entry != end; entry.increment(error)) {
        BELAY_TRY(is_one, is_drivers_gpu(entry->path()));
        if (is_one) addresses.push_back(entry->path().filename());
    }
    if (error && error != std::errc::no_such_file_or_directory)
        return core::errno_error(error, fmt::format("cannot list {}", bus.string()));
    std::ranges::sort(addresses);
    return addresses;
}

Result<std::vector<std::string>> missing_gpus(const std::vector<gpu::Device>& shown, size_t held,
                                              const core::Environment& environment, const NodeView& node) {
    std::set<std::string, std::less<>> known;
    for (const gpu::Device& device : shown) {
        if (device.pci_address.empty()) return {};
        known.insert(device.pci_address);
    }
    BELAY_TRY(missing, gpus_on_bus(node));
    const size_t on_bus = missing.size();
    std::erase_if(missing, [&](const std::string& address) { return known.contains(address); });
    // Slurm counts slices of MIG among GPUs.
    const bool is_sliced =
        std::ranges::any_of(shown, [](const auto& one) { return !one.mig_profile.empty(); });
    const auto given = gpu::gpus_given_by_slurm(environment);
    const bool is_part = held < shown.size() || (given && (*given < on_bus || is_sliced));
    if (missing.empty() || is_part || !may_open_all(node) || !is_nodes_own_dev(node)) return {};
    return missing;
}

}  // namespace belay::vet

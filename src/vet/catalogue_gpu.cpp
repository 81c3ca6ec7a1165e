// The check types that need NVIDIA's driver and no more. Without it they are unsupported.
#include "vet/catalogue.h"
#include "vet/checks.h"

#include <limits>

namespace belay::vet {

namespace {

using namespace std::chrono_literals;

constexpr double kMany = std::numeric_limits<double>::infinity();
constexpr Range kCount{0, kMany}, kShare{0, 1};

constexpr Parameter kExpected[] = {
    {"expected", Kind::kInteger, "", "", false, "how many there must be, exactly", kCount}};
constexpr Parameter kTemperature[] = {{"max", Kind::kNumber, "degrees C", "", false, "highest temperature"}};
constexpr Parameter kMargin[] = {
    {"min", Kind::kNumber, "degrees C", "0", false, "distance from slowing down that must be exceeded"}};
constexpr Parameter kMemory[] = {
    {"max_fraction", Kind::kShare, "ratio", "0.2", false,
     "share that may be in use; without a default where max_mib is given", kShare, "max_mib"},
    {"max_mib", Kind::kInteger, "MiB", "", false, "MiB that may be in use", kCount}};
constexpr Parameter kProcesses[] = {
    {"retries", Kind::kInteger, "", "3", false, "looks before it fails", Range{1, 1000}},
    {"interval", Kind::kDuration, "s", "3s", false, "between two looks"},
    {"kill", Kind::kBoolean, "", "false", false, "accepted, but Belay ends no processes: unsupported"}};
constexpr Parameter kClocks[] = {
    {"sm", Kind::kInteger, "MHz", "", false, "application clock of the cores, at least", kCount},
    {"mem", Kind::kInteger, "MHz", "", false, "application clock of the memory, at least", kCount}};
constexpr Parameter kSlowdown[] = {
    {"rate", Kind::kNumber, "1/min", "", false,
     "slowdowns per minute that are allowed, over a window in which one keeps to it; none without", kCount},
    {"window", Kind::kDuration, "s", "1s", false,
     "how long they are looked for; a longer one needs a longer timeout of the check", Range{0.1, 3600}}};
constexpr Parameter kEcc[] = {
    {"uncorrected", Kind::kInteger, "", "0", false, "errors allowed since the driver was loaded", kCount},
    {"corrected", Kind::kInteger, "", "50000000", false, "errors allowed since the driver was loaded",
     kCount}};
constexpr Parameter kRemap[] = {
    {"pending", Kind::kInteger, "", "0", false, "rows that may wait for a reset", kCount},
    {"failed", Kind::kInteger, "", "0", false, "rows that could not be remapped", kCount},
    {"pages", Kind::kInteger, "", "10", false, "retired pages, of GPUs that do not remap", kCount}};
constexpr Parameter kLinks[] = {{"down", Kind::kInteger, "", "0", false, "links that may be down", kCount}};

constexpr CheckType row(std::string_view type, std::string_view summary, Measure measure,
                        std::span<const Parameter> parameters = {}, core::Duration timeout = 30s) {
    return {.type = type,
            .scope = Scope::kNode,
            .cost = Cost::kInstant,
            .summary = summary,
            .parameters = parameters,
            .measure = measure,
            .timeout = timeout};
}

// A driver that nobody holds open takes seconds to start its GPUs.
constexpr CheckType kTypes[] = {
    row("gpu.count", "all GPUs are there", measure_gpu_count, kExpected),
    row("gpu.temp", "GPUs are cool", measure_gpu_temperature, kTemperature),
    row("gpu.temp_margin", "GPUs are not close to slowing down", measure_gpu_margin, kMargin),
    row("gpu.mem_used", "the memory of GPUs is free", measure_gpu_memory, kMemory),
    row("gpu.procs", "no process is on a GPU", measure_gpu_processes, kProcesses),
    row("gpu.clocks", "GPUs have their application clocks, and nothing lowers them", measure_gpu_clocks,
        kClocks),
    row("gpu.slowdown", "GPUs are not slowed down by heat or hardware", measure_gpu_slowdown, kSlowdown),
    row("gpu.ecc", "GPUs have no memory errors", measure_gpu_ecc, kEcc),
    row("gpu.remap", "GPUs have no rows waiting to be remapped", measure_gpu_remap, kRemap),
    row("gpu.recovery", "no GPU asks for a reset or reboot", measure_gpu_recovery),
    row("gpu.nvlink", "all NVLinks are up", measure_gpu_links, kLinks),
    row("pci.link", "GPUs have their full PCIe links", measure_gpu_pcie),
};

}  // namespace

std::span<const CheckType> gpu_check_types() {
    return kTypes;
}

}  // namespace belay::vet

#include "slurm/job_end.h"

#include "core/text.h"

#include <algorithm>

namespace belay::slurm {

namespace {

constexpr std::string_view kOver[] = {"COMPLETED", "FAILED",    "CANCELLED", "TIMEOUT",      "NODE_FAIL",
                                      "PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY"};
constexpr std::string_view kMemoryUnits = "KMGTP";  // each 1024 times the one before
constexpr double kMostMemory = 1e18;                // bytes: more than any job has

}  // namespace

bool JobEnd::is_over() const {
    return std::ranges::find(kOver, state) != std::end(kOver);
}

std::optional<core::ByteSize> parse_memory(std::string_view text) {
    double factor = 1;
    if (!text.empty()) {
        if (const size_t unit = kMemoryUnits.find(text.back()); unit != std::string_view::npos) {
            for (size_t i = 0; i <= unit; ++i) factor *= 1024;
            text.remove_suffix(1);
        }
    }
    const auto number = core::parse_number<double>(text);
    if (!number || !(*number >= 0 && *number * factor <= kMostMemory)) return std::nullopt;
    return core::ByteSize{static_cast<uint64_t>(*number * factor)};
}

core::Result<> read_exit(std::string_view text, std::string_view program, JobEnd& job) {
    const auto parts = core::split(text, ':');
    job.exit_code = core::parse_number<int>(parts[0]);
    if (parts.size() > 1) job.exit_signal = core::parse_number<int>(parts[1]);
    if (!job.exit_code) return core::system_error("{}: ExitCode={}: not STATUS:SIGNAL", program, text);
    return {};
}

}  // namespace belay::slurm

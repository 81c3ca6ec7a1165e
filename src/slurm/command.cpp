#include "slurm/command.h"

#include "core/text.h"

#include <algorithm>

namespace belay::slurm {

namespace {

constexpr size_t kAnswerLimit = size_t{4} << 20;

// What Slurm's commands say where there is nobody to ask.
constexpr std::string_view kNobodyToAsk[] = {"Could not establish a configuration source",
                                             "Slurm accounting storage is disabled"};

std::string_view last_line(std::string_view text) {
    text = core::trim(text);
    return core::trim(text.substr(text.rfind('\n') + 1));  // of one line: the whole
}

}  // namespace

core::Result<core::Output> run_slurm_command(std::vector<std::string> argv, core::Duration timeout) {
    // Times come in the local zone and in a format that a variable may change.
    core::Command command{
        .argv = std::move(argv),
        .environment_changes = {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", std::nullopt}, {"LC_ALL", "C"}}};
    return core::run(std::move(command), {.timeout = timeout, .output_limit = kAnswerLimit});
}

core::Failure failed_command(const std::string& what, const core::Output& output) {
    auto failure = core::system_error("{}: {}: {}", what, output.status.describe(), last_line(output.err));
    const bool nobody = std::ranges::any_of(
        kNobodyToAsk, [&](std::string_view words) { return output.err.find(words) != std::string::npos; });
    return nobody ? std::move(failure).because(core::Cause::kNotFound) : failure;
}

}  // namespace belay::slurm

#include "server/records/limited_program.h"

#include <csignal>

#include <fmt/format.h>

namespace belay::server {

namespace {

// Where it finds programs, libraries, its configuration, Slurm, and room for files.
constexpr const char* kPassedOn[] = {"PATH", "LD_LIBRARY_PATH", "HOME",       "TMPDIR",
                                     "LANG", "LC_ALL",          "SLURM_CONF", "BELAY_CONFIG_DIR"};

}  // namespace

// The limits are set by programs of every Linux system (prlimit of util-linux, nice of coreutils) that become the program, so that
// it never runs without them.
core::Result<core::Output> run_limited(const std::vector<std::string>& program, const ProgramLimits& limits) {
    core::Command command{.argv = {"prlimit", "--core=0"},
                          .environment = core::Environment(),
                          .working_directory = "/",
                          .new_process_group = true,
                          .parent_death_signal = SIGKILL};
    const int64_t cpu_seconds = std::chrono::ceil<std::chrono::seconds>(limits.cpu).count();
    command.argv.push_back(fmt::format("--cpu={}", cpu_seconds));
    command.argv.push_back(fmt::format("--fsize={}", limits.file_bytes));
    if (limits.memory_bytes > 0) command.argv.push_back(fmt::format("--as={}", limits.memory_bytes));
    for (std::string word : {std::string("nice"), std::string("-n"), std::to_string(limits.niceness)})
        command.argv.push_back(std::move(word));
    command.argv.insert(command.argv.end(), program.begin(), program.end());
    for (const char* name : kPassedOn)
        if (auto value = core::environment_variable(name)) (*command.environment)[name] = *value;
    return core::run(std::move(command), {.timeout = limits.time, .output_limit = limits.output_bytes});
}

}  // namespace belay::server

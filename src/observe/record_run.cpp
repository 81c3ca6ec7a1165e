#include "observe/record_run.h"

#include "core/file.h"
#include "core/tell.h"
#include "core/units.h"
#include "core/work.h"
#include "observe/placement.h"
#include "observe/record_begin.h"
#include "observe/supervisor.h"
#include "progress/pattern.h"

#include <cerrno>
#include <unistd.h>

namespace belay::observe {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

// A file system that does not answer for so long is as one that is full.
constexpr core::Duration kBeginTime = std::chrono::seconds(15);

// Without a recorder nothing needs to stand between Slurm and the command.
core::Error become(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    return core::errno_error(errno, fmt::format("cannot start {}", command[0])).error();
}

}  // namespace

Result<> check_period(std::string_view name, core::Duration period) {
    if (period >= std::chrono::milliseconds(10) && period <= std::chrono::hours(1)) return {};
    return bad_input("the {} must be between 10 ms and 1 h, not {}", name, core::to_text(period))
        .hint("give a number with its unit, such as 1s");
}

Result<core::ExitStatus> record_run(const RecordRunOptions& options) {
    BELAY_CHECK(check_period("interval", options.interval));
    BELAY_CHECK(check_period("flush", options.flush));
    BELAY_CHECK(gpu::check_choice(options.gpus));
    if (options.command.empty())
        return bad_input("no command to run").hint("belay record run -o DIR -- COMMAND");
    BELAY_CHECK(progress::compile_patterns(options.progress_patterns));
    // Before a record is begun for nothing.
    BELAY_TRY(program, core::find_program(options.command[0]));
    if (access(program.c_str(), X_OK) != 0)
        return core::errno_error(errno, fmt::format("cannot start {}", program.string()))
            .hint("is it a file with execute permission?");
    BELAY_TRY(placement, find_placement_and_times());
    core::Time now = core::system_clock().now();
    RecordBegin begin{.record = options.record,
                      .command = options.command,
                      .interval = options.interval,
                      .flush = options.flush};
    auto begun = core::check_within(kBeginTime, {.what = "beginning the record"},
                                    [&] { return begin_job_record(begin, placement, now); });
    if (!begun) {
        if (begun.error().kind() == core::ErrorKind::kBadInput)
            return std::unexpected(std::move(begun.error()));
        core::tell_error("nothing is recorded", begun.error(), core::kJobGoesOn);
        return std::unexpected(become(options.command));
    }
    BELAY_TRY(here, core::current_directory());
    RecorderOptions recorder{.record = here / options.record,
                             .interval = options.interval,
                             .flush = options.flush,
                             .progress_patterns = options.progress_patterns,
                             .command_name = fs::path(options.command[0]).filename().string(),
                             .allocation_start = now,
                             .gpus = options.gpus};
    core::Command command{.argv = options.command};
    std::optional<iotrace::SharedTrace> trace = options.io ? hold_io_trace(placement) : std::nullopt;
    if (trace) {
        recorder.io_trace = trace->path();
        recorder.tiers = options.io->tiers;
        for (auto& [name, value] :
             io_traced_variables(options.io->library, placement, core::environment_variable("LD_PRELOAD")))
            command.environment_changes[name] = value;
    }
    return supervise(std::move(command), std::move(recorder), placement);
}

}  // namespace belay::observe

// belay record run: one task's command under a recorder.
#include "observe/record_run.h"

#include "cli/commands.h"
#include "core/process.h"
#include "core/tell.h"
#include "core/utf8.h"
#include "progress/known_patterns.h"

#include <memory>
#include <unistd.h>

namespace belay::cli {

namespace {

// To a person; a script, and whoever reads the command's output, gets nothing but that.
void tell_where(const std::string& record) {
    const bool is_first = core::environment_variable("SLURM_PROCID").value_or("0") == "0";
    if (!is_first || isatty(STDERR_FILENO) != 1) return;
    core::tell("recorded in {}; to see the report: {}", core::printable(record),
               core::quote_command(std::vector<std::string>{"belay", "report", record}));
}

}  // namespace

void add_record_run(core::Application& application) {
    auto command = application.add({
        .name = "record run",
        .summary = "run a command and record what it does",
        .description =
            "Runs CMD and, while it runs, writes a job record into DIR: CPU, memory, pressure, network, file "
            "systems, GPUs, the processes of the job, and the progress that CMD prints. The output, input, "
            "signals and exit status of CMD are the same as without Belay, and CMD goes on if the recorder "
            "fails. There are three differences, because CMD writes into pipes: it does not see a terminal; "
            "lines of standard output and standard error may be interleaved differently; and if the file "
            "system of its log is full, Belay reports that, not CMD.\n\n"
            "Under srun, every task runs this command with the same DIR, which must be on a file system that "
            "all nodes share. The first task on each node samples the node; the output of every task is "
            "searched for progress. Without Slurm, it records this machine.\n\n"
            "Only its owner can read a new record. `chmod -R g+rX DIR` shares it with the group, including "
            "what is added to it later. If DIR exists already, everyone who may read DIR may read the "
            "record.\n\n"
            "With --io-trace, programs that CMD starts load a library that counts what they do on each "
            "file system: "
            "opens, reads, writes, their sizes, how many in no order, and the time they take. Programs that "
            "are "
            "linked statically are not seen. It usually costs less than 3% of their CPU time; of programs "
            "that only "
            "open and read small files, up to 6%.\n\n"
            "Progress is found in MLLOG lines, in the lines of Megatron-LM, torchtitan, the Hugging Face "
            "Trainer and other programs that print a step or an epoch and a loss on one line, in lines of "
            "JSON, and in bars of tqdm. For other formats, give a --progress-pattern: a regular expression "
            "(RE2) with named groups such as step, loss, samples_per_second.",
        .examples =
            {{"srun -N2 belay record run -o $SCRATCH/record -- python train.py",
              "record a step on two nodes"},
             {"belay record run -o r --progress-pattern 'step (?P<step>\\d+) loss (?P<loss>\\S+)' -- ./train",
              "read the program's own progress lines"}},
        .exit_statuses =
            {{0, "CMD succeeded; otherwise the exit status of CMD, or 128 + N if signal N ended it"},
             {2,
              "the command line is wrong, or DIR belongs to another user; CMD was not started. If "
              "DIR cannot be created, CMD runs without a record, and standard error says so"},
             {3, "CMD could not be started"}},
        .bounds_own_waits = true,
    });
    struct Options {
        std::string directory;
        std::vector<std::string> command;
    };
    auto options = std::make_shared<Options>();
    command.options()
        .add_option("-o,--output", options->directory,
                    "directory of the record; created if it does not exist")
        ->required()
        ->type_name("DIR");
    command.setting("--interval", "record.interval");
    command.setting("--flush", "record.flush");
    command.setting("--progress-pattern", "record.progress_pattern");
    command.setting("--io-trace", "record.io_trace");
    command.passthrough("CMD", options->command, "the command to run, with its arguments");
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(configuration, context.configuration());
        if (const auto& own = configuration.text_list("record.progress_pattern"); !own.empty())
            BELAY_CHECK(core::with_context(progress::patterns_for(own),
                                           configuration.origin("record.progress_pattern")));
        BELAY_TRY(io, observe::io_tracing_of(configuration));
        BELAY_TRY(status, observe::record_run(
                              {.record = options->directory,
                               .interval = configuration.duration("record.interval"),
                               .flush = configuration.duration("record.flush"),
                               .progress_patterns = configuration.text_list("record.progress_pattern"),
                               .command = options->command,
                               .io = std::move(io),
                               .gpus = {.source = configuration.text("record.gpu_source"),
                                        .nvml_library = configuration.text("nvml.library"),
                                        .dcgm_library = configuration.text("dcgm.library"),
                                        .dcgm_address = configuration.text("dcgm.address")}}));
        tell_where(options->directory);
        return core::end_like(status);
    });
}

}  // namespace belay::cli

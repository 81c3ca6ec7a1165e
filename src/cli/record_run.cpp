// belay record run: one task's command under a recorder.
#include "observe/record_run.h"

#include "cli/commands.h"
#include "core/process.h"
#include "core/tell.h"
#include "core/utf8.h"

#include <memory>
#include <unistd.h>

namespace belay::cli {

namespace {

// To a person; a script, and whoever reads the command's output, gets nothing but that.
void tell_where(const std::string& record) {
    const bool is_first = core::environment_variable("SLURM_PROCID").value_or("0") == "0";
    if (!is_first || isatty(STDERR_FILENO) != 1) return;
    core::tell("recorded in {}; to see what it did: {}", core::printable(record),
               core::quote_command(std::vector<std::string>{"belay", "report", record}));
}

}  // namespace

void add_record_run(core::Application& application) {
    auto command = application.add({
        .name = "record run",
        .summary = "run a command and record what it does",
        .description =
            "Runs CMD and writes a job record into DIR while it runs: CPU, memory, pressure, network, file "
            "systems, GPUs, the processes of the job, and the progress that CMD prints. Output, input, "
            "signals and exit status of CMD are what they would be without Belay, and nothing that happens "
            "to the recorder reaches it. CMD writes into pipes, though: it sees no terminal, lines of "
            "standard output and standard error may appear in a different order, and if the disk under its "
            "log is full, that is reported here, not to CMD.\n\n"
            "Under srun every task runs this command with the same DIR, on a file system that all nodes "
            "share. The first task of each node samples the node; every task's own output is searched for "
            "progress. Without Slurm it records this machine.\n\n"
            "A new record can be read only by its owner. `chmod -R g+rX DIR` shares it with the group, also "
            "what is added to it later. Where DIR exists already, who may read it may read the record.\n\n"
            "Progress is found in MLLOG lines, in the lines of Megatron-LM, torchtitan, the Hugging Face "
            "Trainer and other programs that print a step or an epoch and a loss on one line, or, where it "
            "is given, in lines that match a --progress-pattern: a regular expression (RE2) with named "
            "groups such as step, loss, samples_per_second.",
        .examples =
            {{"srun -N2 belay record run -o $SCRATCH/record -- python train.py",
              "record a step on two nodes"},
             {"belay record run -o r --progress-pattern 'step (?P<step>\\d+) loss (?P<loss>\\S+)' -- ./train",
              "read the program's own progress lines"}},
        .exit_statuses = {{0, "CMD ended well; otherwise its own exit status, 128 + N if signal N ended it"},
                          {2,
                           "the command line is wrong, or DIR is another's; CMD was not started. Where DIR "
                           "cannot be made, CMD runs unrecorded, which is reported on standard error"},
                          {3, "CMD could not be started"}},
        .bounds_own_waits = true,
    });
    struct Options {
        std::string directory;
        std::vector<std::string> command;
    };
    auto options = std::make_shared<Options>();
    command.options()
        .add_option("-o,--output", options->directory, "directory of the record; made if it does not exist")
        ->required()
        ->type_name("DIR");
    command.setting("--interval", "record.interval");
    command.setting("--flush", "record.flush");
    command.setting("--progress-pattern", "record.progress_pattern");
    command.passthrough("CMD", options->command, "the command to run, with its arguments");
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(configuration, context.configuration());
        BELAY_TRY(status, observe::record_run(
                              {.record = options->directory,
                               .interval = configuration.duration("record.interval"),
                               .flush = configuration.duration("record.flush"),
                               .progress_patterns = configuration.text_list("record.progress_pattern"),
                               .command = options->command,
                               .gpus = {.source = configuration.text("record.gpu_source"),
                                        .nvml_library = configuration.text("nvml.library"),
                                        .dcgm_library = configuration.text("dcgm.library"),
                                        .dcgm_address = configuration.text("dcgm.address")}}));
        tell_where(options->directory);
        return core::end_like(status);
    });
}

}  // namespace belay::cli

// belay bench run: becomes the training program, which is apart because it loads libtorch.
#include "cli/commands.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace belay::cli {

namespace {

// bin/belay and libexec/belay/belay-train stand in one tree, wherever that was installed.
core::Result<std::filesystem::path> training_program() {
    std::error_code error;
    auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return core::errno_error(error, "cannot find the path of this program");
    auto program = self.parent_path().parent_path() / "libexec" / "belay" / "belay-train";
    const bool is_there = std::filesystem::exists(program, error);
    if (error) return core::errno_error(error, fmt::format("cannot look at {}", program.string()));
    if (!is_there)
        return core::system_error("{} is missing", program.string())
            .hint("it is built where libtorch is found; ./bootstrap installs that");
    return program;
}

}  // namespace

void add_bench_run(core::Application& application) {
    auto command = application.add({
        .name = "bench run",
        .summary = "train one of the MLPerf HPC models",
        .description = "Trains MODEL to its target and prints MLLOG lines. Start one task per rank with srun "
                       "(or torchrun's variables); ranks find each other from Slurm's environment. MODEL is "
                       "cosmoflow. Its options: belay bench run cosmoflow --help.",
        .examples = {{"srun -N2 --ntasks-per-node=2 belay bench run cosmoflow --seed 1",
                      "the mini profile on four ranks"}},
        .bounds_own_waits = true,
    });
    auto words = std::make_shared<std::vector<std::string>>();
    command.passthrough("MODEL", *words, "the model, then its options");
    command.run([words](const core::CommandContext&) -> core::Result<int> {
        BELAY_TRY(program, training_program());
        std::vector<char*> arguments{const_cast<char*>(program.c_str())};
        for (std::string& word : *words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        execv(program.c_str(), arguments.data());
        return core::errno_error(errno, fmt::format("cannot start {}", program.string()));
    });
}

}  // namespace belay::cli

// belay completion: the script that makes a shell complete belay's commands and options.
#include "core/completion.h"

#include "cli/commands.h"

#include <memory>

namespace belay::cli {

namespace {

struct ShellName {
    std::string_view name;
    core::Shell shell;
};
constexpr ShellName kShells[] = {
    {"bash", core::Shell::kBash},
    {"zsh", core::Shell::kZsh},
    {"fish", core::Shell::kFish},
};

}  // namespace

void add_completion(core::Application& application) {
    auto command = application.add({
        .name = "completion",
        .summary = "print the completion script of a shell",
        .examples = {{"source <(belay completion bash)", "complete in this bash; in ~/.bashrc, in every one"},
                     {"source <(belay completion zsh)", "the same for zsh"},
                     {"belay completion fish | source", "the same for fish"}},
        .bounds_own_waits = true,
    });
    auto name = std::make_shared<std::string>();
    command.choice("SHELL", *name, {"bash", "zsh", "fish"}, "whose script")->required();
    command.run([name](const core::CommandContext& context) -> core::Result<int> {
        for (const ShellName& known : kShells)
            if (known.name == *name)
                context.print("{}", render_completion(context.application().model(), known.shell));
        return 0;
    });
}

}  // namespace belay::cli

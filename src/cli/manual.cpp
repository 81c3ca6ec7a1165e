// belay _man: the manual pages, for the build and for packages.
#include "core/manual.h"

#include "cli/build_facts.h"
#include "cli/commands.h"

#include <memory>

namespace belay::cli {

void add_manual(core::Application& application) {
    auto command = application.add({
        .name = "_man",
        .summary = "write the manual pages into a directory",
        .hidden = true,
    });
    auto directory = std::make_shared<std::string>();
    command.options().add_option("DIR", *directory, "where to write; made if it does not exist")->required();
    command.run([directory](const core::CommandContext& context) -> core::Result<int> {
        BELAY_CHECK(core::write_manual(context.application().model(), kVersion, *directory));
        return 0;
    });
}

}  // namespace belay::cli

// belay stage mount, unmount: packed data as a directory.
#include "cli/commands.h"
#include "core/utf8.h"
#include "stage/mount/mount.h"

#include <memory>

namespace belay::cli {

namespace {

using core::Result;

struct MountArguments {
    std::string data;
    std::string target;
};

}  // namespace

void add_stage_mount(core::Application& application) {
    auto command = application.add({
        .name = "stage mount",
        .summary = "show an image of packed data as a directory",
        .description = "Serves the image that \"belay stage pack --format squashfs\" made at DIR, read-only, "
                       "as you and without root. It stays until "
                       "\"belay stage unmount DIR\". In a container, name the image in the environment "
                       "instead: mounts = [\"/scratch/train/train.sqsh:/data:sqsh\"].",
        .examples = {{"belay stage mount /scratch/train /tmp/train", "the files are in /tmp/train"}},
    });
    auto options = std::make_shared<MountArguments>();
    command.options().add_option("OUT", options->data, "the directory of the image")->required();
    command.options().add_option("DIR", options->target, "an empty directory")->required();
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_CHECK(stage::mount(options->data, options->target));
        context.print("mounted at {}; to unmount: belay stage unmount {}\n", core::printable(options->target),
                      core::printable(options->target));
        return 0;
    });
}

void add_stage_unmount(core::Application& application) {
    auto command = application.add({
        .name = "stage unmount",
        .summary = "unmount what \"belay stage mount\" mounted",
        .description = "Fails while a program uses a file in it.",
        .examples = {{"belay stage unmount /tmp/train", "after \"belay stage mount\""}},
    });
    auto options = std::make_shared<MountArguments>();
    command.options().add_option("DIR", options->target, "where it is mounted")->required();
    command.run([options](const core::CommandContext&) -> Result<int> {
        BELAY_CHECK(stage::unmount(options->target));
        return 0;
    });
}

}  // namespace belay::cli

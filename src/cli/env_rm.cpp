// belay env rm: images out of the store.
#include "cli/commands.h"
#include "core/process.h"
#include "image/store_settings.h"

#include <memory>

namespace belay::cli {

void add_env_rm(core::Application& application) {
    auto command = application.add({
        .name = "env rm",
        .summary = "remove an image from the store",
        .description =
            "Removes the name, and the image itself if no other name leads to it. With a hash, the image is "
            "removed with all its names. Containers that use it on this node keep running; if the store is "
            "on NFS, those on other nodes lose their files, so do not remove an image that is in use.",
        .examples = {{"belay env rm ubuntu:24.04", "the image with this name"}},
    });
    auto references = std::make_shared<std::vector<std::string>>();
    command.options().add_option("REFERENCE", *references, "as for belay env pull")->required();
    command.run([references](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(configuration, context.configuration());
        BELAY_TRY(store, image::open_store(configuration, core::current_environment()));
        for (const std::string& text : *references) {
            BELAY_TRY(reference, image::parse_reference(text));
            BELAY_TRY(removed, store.remove(reference));
            for (const core::Error& error : removed.unread)
                fmt::print(
                    stderr, "{}",
                    core::Error(error)
                        .context(fmt::format("the image of {} is kept, since this may be another name for it",
                                             image::display_name(reference)))
                        .render("belay: warning"));
            if (!removed.was_here)
                return core::bad_input("{} is not in the store {}", image::display_name(reference),
                                       store.root().string())
                    .hint("belay env images lists its images");
        }
        return 0;
    });
}

}  // namespace belay::cli

// belay env pull: an image from a registry into the store.
#include "cli/commands.h"
#include "core/process.h"
#include "core/progress_display.h"
#include "image/store_settings.h"

#include <memory>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

// Shows what an import tells.
class PullDisplay {
  public:
    void operator()(image::ImportPhase phase, uint64_t done, uint64_t total) {
        if (phase == image::ImportPhase::kResolving) return;
        if (phase == image::ImportPhase::kWaiting) {
            if (isatty(STDERR_FILENO) == 1)
                fmt::print(stderr, "another process is importing this image; waiting for it\n");
            return;
        }
        if (!shown_ || *shown_ != phase) {
            display_.finish();
            bool downloading = phase == image::ImportPhase::kDownloading;
            display_.start(downloading ? "downloading" : "writing", core::ProgressUnit::bytes(), total);
        }
        shown_ = phase;
        display_.update(done);
    }

  private:
    core::ProgressDisplay display_{core::system_clock()};
    std::optional<image::ImportPhase> shown_;
};

core::Result<int> pull(const std::string& text, bool json, const core::CommandContext& context) {
    BELAY_TRY(reference, image::parse_reference(text));
    if (reference.is_file())
        return core::bad_input("{} is a file, which does not have to be pulled", reference.file)
            .hint("write it as the image of an environment");
    const core::Environment environment = core::current_environment();
    BELAY_TRY(configuration, context.configuration());
    BELAY_TRY(store, image::open_store(configuration, environment));
    core::Result<image::Image> image = [&] {
        PullDisplay display;
        return store.import(reference, image::user_credentials(environment), std::ref(display));
    }();
    if (!image) return std::unexpected(std::move(image.error()));
    if (json)
        context.print_json(nlohmann::json{{"reference", image::display_name(reference)},
                                          {"digest", image->digest},
                                          {"architecture", image->config.platform.architecture},
                                          {"bytes", image->bytes},
                                          {"created", core::format_time(image->created)},
                                          {"path", image->squashfs.string()}});
    else
        context.print("{}\n{}\n{}\n", image::display_name(reference), image->digest,
                      image->squashfs.string());
    return 0;
}

}  // namespace

void add_env_pull(core::Application& application) {
    auto command = application.add({
        .name = "env pull",
        .summary = "get an image from a registry into the store",
        .description = "Asks the registry what the reference means now and downloads what is missing; the "
                       "image becomes one SquashFS file. If several processes pull the same image at once, "
                       "also on other nodes, only one does the work. An interrupted download continues where "
                       "it stopped, and an image is in the store only when it is complete.\n\n"
                       "Logins are taken from podman, Docker (credential helpers too) and enroot. The store "
                       "is $EDF_IMAGESTORE, or else the setting env.image_store.",
        .examples = {{"belay env pull ubuntu:24.04", "from Docker Hub"},
                     {"belay env pull nvcr.io#nvidia/pytorch:24.01-py3", "as enroot writes it"},
                     {"belay env pull me@quay.io/lab/app@sha256:...", "with the login of \"me\", pinned"}},
    });
    struct Options {
        std::string reference;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options()
        .add_option("REFERENCE", options->reference, "[USER@][REGISTRY/]REPOSITORY[:TAG][@sha256:HEX]")
        ->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) {
        return pull(options->reference, options->json, context);
    });
}

}  // namespace belay::cli

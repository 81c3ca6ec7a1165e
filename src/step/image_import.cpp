#include "step/image_import.h"

#include "core/tell.h"
#include "core/work.h"
#include "image/store_settings.h"

namespace belay::step {

using core::Result;

namespace {

Result<std::string> import(const core::Configuration& configuration, const image::Reference& reference) {
    const core::Environment environment = core::current_environment();
    BELAY_TRY(store, image::open_store(configuration, environment));
    BELAY_CHECK(store.import(reference, image::user_credentials(environment)));
    return std::string();  // that it is there now, the plan finds out
}

}  // namespace

Importer import_from_registry() {
    return [](const core::Configuration& configuration, const image::Reference& reference) -> Result<> {
        const std::string name = image::display_name(reference);
        core::tell("getting the image {}", name);
        // How long that takes depends on its size; what the store's file server has to do for it does not.
        BELAY_TRY(work, core::Work::start({.what = name, .streams = core::WorkStreams::kOurs},
                                          [&] { return import(configuration, reference); }));
        BELAY_CHECK(work.finish_unless_stalled(configuration.duration("files.wait")));
        return {};
    };
}

}  // namespace belay::step

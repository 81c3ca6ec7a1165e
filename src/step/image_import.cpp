#include "step/image_import.h"

#include "core/tell.h"

namespace belay::step {

Importer import_from_registry() {
    return [](const image::Store& store, const image::Reference& reference) {
        core::tell("getting the image {}", image::display_name(reference));
        return store.import(reference, image::user_credentials(core::current_environment()));
    };
}

}  // namespace belay::step

#include "cli/env_options.h"

namespace belay::cli {

core::Result<env::Host> environment_host(const core::CommandContext& context) {
    BELAY_TRY(configuration, context.configuration());
    std::vector<std::filesystem::path> directories;
    for (const std::string& directory : configuration.text_list("env.search_path")) {
        if (!directory.starts_with('/'))
            return core::bad_input("env.search_path: \"{}\" is no absolute path", directory)
                .hint("correct it in " + configuration.origin("env.search_path"));
        directories.emplace_back(directory);
    }
    return env::this_host(std::move(directories));
}

core::Result<FoundImage> find_image(const image::Reference& reference, const core::CommandContext&) {
    if (reference.is_file()) return FoundImage{reference.file, {}};
    return core::bad_input("image {} is not on this machine", image::display_name(reference));
}

}  // namespace belay::cli

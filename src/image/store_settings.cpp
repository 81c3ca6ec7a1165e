#include "image/store_settings.h"

#include "core/tell.h"
#include "core/utf8.h"

namespace belay::image {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kNoStore = "void";  // of CSCS's container engine

}  // namespace

Result<std::filesystem::path> store_root(const std::string& setting, const core::Environment& environment) {
    auto variable = [&](const char* name) {
        auto found = environment.find(name);
        return found == environment.end() ? std::string() : found->second;
    };
    std::string store = variable("EDF_IMAGESTORE");
    std::string_view origin = "EDF_IMAGESTORE";
    if (store.empty()) {
        store = setting;
        origin = "env.image_store";
    }
    if (store == kNoStore)
        return bad_input("{} is \"void\", which disables the image store", origin)
            .hint("name a directory there, or use a SquashFS file as the image");
    if (store.empty()) {
        for (auto [name, below] :
             {std::pair{"SCRATCH", "/.edf_imagestore"}, std::pair{"XDG_CACHE_HOME", "/belay/images"},
              std::pair{"HOME", "/.cache/belay/images"}}) {
            if (variable(name).empty()) continue;
            store = variable(name) + below;
            origin = name;
            break;
        }
    }
    if (store.empty())
        return bad_input("no image store is configured").hint("set EDF_IMAGESTORE to a directory");
    if (!store.starts_with('/'))
        return bad_input("the image store \"{}\" ({}) is not an absolute path", core::printable(store),
                         origin)
            .hint("name a directory by its whole path");
    return std::filesystem::path(store).lexically_normal();
}

Result<Store> open_store(const core::Configuration& configuration, const core::Environment& environment) {
    BELAY_TRY(root, store_root(configuration.text("env.image_store"), environment));
    StoreOptions options;
    options.kept_layer_bytes = configuration.size("env.layer_cache").bytes;
    options.longest_wait = configuration.duration("env.image_wait");
    options.fetch.longest_wait = options.longest_wait;
    options.fetch.http.on_first_retry = [](const std::string& why) {
        core::tell("{}; trying for some time", why);
    };
    options.insecure_registries = configuration.text_list("env.insecure_registries");
    return Store::open(std::move(root), std::move(options));
}

}  // namespace belay::image

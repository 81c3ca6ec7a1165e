// Manifests and configurations of any text: what is taken holds to the bounds that the rest relies on.
#include "image/manifest.h"
#include "image/reference.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

namespace {

void check(const image::Descriptor& descriptor) {
    if (!image::is_digest(descriptor.digest) || descriptor.size > image::kMaxBlobBytes) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto document = image::parse_document(text, "");
    if (!document) {
        if (document.error().render().empty()) abort();
    } else if (const auto* manifest = std::get_if<image::Manifest>(&*document)) {
        check(manifest->config);
        if (manifest->layers.size() > image::kMaxLayers) abort();
        for (const image::Descriptor& layer : manifest->layers) check(layer);
    } else {
        const auto& index = std::get<image::Index>(*document);
        for (const image::IndexEntry& entry : index.entries) check(entry.manifest);
        auto chosen = image::choose_platform(index, {"linux", "amd64", ""});
        if (chosen) check(*chosen);
    }
    auto config = image::parse_image_config(text);
    if (config) {
        for (const std::string& id : config->diff_ids)
            if (!image::is_digest(id)) abort();
    }
    return 0;
}

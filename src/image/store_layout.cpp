#include "image/store_layout.h"

#include "image/digest.h"

#include <algorithm>

namespace belay::image {

namespace {

constexpr size_t kLongestName = 230;  // NAME_MAX is 255, and what is being written has a longer one
constexpr std::string_view kLibrary = "library/";

std::string architecture_suffix(const Platform& platform) {
    bool usual = platform.variant.empty() || (platform.architecture == "arm64" && platform.variant == "v8");
    return "-" + platform.architecture + (usual ? "" : platform.variant);
}

std::string plus_for_slash(std::string_view text) {
    std::string out(text);
    std::ranges::replace(out, '/', '+');
    return out;
}

}  // namespace

std::string image_key(std::string_view digest, const Platform& platform) {
    return std::string(hex_of(digest)) + architecture_suffix(platform);
}

std::string ref_name(const Reference& reference, const Platform& platform) {
    // "+" is in no registry, repository or tag, and "@" in no tag.
    std::string name = reference.registry + "+" + plus_for_slash(reference.repository) +
                       (reference.digest.empty() ? "+" + reference.tag : "@" + reference.digest);
    std::string suffix = architecture_suffix(platform);
    if (name.size() + suffix.size() > kLongestName) {
        std::string hash(hex_of(digest_of(name)));
        name = name.substr(0, kLongestName - suffix.size() - hash.size() - 1) + "~" + hash;
    }
    return name + suffix;
}

std::filesystem::path StoreLayout::ref(const Reference& reference, const Platform& platform) const {
    return refs() / ref_name(reference, platform);
}

std::vector<std::string> enroot_names(const Reference& reference) {
    if (reference.is_file() || !reference.digest.empty()) return {};
    std::string name = plus_for_slash(reference.repository) + "+" + reference.tag + ".sqsh";
    // Without its registry a name means Docker Hub: another registry may have other things under it.
    if (reference.registry != kDockerHub) return {reference.registry + "+" + name};
    if (!reference.repository.starts_with(kLibrary)) return {name};
    return {plus_for_slash(reference.repository.substr(kLibrary.size())) + "+" + reference.tag + ".sqsh",
            name};
}

}  // namespace belay::image

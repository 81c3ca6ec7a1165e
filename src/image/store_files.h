// The small files of a store: names and sidecars.
#pragma once

#include "image/image.h"
#include "image/store_layout.h"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace belay::image {

struct StoredRef {
    std::filesystem::path path;
    std::string reference;  // as display_name
    std::string digest;
    core::Time last_used;
};

// Nothing if there is no such file, or none that is_believed. Errors: kSystem for one that cannot be read or
// is damaged.
core::Result<std::optional<StoredRef>> read_ref(const StoreLayout& layout, const std::filesystem::path& path);
// Errors: kSystem.
core::Result<> write_ref(const StoreLayout& layout, const Reference& reference, const Platform& platform,
                         const std::string& digest);
// All of one architecture and of others.
struct StoredRefs {
    std::vector<StoredRef> refs;
    std::vector<core::Error> unread;  // of those that are damaged, or may not be read
};
core::Result<StoredRefs> read_refs(const StoreLayout& layout);

// The permissions of a file that whoever reads this directory may read, whatever the umask.
mode_t mode_in(const struct stat& directory);

// Nothing if the image is not there, not whole, not what its name says or not is_believed. Errors: kSystem
// for a damaged sidecar.
core::Result<std::optional<Image>> load_image(const StoreLayout& layout, std::string_view key);
// "HEX-ARCH" of all images.
core::Result<std::vector<std::string>> image_keys(const StoreLayout& layout);

// Sets the time of last use, where that is allowed.
void mark_used(const std::filesystem::path& path);

}  // namespace belay::image

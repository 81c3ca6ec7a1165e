// Where things lie in a store, as names: pure.
//
//   images/HEX-ARCH.sqsh, .json   by the hash of the manifest; there is an image once both are there
//   images/.HEX-ARCH.HOST.PID-N   one of these that is being written
//   refs/REG+REPO+TAG-ARCH        the digest that a name stands for; REG+REPO@sha256:HEX-ARCH if it is pinned
//   blobs/HEX                     layers as downloaded, kept for the next image that has them
//   partial/HEX-UID-HOST          layers on their way
//   locks/HEX-ARCH, HEX-UID       held while that image is imported, that layer downloaded
//   user-UID/, user-UID-XXXXXX/   all of this for one user, where everybody may write (store_trust.h)
//   REPO+TAG.sqsh                 an image that enroot left there, where not everybody may write
//
// Files that are being written bear the name of their host, as locks may hold on one node only.
#pragma once

#include "image/manifest.h"
#include "image/reference.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

struct StoreLayout {
    std::filesystem::path root;

    std::filesystem::path images() const { return root / "images"; }
    std::filesystem::path refs() const { return root / "refs"; }
    std::filesystem::path blobs() const { return root / "blobs"; }
    std::filesystem::path partial() const { return root / "partial"; }
    std::filesystem::path locks() const { return root / "locks"; }

    std::filesystem::path image(std::string_view key) const {
        return images() / (std::string(key) + ".sqsh");
    }
    std::filesystem::path sidecar(std::string_view key) const {
        return images() / (std::string(key) + ".json");
    }
    std::filesystem::path lock(std::string_view key) const { return locks() / key; }
    std::filesystem::path ref(const Reference& reference, const Platform& platform) const;
};

// "HEX-amd64", "HEX-arm64v8" without the "v8" that is usual.
std::string image_key(std::string_view digest, const Platform& platform);

// The file name of a reference; one that would be too long for a file system ends in a hash of the rest.
std::string ref_name(const Reference& reference, const Platform& platform);

// What enroot would have called the file of an image, the likeliest first.
std::vector<std::string> enroot_names(const Reference& reference);

}  // namespace belay::image

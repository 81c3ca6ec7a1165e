// Images on this machine, in a directory that many nodes and users may share (store_layout.h says what lies
// where).
//
//   BELAY_TRY(store, Store::open(root, {}));
//   BELAY_TRY(found, store.find(reference));                    // no network
//   BELAY_TRY(image, store.import(reference, user_credentials(environment), progress));
//
// An image is there or it is not: it gets its name when it is whole and on disk, whatever happens meanwhile.
// Of several that import one image at once, on any node, one does the work and the others wait for it.
#pragma once

#include "core/config.h"
#include "core/process.h"
#include "image/image.h"
#include "image/layer_fetch.h"
#include "image/limits.h"
#include "image/reference.h"
#include "image/registry.h"
#include "image/store_layout.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::image {

struct StoreOptions {
    Platform platform = host_platform();
    LayerFetchOptions fetch = {};
    ImportLimits limits = {};
    uint64_t kept_layer_bytes =
        uint64_t{20} * 1000 * 1000 * 1000;                   // for images that share layers with others
    core::Duration longest_wait = std::chrono::minutes(30);  // for another process that imports the image
    std::vector<std::string> insecure_registries = {};       // reached by http, not https
    core::Clock* clock = &core::system_clock();
};

enum class ImportPhase { kResolving, kWaiting, kDownloading, kWriting };
// Bytes of the phase, of how many; both 0 in the first two.
using ImportProgress = std::function<void(ImportPhase phase, uint64_t done, uint64_t total)>;

// A row of `belay env images`.
struct StoredImage {
    std::string reference;  // empty for an image to which no name leads any more
    std::string digest;
    std::string architecture;
    uint64_t bytes = 0;  // of the SquashFS file
    core::Time created;  // when it came into the store
    core::Time last_used;
};

struct StoredImages {
    std::vector<StoredImage> images;  // by reference, then by digest
    std::vector<core::Error> unread;  // what is wrong with others, and with names, which are there too
};

struct Removal {
    bool was_here = false;
    // Why the image stays although its name is gone: names that cannot be read, any of which may be its own.
    std::vector<core::Error> unread = {};
};

class Store {
  public:
    // Nothing is created before an import. Errors: kBadInput for a path that is not absolute.
    static core::Result<Store> open(std::filesystem::path root, StoreOptions options = {});

    // What is here, and only that; marks it as used. A reference to a file is that file. Errors: kSystem for
    // a store that cannot be read, kBadInput for a file that is no image.
    core::Result<std::optional<Image>> find(const Reference& reference) const;

    // What the reference means in its registry now: taken from the store if it is there, else downloaded.
    // Asks nobody for a file, or for a hash that is here. Errors: of the registry (see registry.h), and
    // kSystem for layers that are not what they should be, a full disk, a wait that was too long; each with
    // the reference and a hint.
    core::Result<Image> import(const Reference& reference, const CredentialLookup& credentials,
                               const ImportProgress& progress = {}) const;

    // Errors: kSystem where the store itself cannot be read.
    core::Result<StoredImages> list() const;

    // Takes the name away, the user's own before another's, and the image if no other name leads to it; a
    // reference with a hash takes all names of that image. Errors: kSystem, kBadInput for a file.
    core::Result<Removal> remove(const Reference& reference) const;

    const std::filesystem::path& root() const { return layout_.root; }

  private:
    Store(std::filesystem::path root, StoreOptions options)
        : layout_{std::move(root)}, options_(std::move(options)) {}

    core::Result<Removal> remove_from(const StoreLayout& part, const Reference& reference) const;

    StoreLayout layout_;
    StoreOptions options_;
};

// Logins from the files of this user (see credentials.h).
CredentialLookup user_credentials(const core::Environment& environment);

}  // namespace belay::image

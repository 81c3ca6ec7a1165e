#include "image/store.h"

#include "core/utf8.h"
#include "image/local_image.h"
#include "image/store_files.h"
#include "image/store_lock.h"
#include "image/store_trust.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unistd.h>

namespace belay::image {

namespace {

namespace fs = std::filesystem;
using core::Result;

// "-amd64" of a key or of a name's file.
std::string_view architecture_suffix(std::string_view key) {
    return key.substr(std::min(key.find('-'), key.size()));
}

bool leads_to(const StoredRef& ref, std::string_view digest, std::string_view key) {
    return ref.digest == digest && ref.path.filename().string().ends_with(architecture_suffix(key));
}

// A file that is an image because of its name alone.
Result<std::optional<Image>> left_by_enroot(const StoreLayout& part, const Reference& reference) {
    BELAY_TRY(open_to_all, is_open_to_all(part));
    if (open_to_all) return std::optional<Image>();
    for (const std::string& name : enroot_names(reference)) {
        const fs::path file = part.root / name;
        BELAY_TRY(believed, is_believed(part.root, file));
        if (!believed) continue;
        BELAY_TRY(image, local_image(file));
        return std::optional(std::move(image));
    }
    return std::optional<Image>();
}

}  // namespace

Result<Store> Store::open(fs::path root, StoreOptions options) {
    if (!root.is_absolute())
        return core::bad_input("the image store \"{}\" is not an absolute path",
                               core::printable(root.string()))
            .hint("EDF_IMAGESTORE or env.image_store names it");
    return Store(root.lexically_normal(), std::move(options));
}

Result<std::optional<Image>> Store::find(const Reference& reference) const {
    if (reference.is_file()) {
        BELAY_TRY(image, local_image(reference.file));
        return std::optional(std::move(image));
    }
    BELAY_TRY(parts, parts_of(layout_));
    std::optional<StoredRef> ref;
    for (const StoreLayout& part : parts) {
        if (ref) break;
        BELAY_TRY(found, read_ref(part, part.ref(reference, options_.platform)));
        ref = std::move(found);
    }
    const std::string digest = ref ? ref->digest : reference.digest;
    for (const StoreLayout& part : parts) {
        if (digest.empty()) break;
        const std::string key = image_key(digest, options_.platform);
        BELAY_TRY(image, load_image(part, key));
        if (image) mark_used(ref ? ref->path : part.sidecar(key));
        if (image) return image;
    }
    for (const StoreLayout& part : parts) {
        BELAY_TRY(found, left_by_enroot(part, reference));
        if (found) return found;
    }
    return std::optional<Image>();
}

Result<StoredImages> Store::list() const {
    StoredImages found;
    std::vector<StoredRef> refs;
    std::map<std::string, Image> images;  // by key
    BELAY_TRY(parts, parts_of(layout_));
    for (const StoreLayout& part : parts) {
        BELAY_TRY(named, read_refs(part));
        std::ranges::move(named.refs, std::back_inserter(refs));
        std::ranges::move(named.unread, std::back_inserter(found.unread));
        BELAY_TRY(keys, image_keys(part));
        for (const std::string& key : keys) {
            auto image = load_image(part, key);
            if (!image)
                found.unread.push_back(std::move(image.error()));
            else if (*image)
                images.emplace(key, std::move(**image));
        }
    }
    std::vector<StoredImage>& out = found.images;
    for (const auto& [key, image] : images) {
        StoredImage row{.reference = "",
                        .digest = image.digest,
                        .architecture = image.config.platform.architecture,
                        .bytes = image.bytes,
                        .created = image.created,
                        .last_used = image.created};
        size_t before = out.size();
        for (const StoredRef& ref : refs) {
            if (!leads_to(ref, row.digest, key)) continue;
            row.reference = ref.reference;
            row.last_used = ref.last_used;
            out.push_back(row);
        }
        row.reference.clear();
        if (out.size() == before) out.push_back(row);
    }
    std::ranges::sort(out, {}, [](const StoredImage& row) { return std::tie(row.reference, row.digest); });
    return found;
}

Result<Removal> Store::remove(const Reference& reference) const {
    if (reference.is_file())
        return core::bad_input("{} is a file, not an image of the store", core::printable(reference.file))
            .hint("remove it with rm");
    BELAY_TRY(parts, parts_of(layout_));
    for (const StoreLayout& part : parts) {
        BELAY_TRY(removed, remove_from(part, reference));
        if (removed.was_here) return removed;
    }
    return Removal();
}

Result<Removal> Store::remove_from(const StoreLayout& part, const Reference& reference) const {
    const fs::path name = part.ref(reference, options_.platform);
    BELAY_TRY(ref, read_ref(part, name));
    if (!ref && reference.digest.empty()) return Removal();
    const std::string digest = ref ? ref->digest : reference.digest;
    const std::string key = image_key(digest, options_.platform);
    BELAY_TRY(image, load_image(part, key));
    if (!ref && !image) return Removal();
    // No import of this image may be under way: it would find its name taken away.
    BELAY_TRY(lock, StoreLock::acquire(part.lock(key), *options_.clock,
                                       core::Deadline::after(options_.longest_wait, *options_.clock), {}));
    auto take_away = [](const fs::path& path) -> Result<> {
        if (unlink(path.c_str()) != 0 && errno != ENOENT)
            return core::errno_error(errno, fmt::format("cannot remove {}", path.string()));
        return {};
    };
    if (ref) BELAY_CHECK(take_away(name));
    BELAY_TRY(stored, read_refs(part));
    bool named = false;
    for (const StoredRef& other : stored.refs) {
        if (!leads_to(other, digest, key)) continue;
        if (reference.digest.empty())
            named = true;
        else
            BELAY_CHECK(take_away(other.path));
    }
    if (named) return Removal{.was_here = true};
    // A name that cannot be read may be one of this image.
    if (reference.digest.empty() && !stored.unread.empty())
        return Removal{.was_here = true, .unread = std::move(stored.unread)};
    BELAY_CHECK(take_away(part.image(key)));
    BELAY_CHECK(take_away(part.sidecar(key)));
    return Removal{.was_here = true};
}

CredentialLookup user_credentials(const core::Environment& environment) {
    return [files = credential_files(environment)](const CredentialQuery& query) {
        return find_credentials(files, query);
    };
}

}  // namespace belay::image

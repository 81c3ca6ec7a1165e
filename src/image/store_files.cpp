#include "image/store_files.h"

#include "core/activity.h"
#include "core/file.h"
#include "image/digest.h"
#include "image/store_trust.h"
#include "image/strict_json.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::image {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr size_t kMaxRefBytes = size_t{64} << 10;
constexpr std::string_view kImageEnding = ".sqsh";
constexpr std::string_view kUnfinished = ".tmp-";  // of core::replace_file

core::Time mtime_of(const struct stat& status) {
    return core::time_from_nanoseconds(int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                                       status.st_mtim.tv_nsec);
}

// Names in a directory, sorted; none if it is not there.
Result<std::vector<std::string>> names_in(const fs::path& directory) {
    std::vector<std::string> out;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
        out.push_back(it->path().filename().string());
    if (error && error != std::errc::no_such_file_or_directory)
        return core::errno_error(error.value(), fmt::format("cannot read {}", directory.string()));
    std::ranges::sort(out);
    return out;
}

}  // namespace

Result<std::optional<StoredRef>> read_ref(const StoreLayout& layout, const fs::path& path) {
    core::note_activity("look at", path.native());
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<StoredRef>();
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    }
    BELAY_TRY(believed, is_believed(layout.root, path));
    if (!believed) return std::optional<StoredRef>();
    BELAY_TRY(text, core::read_file(path, kMaxRefBytes));
    auto parse = [&]() -> Result<StoredRef> {
        BELAY_TRY(document, parse_strict_json(text, "it", kMaxRefBytes));
        if (!document.is_object()) return core::system_error("it is not an object");
        BELAY_TRY(reference, text_member(document, "reference"));
        BELAY_TRY(digest, text_member(document, "digest"));
        if (!is_digest(digest)) return core::system_error("it holds no digest");
        return StoredRef{path, std::move(reference), std::move(digest), mtime_of(status)};
    };
    auto ref = parse();
    if (!ref)
        return std::unexpected(
            std::move(ref.error()).context(path.string()).hint("remove that file and pull the image again"));
    return std::optional(std::move(*ref));
}

Result<> write_ref(const StoreLayout& layout, const Reference& reference, const Platform& platform,
                   const std::string& digest) {
    fs::path path = layout.ref(reference, platform);
    BELAY_CHECK(make_way(layout, path));
    // Another user's name that says the same already may stand.
    if (auto known = read_ref(layout, path); known && *known && (*known)->digest == digest) {
        mark_used(path);
        return {};
    }
    nlohmann::json document{{"reference", display_name(reference)}, {"digest", digest}};
    BELAY_CHECK(core::replace_file(path, document.dump() + "\n"));
    struct stat directory{};
    if (stat(layout.refs().c_str(), &directory) == 0) (void)chmod(path.c_str(), mode_in(directory));
    return {};
}

mode_t mode_in(const struct stat& directory) {
    return 0600U | (directory.st_mode & 0044U);
}

Result<StoredRefs> read_refs(const StoreLayout& layout) {
    BELAY_TRY(names, names_in(layout.refs()));
    StoredRefs out;
    for (const std::string& name : names) {
        if (name.contains(kUnfinished)) continue;
        auto ref = read_ref(layout, layout.refs() / name);
        if (!ref)
            out.unread.push_back(std::move(ref.error()));
        else if (*ref)
            out.refs.push_back(std::move(**ref));
    }
    return out;
}

Result<std::optional<Image>> load_image(const StoreLayout& layout, std::string_view key) {
    struct stat status{};
    const fs::path squashfs = layout.image(key);
    const fs::path sidecar = layout.sidecar(key);
    core::note_activity("look at", squashfs.native());
    for (const fs::path& file : {squashfs, sidecar}) {
        struct stat ignored{};
        if (stat(file.c_str(), file == squashfs ? &status : &ignored) == 0) continue;
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<Image>();
        return core::errno_error(errno, fmt::format("cannot look at {}", file.string()));
    }
    BELAY_TRY(squashfs_believed, is_believed(layout.root, squashfs));
    BELAY_TRY(sidecar_believed, is_believed(layout.root, sidecar));
    if (!squashfs_believed || !sidecar_believed) return std::optional<Image>();
    BELAY_TRY(text, core::read_file(sidecar, 2 * kMaxConfigBytes));
    auto image = parse_sidecar(text);
    if (!image)
        return std::unexpected(std::move(image.error())
                                   .context(sidecar.string())
                                   .hint("remove that file and pull the image again"));
    if (hex_of(image->digest) != key.substr(0, key.find('-'))) return std::optional<Image>();
    image->squashfs = squashfs;
    image->bytes = static_cast<uint64_t>(status.st_size);
    return std::optional(std::move(*image));
}

Result<std::vector<std::string>> image_keys(const StoreLayout& layout) {
    BELAY_TRY(names, names_in(layout.images()));
    std::vector<std::string> out;
    for (std::string& name : names) {
        if (name.starts_with('.') || !name.ends_with(kImageEnding)) continue;
        out.push_back(name.substr(0, name.size() - kImageEnding.size()));
    }
    return out;
}

void mark_used(const fs::path& path) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

}  // namespace belay::image

#include "stage/dataset/dataset.h"

#include "core/hash.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/dataset/pieces.h"
#include "stage/walk/named_directory.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace belay::stage {

using core::bad_input;
using core::Result;

std::string index_name(std::string_view shard_name) {
    constexpr std::string_view kTar = ".tar";
    return fmt::format("{}.idx", shard_name.ends_with(kTar)
                                     ? shard_name.substr(0, shard_name.size() - kTar.size())
                                     : shard_name);
}

Result<OwnedManifest> read_owned_manifest(const core::Directory& directory) {
    const std::string path = directory.path_of(shard::kManifestName).string();
    auto file = directory.open_file(shard::kManifestName, O_RDONLY);
    if (!file && file.error().cause() == core::Cause::kNotFound) {
        BELAY_TRY(journal, directory.facts(kJournalName));
        if (journal)
            return bad_input("packing into {} was interrupted, or is under way: it has no {} yet",
                             directory.path().string(), shard::kManifestName)
                .because(core::Cause::kNotFound)
                .hint(
                    "give the same command, belay stage pack, again: it goes on behind the shards that are "
                    "there");
        return bad_input("{} contains no packed data: it has no {}", directory.path().string(),
                         shard::kManifestName)
            .because(core::Cause::kNotFound)
            .hint("make them with: belay stage pack DIR -o OUT (a new directory)");
    }
    if (!file) return std::unexpected(std::move(file.error()));
    struct stat status{};
    if (fstat(file->get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path));
    BELAY_TRY(text, core::read_opened(file->get(), path, shard::kMostManifestBytes));
    BELAY_TRY(manifest, shard::parse_manifest(text, path));
    return OwnedManifest{std::move(manifest), status.st_uid};
}

Result<shard::Manifest> read_manifest(const core::Directory& directory) {
    BELAY_TRY(owned, read_owned_manifest(directory));
    return std::move(owned.manifest);
}

Result<Dataset> Dataset::open(const std::filesystem::path& path) {
    BELAY_TRY(directory, open_named_directory(path));
    BELAY_TRY(manifest, read_manifest(directory));
    return Dataset(std::move(directory), std::move(manifest));
}

Result<> Dataset::require_tar() const {
    if (manifest_.format == shard::Format::kTar) return {};
    return bad_input("{} is an image, not tar shards", directory_.path().string())
        .hint("mount it with: belay stage mount OUT DIR");
}

Result<shard::IndexView> Dataset::index_of(const shard::ManifestShard& shard, std::string& text) const {
    const std::string path = index_name(shard.path);
    BELAY_TRY(bytes, directory_.read_file(path, shard::most_index_bytes(shard.records)));
    text = std::move(bytes);
    auto view = shard::IndexView::open(text);
    if (!view)
        return std::unexpected(
            std::move(view.error())
                .context(directory_.path_of(path).string())
                .hint(fmt::format("rebuild it with: belay stage repair {}", directory_.path().string())));
    if (view->tar_bytes() != shard.bytes)
        return bad_input("{} is of a tar with {} bytes, and {} has {}", directory_.path_of(path).string(),
                         view->tar_bytes(), core::printable(shard.path), shard.bytes)
            .hint(fmt::format("rebuild it with: belay stage repair {}", directory_.path().string()));
    return view;
}

Result<> Dataset::list(const TakeRecord& take) const {
    BELAY_CHECK(require_tar());
    std::string text;
    for (const shard::ManifestShard& shard : manifest_.shards) {
        BELAY_TRY(index, index_of(shard, text));
        for (uint64_t i = 0; i < index.size(); ++i) BELAY_CHECK(take(shard, index[i]));
    }
    return {};
}

Result<> Dataset::read(std::string_view name, const std::function<Result<>(std::string_view)>& take) const {
    BELAY_CHECK(require_tar());
    std::string text;
    for (const shard::ManifestShard& shard : manifest_.shards) {
        BELAY_TRY(index, index_of(shard, text));
        const auto record = index.find(name);
        if (!record) continue;
        BELAY_TRY(tar, directory_.open_quietly(shard.path));
        uint32_t checksum = 0;
        uint64_t bytes = 0;
        Result<> taken;
        BELAY_CHECK(
            read_pieces(tar.get(), shard.path, record->offset, record->bytes, [&](std::string_view piece) {
                checksum = shard::crc32c(piece, checksum);
                bytes += piece.size();
                if (taken) taken = take(piece);
            }));
        BELAY_CHECK(taken);
        if (bytes == record->bytes && checksum == record->checksum) return {};
        return core::negative("{} in {} is damaged: its checksum differs", core::printable(name),
                              directory_.path_of(shard.path).string())
            .hint(fmt::format("rebuild the shard with: belay stage repair {}", directory_.path().string()));
    }
    return bad_input("{} holds no {}", directory_.path().string(), core::printable(name))
        .because(core::Cause::kNotFound)
        .hint(fmt::format("see what it holds: belay stage ls {}", directory_.path().string()));
}

}  // namespace belay::stage

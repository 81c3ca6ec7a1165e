#include "stage/verify/verify.h"

#include "core/hash.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/tar_format.h"
#include "stage/dataset/dataset.h"
#include "stage/dataset/pieces.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace belay::stage {

namespace {

using core::Directory;
using core::Result;
using shard::ManifestShard;

// Which records of a tar, and what between them, differ from what the index says.
Result<std::vector<Defect>> damaged_parts(int fd, const std::string& path, const shard::IndexView& index) {
    std::vector<shard::Record> records;
    for (uint64_t i = 0; i < index.size(); ++i) records.push_back(index[i]);
    std::ranges::sort(records, {}, &shard::Record::offset);
    std::vector<Defect> defects;
    uint64_t end = 0;  // of what was looked at
    auto expect = [&](std::string_view expected, const std::optional<std::string>& sample,
                      std::string_view what) -> Result<> {
        std::string seen;
        BELAY_CHECK(
            read_pieces(fd, path, end, expected.size(), [&](std::string_view bytes) { seen += bytes; }));
        if (seen != expected) defects.push_back({path, sample, std::string(what)});
        end += expected.size();
        return {};
    };
    for (const shard::Record& record : records) {
        BELAY_CHECK(expect(shard::tar_header(record.name, record.bytes), record.name,
                           "its header in the tar is damaged"));
        if (record.offset != end) {
            defects.push_back({path, record.name, "the index says that it lies elsewhere in the tar"});
            end = record.offset;
        }
        uint32_t checksum = 0;
        BELAY_CHECK(read_pieces(fd, path, record.offset, record.bytes,
                                [&](std::string_view bytes) { checksum = shard::crc32c(bytes, checksum); }));
        if (checksum != record.checksum)
            defects.push_back({path, record.name, "its content is damaged: the checksum differs"});
        end = record.offset + record.bytes;
        BELAY_CHECK(expect(std::string(shard::tar_padding(record.bytes), '\0'), record.name,
                           "what follows its content in the tar is damaged"));
    }
    BELAY_CHECK(
        expect(std::string(shard::tar_trailer(end), '\0'), std::nullopt, "the end of the tar is damaged"));
    return defects;
}

// One shard of the manifest.
class ShardCheck {
  public:
    ShardCheck(const Directory& directory, const ManifestShard& stated)
        : directory_(directory), stated_(stated) {}

    Result<std::vector<Defect>> run() {
        BELAY_TRY(index, checked_index());
        BELAY_TRY(file, open(stated_.path));
        if (!file) return std::move(defects_);
        BELAY_TRY(facts, directory_.facts(stated_.path));
        if (facts && facts->bytes != stated_.bytes)
            add(stated_.path, fmt::format("it has {} bytes, {} are stated", facts->bytes, stated_.bytes));
        core::Sha256 hash;
        BELAY_CHECK(read_pieces(file->get(), stated_.path, 0, UINT64_MAX,
                                [&](std::string_view bytes) { hash.update(bytes); }));
        if (core::to_hex(hash.finish()) == stated_.sha256) return std::move(defects_);
        const size_t before = defects_.size();
        if (index) {
            BELAY_TRY(parts, damaged_parts(file->get(), stated_.path, *index));
            defects_.insert(defects_.end(), parts.begin(), parts.end());
        }
        if (defects_.size() == before) add(stated_.path, "its SHA-256 does not match the manifest");
        return std::move(defects_);
    }

  private:
    void add(const std::string& path, std::string why) {
        defects_.push_back({path, std::nullopt, std::move(why)});
    }

    Result<std::optional<core::Descriptor>> open(const std::string& path) {
        auto file = directory_.open_quietly(path);
        if (file) return std::optional(std::move(*file));
        if (file.error().cause() != core::Cause::kNotFound &&
            file.error().kind() != core::ErrorKind::kBadInput)
            return std::unexpected(std::move(file.error()));
        add(path, file.error().cause() == core::Cause::kNotFound ? "it is missing" : file.error().message());
        return std::nullopt;
    }

    // Nothing where there is none, or it is not to be believed.
    Result<std::optional<shard::IndexView>> checked_index() {
        if (stated_.index_sha256.empty()) return std::nullopt;
        const std::string path = index_name(stated_.path);
        BELAY_TRY(file, open(path));
        if (!file) return std::nullopt;
        BELAY_TRY(text, core::read_opened(file->get(), directory_.path_of(path),
                                          shard::most_index_bytes(stated_.records)));
        index_text_ = std::move(text);
        if (core::to_hex(core::sha256(index_text_)) != stated_.index_sha256) {
            auto view = shard::IndexView::open(index_text_);
            add(path, view ? "its SHA-256 does not match the manifest" : view.error().message());
            return std::nullopt;
        }
        auto view = shard::IndexView::open(index_text_);
        if (view) return *view;
        add(path, view.error().message());
        return std::nullopt;
    }

    const Directory& directory_;
    const ManifestShard& stated_;
    std::string index_text_;
    std::vector<Defect> defects_;
};

// What reading gives where it is not for this process that it fails.
bool is_of_the_disk(int reason) {
    return reason == EIO || reason == ESTALE || reason == ENODATA || reason == EUCLEAN || reason == EBADMSG;
}

}  // namespace

Result<Verification> verify(const std::filesystem::path& path, size_t threads) {
    BELAY_TRY(directory, open_named_directory(path));
    auto manifest = read_manifest(directory);
    if (!manifest && (manifest.error().cause() == core::Cause::kNotFound ||
                      manifest.error().kind() != core::ErrorKind::kBadInput))
        return std::unexpected(std::move(manifest.error()));
    if (!manifest)
        return Verification{
            .bad = {{std::string(shard::kManifestName), std::nullopt, manifest.error().headline()}}};
    std::vector<std::vector<Defect>> defects(manifest->shards.size());
    BELAY_CHECK(core::in_parallel(defects.size(), threads, [&](size_t number) -> Result<> {
        // Where a disk cannot read one shard, the others are checked all the same.
        auto found = ShardCheck(directory, manifest->shards[number]).run();
        if (found)
            defects[number] = std::move(*found);
        else if (is_of_the_disk(found.error().errno_value()))
            defects[number] = {{manifest->shards[number].path, std::nullopt, found.error().headline()}};
        else
            return std::unexpected(std::move(found.error()));
        return {};
    }));
    Verification result{.shards = defects.size(), .bytes = manifest->bytes()};
    for (auto& found : defects) std::ranges::move(found, std::back_inserter(result.bad));
    return result;
}

}  // namespace belay::stage

#include "core/hash.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/tar_format.h"
#include "stage/dataset/dataset.h"
#include "stage/dataset/pieces.h"
#include "stage/pack/image_writer.h"
#include "stage/pack/journal.h"
#include "stage/pack/plan.h"
#include "stage/pack/sample.h"
#include "stage/pack/shard_writer.h"
#include "stage/verify/verify.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Directory;
using core::Result;
using shard::ManifestShard;

// What a tar of ours holds, by its headers; nothing where it is damaged.
Result<std::optional<std::vector<shard::Record>>> records_of(int fd, const std::string& path,
                                                             uint64_t tar_bytes) {
    std::vector<shard::Record> records;
    std::string key;
    for (uint64_t at = 0; at < tar_bytes;) {
        std::string header;
        BELAY_CHECK(read_pieces(fd, path, at, shard::kLongestTarHeader,
                                [&](std::string_view bytes) { header += bytes; }));
        const auto member = shard::parse_tar_header(header);
        if (!member && header.find_first_not_of('\0') == std::string::npos) break;  // its end
        if (!member || member->bytes > tar_bytes - at) return std::nullopt;
        const std::string_view next_key = sample_key(member->name);
        const bool is_next = !records.empty() && next_key != key;
        records.push_back({.name = member->name,
                           .offset = at + member->header_bytes,
                           .bytes = member->bytes,
                           .sample = records.empty() ? 0 : records.back().sample + (is_next ? 1 : 0)});
        key = next_key;
        shard::Record& record = records.back();
        BELAY_CHECK(read_pieces(fd, path, record.offset, record.bytes, [&](std::string_view bytes) {
            record.checksum = shard::crc32c(bytes, record.checksum);
        }));
        at = record.offset + record.bytes + shard::tar_padding(record.bytes);
    }
    return records;
}

// An index from its tar. False where that does not give the one that the manifest states.
Result<bool> make_index(const Directory& directory, const ManifestShard& stated) {
    BELAY_TRY(tar, directory.open_quietly(stated.path));
    BELAY_TRY(records, records_of(tar.get(), stated.path, stated.bytes));
    if (!records) return false;
    auto index = shard::encode_index(std::move(*records), stated.bytes);
    if (!index || core::to_hex(core::sha256(*index)) != stated.index_sha256) return false;
    BELAY_TRY(file, core::NewFile::begin(directory, index_name(stated.path), 0644));
    BELAY_CHECK(core::write_all(file.fd(), *index, file.path().string()));
    BELAY_CHECK(std::move(file).replace());
    return true;
}

// The source as it is now, and what is to be made of it.
class Source {
  public:
    static Result<Source> open(const std::filesystem::path& path, const shard::Manifest& manifest,
                               size_t threads) {
        BELAY_TRY(root, open_named_directory(path));
        BELAY_TRY(listing,
                  list_source(root, threads,
                              manifest.options.links == "skip" ? LinkRule::kSkip : LinkRule::kFollow));
        return Source(std::move(root), std::move(listing), threads);
    }

    Result<> make_shard(const Directory& directory, const shard::Manifest& manifest, size_t number) const {
        const ManifestShard& stated = manifest.shards[number];
        std::atomic<uint64_t> done_bytes = 0;
        const std::atomic<bool> stop = false;
        const ShardWork work{root_, listing_, directory, done_bytes, stop};
        if (manifest.format == shard::Format::kSquashfs) {
            BELAY_TRY(options, image_options(manifest, threads_));
            BELAY_TRY(image, write_image(work, stated.path, options, &stated));
            (void)image;
            return {};
        }
        BELAY_TRY(planned, members_of(directory, manifest, number));
        BELAY_TRY(shard, write_shard(work, planned, stated.path, &stated));
        (void)shard;
        return {};
    }

  private:
    Source(Directory root, SourceListing listing, size_t threads)
        : root_(std::move(root)), listing_(std::move(listing)), threads_(threads) {}

    // By the index, where it is sound: then other parts of the source may have changed. Else as they would be
    // packed now.
    Result<PlannedShard> members_of(const Directory& directory, const shard::Manifest& manifest,
                                    size_t number) const {
        const ManifestShard& stated = manifest.shards[number];
        if (auto text = directory.read_file(index_name(stated.path), shard::most_index_bytes(stated.records));
            text && core::to_hex(core::sha256(*text)) == stated.index_sha256)
            if (auto index = shard::IndexView::open(*text)) return members_of(*index, stated);
        BELAY_TRY(plan, plan_shards(listing_, {.shard_bytes = manifest.options.shard_bytes.value_or(0),
                                               .shuffle_key = manifest.options.shuffle_key}));
        if (number >= plan.size()) return bad_input("{}: the source has changed", stated.path);
        return std::move(plan[number]);
    }
    Result<PlannedShard> members_of(const shard::IndexView& index, const ManifestShard& stated) const {
        std::vector<shard::Record> records;
        for (uint64_t i = 0; i < index.size(); ++i) records.push_back(index[i]);
        std::ranges::sort(records, {}, &shard::Record::offset);
        PlannedShard planned{.tar_bytes = stated.bytes, .samples = static_cast<uint32_t>(stated.samples)};
        for (const shard::Record& record : records) {
            const auto place = std::ranges::lower_bound(listing_.files, record.name, {}, &SourceFile::path);
            if (place == listing_.files.end() || place->path != record.name)
                return bad_input("{}: {} is not in the source any longer", stated.path,
                                 core::printable(record.name));
            planned.files.push_back({static_cast<size_t>(place - listing_.files.begin()), record.sample});
        }
        return planned;
    }

    Directory root_;
    SourceListing listing_;
    size_t threads_;
};

// What is damaged, from a source that is listed once it is needed.
Result<Repair> make_again(const Directory& directory, const OwnedManifest& read,
                          const std::vector<Defect>& bad,
                          const std::optional<std::filesystem::path>& source_path, size_t threads) {
    const shard::Manifest& manifest = read.manifest;
    const bool is_trusted = read.owner == geteuid() || read.owner == 0;
    std::map<std::string, std::vector<const Defect*>> damaged;
    for (const Defect& defect : bad) damaged[defect.shard].push_back(&defect);
    Repair result;
    std::optional<Result<Source>> source;
    for (size_t number = 0; number < manifest.shards.size(); ++number) {
        const ManifestShard& stated = manifest.shards[number];
        const bool tar = damaged.contains(stated.path);
        const bool index = damaged.contains(index_name(stated.path));
        if (!tar && !index) continue;
        if (!tar) {  // only its index is damaged
            BELAY_TRY(made, make_index(directory, stated));
            if (made) {
                result.repaired.push_back(index_name(stated.path));
                continue;
            }
        }
        if (!source && !source_path && !is_trusted)
            source = bad_input("{} belongs to another user, who says where its source is",
                               core::printable(directory.path().string()))
                         .hint("name the directory with --source");
        if (!source) source = Source::open(source_path.value_or(manifest.source.root), manifest, threads);
        const Result<> made =
            *source ? (*source)->make_shard(directory, manifest, number) : std::unexpected((*source).error());
        if (made && tar) result.repaired.push_back(stated.path);
        if (made && index) result.repaired.push_back(index_name(stated.path));
        if (made) continue;
        for (const std::string& file : {stated.path, index_name(stated.path)})
            for (const Defect* defect : damaged[file])
                result.left.push_back(
                    {file, defect->sample,
                     fmt::format("{}; it cannot be rebuilt: {}", defect->why, made.error().message())});
    }
    return result;
}

}  // namespace

Result<Repair> repair(const std::filesystem::path& path,
                      const std::optional<std::filesystem::path>& source_path, size_t threads) {
    BELAY_TRY(verification, verify(path, threads));
    if (verification.ok()) return Repair{};
    BELAY_TRY(directory, open_named_directory(path));
    const auto manifest = read_owned_manifest(directory);
    if (!manifest) return Repair{.left = std::move(verification.bad)};
    // A pack into the same directory would remove what is being made as the leftovers of a killed one.
    BELAY_TRY(journal, Journal::open(directory));
    auto result = make_again(directory, *manifest, verification.bad, source_path, threads);
    auto removed = journal.is_empty() ? std::move(journal).remove() : Result<>();
    if (result && !removed) return std::unexpected(std::move(removed.error()));
    return result;
}

}  // namespace belay::stage

#include "stage/pack/pack.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/time.h"
#include "core/utf8.h"
#include "stage/dataset/dataset.h"
#include "stage/dataset/pieces.h"
#include "stage/pack/image_writer.h"
#include "stage/pack/journal.h"
#include "stage/pack/plan.h"
#include "stage/pack/sample.h"
#include "stage/pack/shard_writer.h"
#include "stage/space/space.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

// The number in "NAME-000017.tar" and "NAME-000017.idx"; nothing in other names.
std::optional<size_t> shard_number(std::string_view file_name, std::string_view name) {
    if (!file_name.starts_with(name)) return std::nullopt;
    file_name.remove_prefix(name.size());
    if (!file_name.starts_with('-') || !(file_name.ends_with(".tar") || file_name.ends_with(".idx")))
        return std::nullopt;
    const std::string_view digits = file_name.substr(1, file_name.size() - 5);
    if (digits.size() < 6 || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    return core::parse_number<size_t>(digits);
}

bool is_ours(std::string_view file_name, std::string_view name) {
    return shard_number(file_name, name) || file_name == std::string(name) + ".sqsh" ||
           file_name == shard::kManifestName;
}

// The name of a file of ours with what NewFile puts behind it (core/new_file.h), which a crash left.
bool is_leftover(std::string_view file_name, std::string_view name) {
    constexpr std::string_view kMark = ".tmp-";
    constexpr size_t kDigits = 16;
    if (file_name.size() < kMark.size() + kDigits) return false;
    const std::string_view end = file_name.substr(file_name.size() - kDigits);
    const std::string_view begin = file_name.substr(0, file_name.size() - kDigits);
    return begin.ends_with(kMark) &&
           std::ranges::all_of(end,
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }) &&
           is_ours(begin.substr(0, begin.size() - kMark.size()), name);
}

Result<> remove_leftovers(const Directory& output, const std::string& name) {
    BELAY_TRY(names, output.list());
    for (const std::string& file : names)
        if (is_leftover(file, name)) BELAY_CHECK(output.remove_file(file));
    return {};
}

// Where no pack of ours was interrupted, files with the names of ours are somebody's.
Result<> refuse_other_files(const Directory& output, const std::string& name) {
    BELAY_TRY(names, output.list());
    for (const std::string& file : names)
        if (is_ours(file, name))
            return bad_input("{} is there already, and is not part of this data set",
                             core::printable(output.path_of(file).string()))
                .hint("name another directory, or another --name");
    return {};
}

// Before the first file is begun: what failed then leaves no trace.
bool has_nothing_of(const std::string& name, const Directory& output) {
    const auto names = output.list();
    return names && std::ranges::none_of(*names, [&](const std::string& file) {
               return is_ours(file, name) || is_leftover(file, name);
           });
}

// What an interrupted pack with other options left would be taken for shards of this one.
Result<> remove_other_shards(const Directory& output, const std::string& name,
                             const shard::Manifest& manifest) {
    BELAY_TRY(names, output.list());
    const size_t count = manifest.format == shard::Format::kTar ? manifest.shards.size() : 0;
    for (const std::string& file : names)
        if (const auto number = shard_number(file, name);
            (number && *number >= count) || (count > 0 && file == name + ".sqsh"))
            BELAY_CHECK(output.remove_file(file));
    return {};
}

// What people say of the data goes into JSON.
Result<> check_words(const PackOptions& options) {
    const std::pair<std::string_view, const std::string&> words[] = {
        {"--url", options.url}, {"--licence", options.licence}, {"--revision", options.revision}};
    for (const auto& [option, text] : words)
        if (core::to_valid_utf8(text) != text)
            return bad_input("{} {}: is not UTF-8", option, core::printable(text));
    return {};
}

Result<std::string> name_of(const fs::path& source, const PackOptions& options) {
    std::string name = options.name;
    if (name.empty()) {
        std::error_code error;
        const fs::path whole = fs::canonical(source, error);
        if (error) return core::errno_error(error, fmt::format("cannot open {}", source.string()));
        name = whole.filename();
    }
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.') ||
        name.starts_with('-') || core::printable(name) != name)
        return bad_input("\"{}\" cannot be the name of shards", core::printable(name))
            .hint("give one with --name, of letters, digits, \"-\" and \"_\"");
    return name;
}

// An image has neither.
Result<> refuse_options_of_tars(const PackOptions& options) {
    if (options.format != shard::Format::kSquashfs) return {};
    if (options.shuffle_key)
        return bad_input("--shuffle: an image has no order of samples").hint("leave it out, or pack as tar");
    if (options.shard_bytes)
        return bad_input("--shard-size: an image is not cut into shards")
            .hint("leave it out, or pack as tar");
    return {};
}

std::string created(const SourceListing& listing, const PackOptions& options) {
    constexpr int64_t kLastSecond = INT64_MAX / 1'000'000'000 - 1;
    const int64_t seconds =
        std::clamp<int64_t>(options.source_date.value_or(listing.newest / 1'000'000'000), 0, kLastSecond);
    return core::format_time(core::Time(std::chrono::seconds(seconds)));
}

shard::Manifest manifest_of(const fs::path& root, const SourceListing& listing, const std::string& name,
                            const PackOptions& options) {
    shard::Manifest manifest{
        .name = name, .created = created(listing, options), .tool = options.tool, .format = options.format};
    manifest.options.links = options.links == LinkRule::kFollow ? "follow" : "skip";
    if (options.format == shard::Format::kTar)
        manifest.options.shard_bytes = options.shard_bytes.value_or(kUsualShardBytes);
    manifest.options.shuffle_key = options.shuffle_key;
    manifest.source = {.root = core::to_valid_utf8(root.string()),
                       .files = listing.files.size(),
                       .bytes = listing.bytes,
                       .listing_sha256 = listing.digest(),
                       .url = options.url,
                       .licence = options.licence,
                       .revision = options.revision};
    return manifest;
}

// The manifest that is there already, if it says the same; nothing where there is none.
Result<std::optional<shard::Manifest>> earlier_manifest(const Directory& output,
                                                        const shard::Manifest& wanted) {
    BELAY_TRY(facts, output.facts(shard::kManifestName));
    if (!facts) return std::nullopt;
    BELAY_TRY(text, output.read_file(shard::kManifestName, shard::kMostManifestBytes));
    BELAY_TRY(manifest, shard::parse_manifest(text, output.path_of(shard::kManifestName).string()));
    shard::Manifest::Options options = wanted.options;
    options.compression = manifest.options.compression;  // which follows from the source
    if (manifest.name == wanted.name && manifest.format == wanted.format && manifest.options == options &&
        manifest.source == wanted.source)
        return manifest;
    return bad_input("{} holds {} already, packed from other data or with other options",
                     output.path().string(), core::printable(manifest.name))
        .hint("name another directory, or remove this one");
}

// That all files are there which the manifest names. What is in them only verify looks at.
Result<> check_there(const Directory& output, const shard::Manifest& manifest) {
    const auto expect = [&](const std::string& path, std::optional<uint64_t> bytes) -> Result<> {
        BELAY_TRY(facts, output.facts(path));
        if (facts && (!bytes || facts->bytes == *bytes)) return {};
        return bad_input("{} is {}", core::printable(output.path_of(path).string()),
                         facts ? "not as long as it was packed" : "missing")
            .hint(fmt::format("belay stage repair {}", core::printable(output.path().string())));
    };
    for (const shard::ManifestShard& shard : manifest.shards) {
        BELAY_CHECK(expect(shard.path, shard.bytes));
        if (!shard.index_sha256.empty()) BELAY_CHECK(expect(index_name(shard.path), std::nullopt));
    }
    return {};
}

// What is packed there already, whole; nothing where it is to be packed. Errors: also kBadInput where
// something else is there.
Result<std::optional<shard::Manifest>> look_at_output(const Directory& output, const shard::Manifest& wanted,
                                                      const Journal& journal) {
    BELAY_TRY(earlier, earlier_manifest(output, wanted));
    if (earlier)
        BELAY_CHECK(check_there(output, *earlier));
    else if (!journal.has_begun(wanted.name))
        BELAY_CHECK(refuse_other_files(output, wanted.name));
    return earlier;
}

// Shards that are there as the journal says, by their number; the others are to be written.
Result<std::vector<std::optional<shard::ManifestShard>>> done_shards(const Directory& output,
                                                                     const Journal& journal,
                                                                     const std::vector<std::string>& digests,
                                                                     const std::string& name) {
    std::vector<std::optional<shard::ManifestShard>> done(digests.size());
    for (size_t i = 0; i < digests.size(); ++i) {
        auto shard = journal.find(digests[i]);
        if (!shard || shard->path != shard_name(name, i)) continue;
        BELAY_TRY(facts, output.facts(shard->path));
        if (!facts || facts->bytes != shard->bytes || facts->owner != geteuid()) continue;
        // An index is written before its tar: where a later pack with other options wrote that, this is
        // another.
        auto index = output.read_file(index_name(shard->path), shard::most_index_bytes(shard->records));
        if (index && core::to_hex(core::sha256(*index)) == shard->index_sha256) done[i] = std::move(*shard);
    }
    return done;
}

class Packer {
  public:
    Packer(const Directory& source, const SourceListing& listing, const Directory& output,
           const PackOptions& options, const std::string& name, Journal& journal)
        : work_{source, listing, output, done_bytes_, stop_},
          options_(options),
          name_(name),
          journal_(journal) {}

    Result<> run(Packed& packed) {
        if (options_.format == shard::Format::kSquashfs) return make_image(packed);
        return make_shards(packed);
    }

  private:
    // An entry and the name of each file (docs/formats/shard-index.md).
    uint64_t index_bytes_of(const PlannedShard& shard) const {
        constexpr uint64_t kFixedBytes = 64, kEntryBytes = 32;
        uint64_t bytes = kFixedBytes;
        for (const PlannedFile& planned : shard.files)
            bytes += kEntryBytes + work_.listing.files[planned.file].path.size();
        return bytes;
    }

    Result<> make_shards(Packed& packed) {
        BELAY_TRY(plan,
                  plan_shards(work_.listing, {.shard_bytes = options_.shard_bytes.value_or(kUsualShardBytes),
                                              .shuffle_key = options_.shuffle_key}));
        std::vector<std::string> digests;
        for (const PlannedShard& shard : plan) digests.push_back(digest_of(work_.listing, shard));
        BELAY_TRY(done, done_shards(work_.output, journal_, digests, name_));
        Need need{.memory_share = options_.memory_share};
        for (size_t i = 0; i < plan.size(); ++i) {
            total_ += plan[i].tar_bytes;
            if (done[i])
                done_bytes_ += plan[i].tar_bytes;
            else
                need.bytes += plan[i].tar_bytes + index_bytes_of(plan[i]), need.files += 2;
        }
        BELAY_CHECK(check_space(work_.output, need));
        packed.kept_shards = static_cast<uint64_t>(
            std::ranges::count_if(done, [](const auto& shard) { return shard.has_value(); }));
        BELAY_CHECK(core::in_parallel(plan.size(), options_.threads, [&](size_t number) -> Result<> {
            if (done[number]) return {};
            auto shard = make_shard(plan[number], shard_name(name_, number), digests[number]);
            if (!shard) {
                stop_ = true;  // the others need not end theirs
                return std::unexpected(std::move(shard.error()));
            }
            done[number] = std::move(*shard);
            return {};
        }));
        for (auto& shard : done) packed.manifest.shards.push_back(std::move(*shard));
        return {};
    }

    Result<shard::ManifestShard> make_shard(const PlannedShard& planned, const std::string& path,
                                            const std::string& digest) {
        // The line of a shard that something else replaced since would be believed again after a crash
        // between index and tar.
        if (journal_.find(digest)) {
            BELAY_TRY(there, work_.output.facts(path));
            if (there) BELAY_CHECK(work_.output.remove_file(path));
        }
        BELAY_TRY(written, write_shard(work_, planned, path));
        BELAY_CHECK(journal_.add(digest, written));
        if (options_.progress) {
            const std::lock_guard lock(mutex_);
            options_.progress(done_bytes_, total_);
        }
        return written;
    }

    Result<> make_image(Packed& packed) {
        BELAY_CHECK(check_space(
            work_.output, {.bytes = work_.listing.bytes, .files = 1, .memory_share = options_.memory_share}));
        packed.manifest.options.compression =
            is_compressible(work_.source, work_.listing, options_.threads) ? kZstd : kNoCompression;
        BELAY_TRY(image_options, stage::image_options(packed.manifest, options_.threads));
        BELAY_TRY(image, write_image(work_, name_ + ".sqsh", image_options));
        packed.manifest.shards.push_back(std::move(image));
        return {};
    }

    std::atomic<uint64_t> done_bytes_ = 0;
    std::atomic<bool> stop_ = false;
    ShardWork work_;
    const PackOptions& options_;
    const std::string& name_;
    Journal& journal_;
    uint64_t total_ = 0;
    std::mutex mutex_;
};

// A directory that is made for it is for those who can read the source.
Result<Directory> open_output(const fs::path& output, const Directory& source) {
    BELAY_TRY(type, core::type_of_file(output));
    BELAY_TRY(facts, source.facts());
    BELAY_CHECK(core::make_directories(output));
    BELAY_TRY(place, Directory::open_trusted(output));
    BELAY_TRY(made, place.facts());
    if (type == fs::file_type::not_found && made.owner == geteuid() &&
        fchmod(place.fd(), made.mode & (0700 | facts.mode)) != 0)
        return core::errno_error(errno,
                                 fmt::format("cannot set the mode of {}", core::printable(output.string())));
    return place;
}

uint64_t count_without_suffix(const SourceListing& listing) {
    return static_cast<uint64_t>(std::ranges::count_if(
        listing.files, [](const SourceFile& file) { return sample_key(file.path) == file.path; }));
}

}  // namespace

Result<Packed> pack(const fs::path& source, const fs::path& output, const PackOptions& options) {
    BELAY_TRY(root, open_named_directory(source));
    BELAY_TRY(name, name_of(source, options));
    BELAY_CHECK(check_words(options));
    BELAY_CHECK(refuse_options_of_tars(options));
    // Shards that are written beneath their own source would be packed the next time.
    BELAY_CHECK(refuse_place_in_source(source, output, "packed"));
    std::error_code error;
    const fs::path canonical = fs::canonical(source, error);
    if (error) return core::errno_error(error, fmt::format("cannot open {}", source.string()));
    BELAY_TRY(listing, list_source(root, options.threads, options.links));
    BELAY_CHECK(refuse_place_in_source(source, output, "packed", listing.directories));
    Packed packed{
        .manifest = manifest_of(canonical, listing, name, options),
        .skipped_links = listing.skipped_links,
        .without_suffix = options.format == shard::Format::kTar ? count_without_suffix(listing) : 0};
    BELAY_TRY(place, open_output(output, root));
    BELAY_TRY(journal, Journal::open(place));
    auto earlier = look_at_output(place, packed.manifest, journal);
    if (!earlier) {
        if (journal.is_new()) (void)std::move(journal).remove();
        return std::unexpected(std::move(earlier.error()));
    }
    BELAY_CHECK(remove_leftovers(place, name));
    if (*earlier) {
        BELAY_CHECK(std::move(journal).remove());
        packed.kept_shards = (*earlier)->shards.size();
        packed.manifest = std::move(**earlier);
        return packed;
    }
    if (!journal.has_begun(name)) BELAY_CHECK(journal.begin(name));
    if (auto made = Packer(root, listing, place, options, name, journal).run(packed); !made) {
        if (journal.is_new() && has_nothing_of(name, place)) (void)std::move(journal).remove();
        return std::unexpected(std::move(made.error()));
    }
    BELAY_CHECK(remove_other_shards(place, name, packed.manifest));
    BELAY_TRY(file, core::NewFile::begin(place, shard::kManifestName, 0644));
    BELAY_CHECK(core::write_all(file.fd(), shard::encode_manifest(packed.manifest), file.path().string()));
    BELAY_TRY(is_first, std::move(file).create());
    if (!is_first)
        return bad_input("{} was made by another process meanwhile",
                         place.path_of(shard::kManifestName).string());
    BELAY_CHECK(std::move(journal).remove());
    return packed;
}

}  // namespace belay::stage

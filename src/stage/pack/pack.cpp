#include "stage/pack/pack.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/new_file.h"
#include "core/parallel.h"
#include "core/time.h"
#include "core/utf8.h"
#include "stage/dataset/dataset.h"
#include "stage/pack/image_writer.h"
#include "stage/pack/journal.h"
#include "stage/pack/plan.h"
#include "stage/pack/shard_writer.h"
#include "stage/space/space.h"
#include "stage/walk/named_directory.h"

#include <algorithm>
#include <mutex>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

// A name of ours that a crash left behind.
bool is_leftover(std::string_view file_name, std::string_view name) {
    return file_name.starts_with(name) && file_name.find(".tmp-") != std::string_view::npos;
}

Result<> remove_leftovers(const Directory& output, const std::string& name) {
    BELAY_TRY(names, output.list());
    for (const std::string& file : names)
        if (is_leftover(file, name) || is_leftover(file, shard::kManifestName)) BELAY_CHECK(output.remove_file(file));
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
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.') || name.starts_with('-') || core::printable(name) != name)
        return bad_input("\"{}\" cannot be the name of shards", core::printable(name)).hint("give one with --name, of letters, digits, \"-\" and \"_\"");
    return name;
}

// Shards that are written beneath their own source would be packed the next time.
Result<> refuse_output_in_source(const fs::path& source, const fs::path& output) {
    std::error_code error;
    const fs::path root = fs::canonical(source, error);
    const fs::path place = fs::weakly_canonical(output, error);
    if (error || std::mismatch(root.begin(), root.end(), place.begin(), place.end()).first != root.end()) return {};
    return bad_input("{} lies within {}, which is packed", output.string(), source.string()).hint("name a directory outside of it");
}

std::string created(const SourceListing& listing, const PackOptions& options) {
    const int64_t seconds = options.source_date.value_or(listing.newest / 1'000'000'000);
    return core::format_time(core::Time(std::chrono::seconds(seconds)));
}

shard::Manifest manifest_of(const fs::path& source, const SourceListing& listing, const std::string& name, const PackOptions& options) {
    shard::Manifest manifest{.name = name, .created = created(listing, options), .tool = options.tool, .format = options.format};
    manifest.options.links = options.links == LinkRule::kFollow ? "follow" : "skip";
    if (options.format == shard::Format::kTar) manifest.options.shard_bytes = options.shard_bytes;
    manifest.options.shuffle_key = options.shuffle_key;
    manifest.source = {.root = core::to_valid_utf8(fs::absolute(source).lexically_normal().string()),
                       .files = listing.files.size(),
                       .bytes = listing.bytes,
                       .listing_sha256 = listing.digest(),
                       .url = options.url,
                       .licence = options.licence,
                       .revision = options.revision};
    return manifest;
}

// The manifest that is there already, if it says the same; nothing where there is none.
Result<std::optional<shard::Manifest>> earlier_manifest(const Directory& output, const shard::Manifest& wanted) {
    BELAY_TRY(facts, output.facts(shard::kManifestName));
    if (!facts) return std::nullopt;
    BELAY_TRY(text, output.read_file(shard::kManifestName, shard::kMostManifestBytes));
    BELAY_TRY(manifest, shard::parse_manifest(text, output.path_of(shard::kManifestName).string()));
    shard::Manifest::Options options = wanted.options;
    options.compression = manifest.options.compression;  // which follows from the source
    if (manifest.name == wanted.name && manifest.format == wanted.format && manifest.options == options && manifest.source == wanted.source)
        return manifest;
    return bad_input("{} holds {} already, packed from other data or with other options", output.path().string(), core::printable(manifest.name))
        .hint("name another directory, or remove this one");
}

// Shards that are there as the journal says, by their number; the others are to be written.
Result<std::vector<std::optional<shard::ManifestShard>>> done_shards(const Directory& output, const Journal& journal, const std::vector<std::string>& digests,
                                                             const std::string& name) {
    std::vector<std::optional<shard::ManifestShard>> done(digests.size());
    for (size_t i = 0; i < digests.size(); ++i) {
        auto shard = journal.find(digests[i]);
        if (!shard || shard->path != shard_name(name, i)) continue;
        BELAY_TRY(facts, output.facts(shard->path));
        BELAY_TRY(index, output.facts(index_name(shard->path)));
        if (facts && facts->bytes == shard->bytes && index) done[i] = std::move(*shard);
    }
    return done;
}

class Packer {
  public:
    Packer(const Directory& source, const SourceListing& listing, const Directory& output, const PackOptions& options, const std::string& name, Journal& journal)
        : work_{source, listing, output, done_bytes_, stop_}, options_(options), name_(name), journal_(journal) {}

    Result<> run(Packed& packed) {
        if (options_.format == shard::Format::kSquashfs) return make_image(packed);
        return make_shards(packed);
    }

  private:
    Result<> make_shards(Packed& packed) {
        BELAY_TRY(plan, plan_shards(work_.listing, {.shard_bytes = options_.shard_bytes, .shuffle_key = options_.shuffle_key}));
        std::vector<std::string> digests;
        for (const PlannedShard& shard : plan) digests.push_back(digest_of(work_.listing, shard));
        BELAY_TRY(done, done_shards(work_.output, journal_, digests, name_));
        Need need;
        for (size_t i = 0; i < plan.size(); ++i) {
            total_ += plan[i].tar_bytes;
            if (done[i]) done_bytes_ += plan[i].tar_bytes;
            else need.bytes += plan[i].tar_bytes, need.files += 2;
        }
        BELAY_CHECK(check_space(work_.output, need));
        packed.kept_shards = static_cast<uint64_t>(std::ranges::count_if(done, [](const auto& shard) { return shard.has_value(); }));
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

    Result<shard::ManifestShard> make_shard(const PlannedShard& planned, const std::string& path, const std::string& digest) {
        BELAY_TRY(written, write_shard(work_, planned, path));
        BELAY_CHECK(journal_.add(digest, written));
        if (options_.progress) {
            const std::lock_guard lock(mutex_);
            options_.progress(done_bytes_, total_);
        }
        return written;
    }

    Result<> make_image(Packed& packed) {
        BELAY_CHECK(check_space(work_.output, {.bytes = work_.listing.bytes, .files = 1}));
        packed.manifest.options.compression = is_compressible(work_.source, work_.listing, options_.threads) ? kZstd : kNoCompression;
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

}  // namespace

Result<Packed> pack(const fs::path& source, const fs::path& output, const PackOptions& options) {
    BELAY_TRY(root, open_named_directory(source));
    BELAY_TRY(name, name_of(source, options));
    BELAY_CHECK(refuse_output_in_source(source, output));
    BELAY_TRY(listing, list_source(root, options.threads, options.links));
    Packed packed{.manifest = manifest_of(source, listing, name, options)};
    BELAY_CHECK(core::make_directories(output));
    BELAY_TRY(place, Directory::open_trusted(output));
    BELAY_TRY(journal, Journal::open(place, name));
    BELAY_TRY(earlier, earlier_manifest(place, packed.manifest));
    if (earlier) {
        BELAY_CHECK(std::move(journal).remove());
        return Packed{.manifest = *earlier, .kept_shards = earlier->shards.size()};
    }
    BELAY_CHECK(remove_leftovers(place, name));
    BELAY_CHECK(Packer(root, listing, place, options, name, journal).run(packed));
    BELAY_TRY(file, core::NewFile::begin(place, shard::kManifestName, 0644));
    BELAY_CHECK(core::write_all(file.fd(), shard::encode_manifest(packed.manifest), file.path().string()));
    BELAY_TRY(is_first, std::move(file).create());
    if (!is_first) return bad_input("{} was made by another process meanwhile", place.path_of(shard::kManifestName).string());
    BELAY_CHECK(std::move(journal).remove());
    return packed;
}

}  // namespace belay::stage

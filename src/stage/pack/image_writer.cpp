#include "stage/pack/image_writer.h"

#include "core/hash.h"
#include "core/new_file.h"
#include "core/text.h"
#include "image/squashfs_writer.h"
#include "stage/dataset/pieces.h"
#include "stage/pack/read_ahead.h"
#include "stage/pack/sample.h"
#include "stage/scan/probe.h"
#include "stage/scan/sums.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace belay::stage {

namespace {

using core::Result;

// The tree of names, in which file `i` of the listing is entry `i`.
struct Tree {
    image::Inodes inodes;
    image::Node root;
};

Tree tree_of(const SourceListing& listing, uint32_t mtime) {
    constexpr uint32_t kFileMode = 0444;
    constexpr uint32_t kDirectoryMode = 0555;
    Tree tree;
    auto directory = [&] {
        return tree.inodes.add(
            {.kind = image::EntryKind::kDirectory, .mode = kDirectoryMode, .mtime = mtime});
    };
    tree.root.inode = directory();
    for (size_t i = 0; i < listing.files.size(); ++i) {
        const SourceFile& file = listing.files[i];
        image::Node* at = &tree.root;
        std::string_view rest = file.path;
        for (size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
            auto [child, is_new] = at->children.try_emplace(std::string(rest.substr(0, slash)));
            if (is_new) child->second.inode = directory();
            at = &child->second;
            rest.remove_prefix(slash + 1);
        }
        at->children[std::string(rest)].inode = tree.inodes.add({.kind = image::EntryKind::kFile,
                                                                 .mode = kFileMode,
                                                                 .mtime = mtime,
                                                                 .size = file.bytes,
                                                                 .ordinal = i});
    }
    return tree;
}

Result<> put_contents(const ShardWork& work, image::SquashfsWriter& writer, size_t threads) {
    const std::vector<SourceFile>& files = work.listing.files;
    ReadAhead ahead(work.source, files, threads);
    SourceReader source(work.source);
    std::string buffer;
    for (size_t i = 0; i < files.size(); ++i) {
        if (work.stop) return core::system_error("packing was stopped").because(core::Cause::kCancelled);
        BELAY_CHECK(writer.begin_file(0, i));
        if (ReadAhead::reads(files[i])) {
            BELAY_TRY(content, ahead.take(i));
            BELAY_CHECK(writer.append(content));
        } else {
            buffer.resize(kPieceBytes);
            BELAY_CHECK(
                source.read(files[i], buffer, [&](std::string_view bytes) { return writer.append(bytes); }));
        }
        BELAY_CHECK(writer.end_file());
        work.done_bytes += files[i].bytes;
    }
    return {};
}

uint64_t samples_of(const SourceListing& listing) {
    std::set<std::string_view> keys;
    for (const SourceFile& file : listing.files) keys.insert(sample_key(file.path));
    return keys.size();
}

}  // namespace

Result<ImageOptions> image_options(const shard::Manifest& manifest, size_t threads) {
    BELAY_TRY(created, core::parse_time(manifest.created));
    const int64_t seconds = std::chrono::floor<std::chrono::seconds>(created).time_since_epoch().count();
    return ImageOptions{.compressed = manifest.options.compression != kNoCompression,
                        .threads = threads,
                        .mtime = static_cast<uint32_t>(std::clamp<int64_t>(seconds, 0, UINT32_MAX))};
}

bool is_compressible(const core::Directory& source, const SourceListing& listing, size_t threads) {
    constexpr double kWorthwhileShare = 1 / 1.1;
    Sample sample(TreeSums::kSampledFiles);
    for (const SourceFile& file : listing.files)
        if (const uint64_t rank = rank_of_path(file.path);
            file.bytes > 0 && !file.is_link && sample.wants(rank))
            sample.add({rank, file.path, file.bytes});
    const double share = compressed_share(source, sample.files(), threads);
    return !std::isfinite(share) || share <= kWorthwhileShare;
}

Result<shard::ManifestShard> write_image(const ShardWork& work, const std::string& path,
                                         const ImageOptions& options, const shard::ManifestShard* expected) {
    BELAY_TRY(file, core::NewFile::begin(work.output, path, expected != nullptr ? kPrivate : kForAll));
    const std::string name = file.path().string();
    {
        BELAY_TRY(writer,
                  image::SquashfsWriter::create(file.fd(), name, static_cast<unsigned>(options.threads),
                                                {.fragments = false, .compressed = options.compressed}));
        BELAY_CHECK(put_contents(work, writer, options.threads));
        const Tree tree = tree_of(work.listing, options.mtime);
        BELAY_CHECK(writer.finish(tree.inodes, tree.root, options.mtime));
    }
    core::Sha256 hash;
    uint64_t bytes = 0;
    BELAY_CHECK(read_pieces(file.fd(), name, 0, UINT64_MAX, [&](std::string_view piece) {
        hash.update(piece);
        bytes += piece.size();
    }));
    shard::ManifestShard written{.path = path,
                                 .bytes = bytes,
                                 .records = work.listing.files.size(),
                                 .samples = samples_of(work.listing),
                                 .sha256 = core::to_hex(hash.finish())};
    if (expected != nullptr && written != *expected)
        return core::bad_input(
            "{}: rebuilding it gave different bytes: the source has changed, or another version of Belay or "
            "of "
            "zstd packed it",
            name);
    if (expected != nullptr) BELAY_CHECK(let_all_read(file));
    BELAY_CHECK(std::move(file).replace());
    return written;
}

}  // namespace belay::stage

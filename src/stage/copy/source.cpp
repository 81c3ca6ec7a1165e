#include "stage/copy/source.h"

#include "core/json.h"
#include "core/utf8.h"
#include "stage/copy/open_files.h"
#include "stage/dataset/dataset.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

constexpr std::string_view kSchemaStart = "belay.stage/";

std::string shown(const Directory& root, const std::string& path) {
    return core::printable(root.path_of(path).string());
}

uint64_t bytes_of(const CopyPlan& plan) {
    uint64_t bytes = 0;
    for (const SourceFile& file : plan.files)
        if (__builtin_add_overflow(bytes, file.bytes, &bytes)) return std::numeric_limits<uint64_t>::max();
    return bytes;
}

// A regular file of that name, no link. Its device too, where that is wanted.
Result<SourceFile> look(const Directory& root, std::string path, uint64_t* device = nullptr) {
    struct stat status{};
    if (fstatat(root.fd(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", shown(root, path)));
    if (!S_ISREG(status.st_mode))
        return bad_input("{} is not a regular file", shown(root, path)).hint("name a file or a directory");
    if (device != nullptr) *device = status.st_dev;
    return SourceFile{.path = std::move(path),
                      .bytes = static_cast<uint64_t>(status.st_size),
                      .modified = nanoseconds_of(status.st_mtim),
                      .inode = status.st_ino,
                      .executable = (status.st_mode & S_IXUSR) != 0};
}

Result<CopySource> list_file(const fs::path& whole) {
    BELAY_TRY(root, Directory::open(whole.parent_path()));
    SourcePlace place;
    BELAY_TRY(file, look(root, whole.filename(), &place.device));
    return CopySource{.root = std::make_shared<const Directory>(std::move(root)),
                      .plan = {.kind = CopyKind::kFile, .files = {std::move(file)}},
                      .place = std::move(place)};
}

// Whether there is a manifest of ours; another program's is a file as any other.
Result<bool> is_packed(const Directory& root) {
    BELAY_TRY(facts, root.facts(shard::kManifestName));
    if (!facts || facts->type != core::FileType::kRegular || facts->bytes > shard::kMostManifestBytes)
        return false;
    BELAY_TRY(text, root.read_file(shard::kManifestName, shard::kMostManifestBytes));
    const nlohmann::json json = core::parse_json(text);
    if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string()) return false;
    return json["schema"].get_ref<const std::string&>().starts_with(kSchemaStart);
}

Result<std::vector<SourceFile>> packed_files(const Directory& root) {
    BELAY_TRY(manifest, read_manifest(root));
    std::vector<std::string> names = {std::string(shard::kManifestName)};
    for (const shard::ManifestShard& shard : manifest.shards) {
        names.push_back(shard.path);
        if (!shard.index_sha256.empty()) names.push_back(index_name(shard.path));
    }
    std::ranges::sort(names);
    std::vector<SourceFile> files;
    for (std::string& name : names) {
        BELAY_TRY(file, look(root, std::move(name)));
        files.push_back(std::move(file));
    }
    for (const shard::ManifestShard& shard : manifest.shards) {
        const auto file = std::ranges::lower_bound(files, shard.path, {}, &SourceFile::path);
        if (file->bytes != shard.bytes)
            return bad_input("{} has {} bytes, its manifest says {}", shown(root, shard.path), file->bytes,
                             shard.bytes)
                .hint(fmt::format("see what is damaged: belay stage verify {}",
                                  core::printable(root.path().string())));
    }
    return files;
}

Result<CopySource> list_packed(const Directory& root) {
    BELAY_TRY(files, packed_files(root));
    struct stat status{};
    if (fstat(root.fd(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", shown(root, "")));
    return CopySource{.root = {},
                      .plan = {.kind = CopyKind::kPacked, .files = std::move(files)},
                      .place = {.device = status.st_dev,
                                .directories = {.device = status.st_dev, .inodes = {status.st_ino}}}};
}

Result<CopySource> list_tree(const Directory& root, const SourceOptions& options) {
    BELAY_TRY(listing, list_source(root, options.threads, options.links));
    std::erase_if(listing.files, [](const SourceFile& file) { return file.path.starts_with(kCopyPrefix); });
    const uint64_t device = listing.directories.device;
    return CopySource{.root = {},
                      .plan = {.kind = CopyKind::kTree, .files = std::move(listing.files)},
                      .place = {.device = device, .directories = std::move(listing.directories)}};
}

Result<CopySource> list_directory(const fs::path& source, const SourceOptions& options) {
    BELAY_TRY(root, Directory::open(source));
    BELAY_TRY(packed, is_packed(root));
    BELAY_TRY(listed, packed ? list_packed(root) : list_tree(root, options));
    listed.root = std::make_shared<const Directory>(std::move(root));
    return listed;
}

Result<> read_all(const Directory& root, const SourceFile& file, int fd, const Segment& segment, char* into) {
    uint64_t done = 0;
    while (done < segment.bytes) {
        const ssize_t size =
            pread(fd, into + done, segment.bytes - done, static_cast<off_t>(segment.offset + done));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", shown(root, file.path)));
        if (size == 0) return changed_since(root, file.path);
        done += static_cast<uint64_t>(size);
    }
    // Whoever writes while it is read changes its time; of what was read nothing is known then.
    return check_unchanged(root, fd, file);
}

}  // namespace

Result<CopySource> list_copy(const fs::path& source, const SourceOptions& options) {
    std::error_code error;
    const fs::path whole = fs::canonical(source, error);
    if (error) {
        core::Error failed =
            core::errno_error(error, fmt::format("cannot open {}", core::printable(source.string()))).error();
        if (failed.cause() == core::Cause::kNotFound)
            failed = std::move(failed).as(core::ErrorKind::kBadInput);
        return std::unexpected(std::move(failed));
    }
    BELAY_TRY(type, core::type_of_file(whole));
    auto listed = type == fs::file_type::directory ? list_directory(source, options) : list_file(whole);
    if (!listed) return listed;
    if (options.only_packed && listed->plan.kind != CopyKind::kPacked)
        return bad_input("{} holds no packed data, with whose manifest --verify compares a copy",
                         core::printable(source.string()))
            .hint(
                "copy it without --verify (each chunk is compared on its way all the same), or pack it "
                "first: belay "
                "stage pack");
    listed->plan.chunk_bytes = options.chunk_bytes.value_or(usual_chunk_bytes(bytes_of(listed->plan)));
    BELAY_CHECK(core::with_context(check_plan(listed->plan), core::printable(source.string())));
    return listed;
}

Result<> refuse_source_as_destination(const fs::path& source, const fs::path& destination,
                                      const SourcePlace& place) {
    if (!place.directories.inodes.empty())
        return refuse_place_in_source(source, destination, "copied", place.directories);
    const auto from = id_of(source), to = id_of(destination);
    if (!from || from != to) return {};
    return bad_input("{} is {} itself, under another name", core::printable(destination.string()),
                     core::printable(source.string()))
        .hint("name another destination");
}

Result<> refuse_source_as_destination(const fs::path& source, const fs::path& destination) {
    struct stat status{};
    if (::stat(source.c_str(), &status) != 0) return {};
    SourcePlace place{.device = status.st_dev};
    if (S_ISDIR(status.st_mode)) place.directories = {.device = status.st_dev, .inodes = {status.st_ino}};
    return refuse_source_as_destination(source, destination, place);
}

ReadSegment source_reader(const CopySource& source) {
    struct Reader {
        CopySource source;
        OpenFiles files;
        explicit Reader(CopySource from)
            : source(std::move(from)), files([this](size_t file, int) -> Result<core::Descriptor> {
                  return open_source(*source.root, source.plan.files[file]);
              }) {}
    };
    return [reader = std::make_shared<Reader>(source)](const Segment& segment, char* into) -> Result<> {
        BELAY_TRY(file, reader->files.get(segment.file));
        return read_all(*reader->source.root, reader->source.plan.files[segment.file], file->get(), segment,
                        into);
    };
}

}  // namespace belay::stage

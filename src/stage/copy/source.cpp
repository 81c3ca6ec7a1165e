#include "stage/copy/source.h"

#include "core/json.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "stage/copy/open_files.h"
#include "stage/dataset/dataset.h"
#include "stage/walk/entries.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Directory;
using core::Result;

constexpr size_t kLookedAtOnce = 256;  // files, by one thread
constexpr std::string_view kSchemaStart = "belay.stage/";

std::string shown(const Directory& root, const std::string& path) {
    return core::printable(root.path_of(path).string());
}
core::Failure changed(const Directory& root, const SourceFile& file) {
    return bad_input("{} has changed since the files were listed", shown(root, file.path))
        .hint("copy it again when nobody writes to it");
}

// A regular file of that name, no link.
Result<CopyFile> look(const Directory& root, std::string path) {
    struct stat status{};
    if (fstatat(root.fd(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", shown(root, path)));
    if (!S_ISREG(status.st_mode))
        return bad_input("{} is not a regular file", shown(root, path)).hint("name a file or a directory");
    return CopyFile{.source = {.path = std::move(path),
                               .bytes = static_cast<uint64_t>(status.st_size),
                               .modified = nanoseconds_of(status.st_mtim),
                               .inode = status.st_ino},
                    .executable = (status.st_mode & S_IXUSR) != 0};
}

// The listing knows all but who may run them.
Result<> find_executables(const Directory& root, std::vector<CopyFile>& files, size_t threads) {
    return core::in_parallel((files.size() + kLookedAtOnce - 1) / kLookedAtOnce, threads,
                             [&](size_t part) -> Result<> {
                                 for (size_t i = part * kLookedAtOnce;
                                      i < std::min(files.size(), (part + 1) * kLookedAtOnce); ++i) {
                                     struct stat status{};
                                     if (fstatat(root.fd(), files[i].source.path.c_str(), &status, 0) != 0)
                                         return changed(root, files[i].source);
                                     files[i].executable = (status.st_mode & S_IXUSR) != 0;
                                 }
                                 return {};
                             });
}

Result<CopySource> list_file(const fs::path& whole) {
    BELAY_TRY(root, Directory::open(whole.parent_path()));
    BELAY_TRY(file, look(root, whole.filename()));
    return CopySource{.root = std::make_shared<const Directory>(std::move(root)),
                      .plan = {.kind = CopyKind::kFile, .files = {std::move(file)}}};
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

Result<std::vector<CopyFile>> packed_files(const Directory& root) {
    BELAY_TRY(manifest, read_manifest(root));
    std::vector<std::string> names = {std::string(shard::kManifestName)};
    for (const shard::ManifestShard& shard : manifest.shards) {
        names.push_back(shard.path);
        if (!shard.index_sha256.empty()) names.push_back(index_name(shard.path));
    }
    std::ranges::sort(names);
    std::vector<CopyFile> files;
    for (std::string& name : names) {
        BELAY_TRY(file, look(root, std::move(name)));
        files.push_back(std::move(file));
    }
    for (const shard::ManifestShard& shard : manifest.shards) {
        const auto file =
            std::ranges::find(files, shard.path, [](const CopyFile& each) { return each.source.path; });
        if (file->source.bytes != shard.bytes)
            return bad_input("{} has {} bytes, its manifest says {}", shown(root, shard.path),
                             file->source.bytes, shard.bytes)
                .hint(fmt::format("see what is damaged: belay stage verify {}",
                                  core::printable(root.path().string())));
    }
    return files;
}

Result<std::vector<CopyFile>> tree_files(const Directory& root, const SourceOptions& options) {
    BELAY_TRY(listing, list_source(root, options.threads, options.links));
    std::vector<CopyFile> files;
    for (SourceFile& file : listing.files)
        if (!file.path.starts_with(kCopyPrefix)) files.push_back({.source = std::move(file)});
    BELAY_CHECK(find_executables(root, files, options.threads));
    return files;
}

Result<CopySource> list_directory(const fs::path& source, const SourceOptions& options) {
    BELAY_TRY(root, Directory::open(source));
    BELAY_TRY(packed, is_packed(root));
    auto files = packed ? packed_files(root) : tree_files(root, options);
    if (!files) return std::unexpected(std::move(files.error()));
    return CopySource{
        .root = std::make_shared<const Directory>(std::move(root)),
        .plan = {.kind = packed ? CopyKind::kPacked : CopyKind::kTree, .files = std::move(*files)}};
}

Result<> read_all(const Directory& root, const SourceFile& file, int fd, const Segment& segment, char* into) {
    uint64_t done = 0;
    while (done < segment.bytes) {
        const ssize_t size =
            pread(fd, into + done, segment.bytes - done, static_cast<off_t>(segment.offset + done));
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return core::errno_error(errno, fmt::format("cannot read {}", shown(root, file.path)));
        if (size == 0) return changed(root, file);
        done += static_cast<uint64_t>(size);
    }
    // Whoever writes while it is read changes its time; of what was read nothing is known then.
    struct stat status{};
    if (fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) != file.bytes ||
        nanoseconds_of(status.st_mtim) != file.modified)
        return changed(root, file);
    return {};
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
    listed->plan.chunk_bytes = options.chunk_bytes;
    BELAY_CHECK(core::with_context(check_plan(listed->plan), core::printable(source.string())));
    return listed;
}

ReadSegment source_reader(const CopySource& source) {
    struct Reader {
        CopySource source;
        OpenFiles files;
        explicit Reader(CopySource from)
            : source(std::move(from)), files([this](size_t file, int) -> Result<core::Descriptor> {
                  auto opened = open_source(*source.root, source.plan.files[file].source);
                  if (!opened && opened.error().kind() == core::ErrorKind::kBadInput)
                      return changed(*source.root, source.plan.files[file].source);
                  return opened;
              }) {}
    };
    return [reader = std::make_shared<Reader>(source)](const Segment& segment, char* into) -> Result<> {
        BELAY_TRY(file, reader->files.get(segment.file));
        return read_all(*reader->source.root, reader->source.plan.files[segment.file].source, file->get(),
                        segment, into);
    };
}

}  // namespace belay::stage

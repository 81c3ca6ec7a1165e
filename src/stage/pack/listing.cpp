#include "stage/pack/listing.h"

#include "core/hash.h"
#include "core/parallel.h"
#include "core/utf8.h"
#include "stage/walk/walk.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Result;

constexpr uint64_t kMostBytes = uint64_t{1}
                                << 60;  // far from what sums of headers and paddings could overflow

// What one thread of the walk found.
struct Found {
    std::vector<SourceFile> files;
    std::vector<std::string> links;
    std::vector<std::string> others;    // devices, pipes, sockets
    std::vector<uint64_t> directories;  // inodes

    void add(const Listing& listing) {
        for (const Entry& entry : listing.entries) {
            std::string path = listing.path_of(entry.name);
            switch (entry.type) {
                case core::FileType::kRegular:
                    files.push_back({.path = std::move(path),
                                     .bytes = entry.bytes,
                                     .modified = entry.modified,
                                     .inode = entry.inode,
                                     .executable = (entry.mode & S_IXUSR) != 0});
                    break;
                case core::FileType::kLink:
                    links.push_back(std::move(path));
                    break;
                case core::FileType::kOther:
                    others.push_back(std::move(path));
                    break;
                case core::FileType::kDirectory:
                    directories.push_back(entry.inode);
                    break;
            }
        }
    }
    void add(Found&& more) {
        std::ranges::move(more.files, std::back_inserter(files));
        std::ranges::move(more.links, std::back_inserter(links));
        std::ranges::move(more.others, std::back_inserter(others));
        std::ranges::move(more.directories, std::back_inserter(directories));
    }
};

Result<> refuse_what_is_missing(const core::Directory& root, const WalkReport& report, const Found& found) {
    if (report.problem_count > 0)
        return core::errno_error(
            report.problems.front().errno_value,
            fmt::format(
                "cannot read {}{}", core::printable(root.path_of(report.problems.front().path).string()),
                report.problem_count > 1 ? fmt::format(" and {} more", report.problem_count - 1) : ""));
    if (report.other_file_systems > 0)
        return bad_input("{} holds directories of {} other file systems", root.path().string(),
                         report.other_file_systems)
            .hint("pack each of them by itself");
    if (!found.others.empty())
        return bad_input(
                   "{} is not a regular file{}",
                   core::printable(root.path_of(std::ranges::min(found.others)).string()),
                   found.others.size() > 1 ? fmt::format(", nor are {} more", found.others.size() - 1) : "")
            .hint("only files can be packed: remove it, or name a directory without it");
    return {};
}

}  // namespace

std::string SourceListing::digest() const {
    core::Sha256 hash;
    for (const SourceFile& file : files) hash.update(line_of(file));
    return core::to_hex(hash.finish());
}

Result<SourceListing> list_source(const core::Directory& root, size_t threads, LinkRule links) {
    std::vector<Found> parts(std::max<size_t>(threads, 1));
    BELAY_TRY(report, walk(root, {.threads = parts.size()},
                           [&](size_t thread, const Listing& listing) { parts[thread].add(listing); }));
    BELAY_CHECK(core::in_parallel(parts.size(), parts.size(), [&](size_t part) -> Result<> {
        std::ranges::sort(parts[part].files, {}, &SourceFile::path);
        return {};
    }));
    Found found;
    for (Found& part : parts) {
        const auto sorted = static_cast<ptrdiff_t>(found.files.size());
        found.add(std::move(part));
        std::ranges::inplace_merge(found.files, found.files.begin() + sorted, {}, &SourceFile::path);
    }
    BELAY_CHECK(refuse_what_is_missing(root, report, found));
    struct stat status{};
    if (fstat(root.fd(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", root.path().string()));
    found.directories.push_back(status.st_ino);
    std::ranges::sort(found.directories);
    SourceListing listing{.files = std::move(found.files),
                          .directories = {.device = status.st_dev, .inodes = std::move(found.directories)}};
    std::ranges::sort(found.links);
    for (const std::string& link : found.links) {
        if (links == LinkRule::kSkip) {
            ++listing.skipped_links;
            continue;
        }
        BELAY_TRY(file, follow_link(root, link));
        listing.files.push_back(std::move(file));
    }
    if (listing.files.empty()) return bad_input("{} holds no files", root.path().string());
    if (!std::ranges::is_sorted(listing.files, {}, &SourceFile::path))  // where links were followed
        std::ranges::sort(listing.files, {}, &SourceFile::path);
    for (const SourceFile& file : listing.files) {
        if (__builtin_add_overflow(listing.bytes, file.bytes, &listing.bytes) || listing.bytes > kMostBytes)
            return bad_input("{} holds files of more than {} bytes together", root.path().string(),
                             kMostBytes)
                .hint("is one of them sparse?");
        listing.newest = std::max(listing.newest, file.modified);
    }
    return listing;
}

}  // namespace belay::stage

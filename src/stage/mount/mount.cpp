#include "stage/mount/mount.h"

#include "core/process.h"
#include "core/program.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stage/dataset/dataset.h"
#include "stage/walk/named_directory.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

constexpr core::Duration kMountTime = std::chrono::seconds(30);  // the image may lie on a server that is slow

std::string shown(const fs::path& path) {
    return core::printable(path.string());
}

// Also where its program has ended, and what it served is not connected any more.
bool is_fuse(const fs::path& path) {
    struct statfs status{};
    if (statfs(path.c_str(), &status) != 0) return errno == ENOTCONN;
    return status.f_type == FUSE_SUPER_MAGIC;
}

Result<> check_target(const fs::path& target) {
    BELAY_CHECK(open_named_directory(target));
    // Its name is what the program is given: nobody else may put something in its place meanwhile.
    BELAY_TRY(directory, core::Directory::open_guarded(target));
    BELAY_TRY(names, directory.list());
    if (!names.empty())
        return bad_input("{} is not empty", shown(target)).hint("mount the data at an empty directory");
    return {};
}

// Held while the program starts: what was looked at is what it opens.
Result<core::Descriptor> open_image(const Dataset& dataset) {
    const shard::ManifestShard& stated = dataset.manifest().shards.front();
    BELAY_TRY(image, dataset.directory().open_file(stated.path, O_RDONLY));
    struct stat status{};
    if (fstat(image.get(), &status) != 0) return core::errno_error(errno, "cannot look at the image");
    if (static_cast<uint64_t>(status.st_size) == stated.bytes) return image;
    return bad_input("{} has {} bytes, and its manifest says {}",
                     shown(dataset.directory().path_of(stated.path)), status.st_size, stated.bytes)
        .hint("look at the data with: belay stage verify DIR");
}

Result<> run_program(const std::vector<std::string>& argv, const fs::path& target, std::string_view what) {
    BELAY_TRY(output, core::run({.argv = argv}, {.timeout = kMountTime}));
    if (output.status.success()) return {};
    const std::string said = core::printable(core::trim(output.err));
    return core::system_error("cannot {} {}: {}", what, shown(target),
                              said.empty() ? output.status.describe() : said);
}

}  // namespace

Result<> mount(const fs::path& data, const fs::path& target) {
    BELAY_TRY(dataset, Dataset::open(data));
    if (dataset.manifest().format != shard::Format::kSquashfs)
        return bad_input("{} holds tar shards, which cannot be mounted", shown(data))
            .hint(
                "read them with \"belay stage cat\" or the reader libraries, or pack an image: belay stage "
                "pack DIR --format squashfs -o OUT");
    BELAY_CHECK(check_target(target));
    auto program = core::find_program("squashfuse_ll");
    if (!program)
        return std::unexpected(std::move(program.error())
                                   .hint("install squashfuse, or mount the image in a container: mounts = "
                                         "[\"IMAGE:/data:sqsh\"]"));
    BELAY_TRY(image, open_image(dataset));
    auto mounted = run_program({program->string(), fmt::format("/proc/{}/fd/{}", getpid(), image.get()),
                                fs::absolute(target).string()},
                               target, "mount the data at");
    if (!mounted && access("/dev/fuse", R_OK | W_OK) != 0)
        return std::unexpected(
            std::move(mounted.error()).hint("users need to read and write /dev/fuse: chmod 0666 /dev/fuse"));
    return mounted;
}

Result<> unmount(const fs::path& target) {
    if (!is_fuse(target)) {
        BELAY_CHECK(open_named_directory(target));
        return bad_input("nothing is mounted at {} by \"belay stage mount\"", shown(target));
    }
    const fs::path whole = fs::absolute(target).lexically_normal();
    BELAY_CHECK(
        core::Directory::open_guarded((whole.has_filename() ? whole : whole.parent_path()).parent_path()));
    // Without root, only its own program may end what FUSE serves.
    if (umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0) return {};
    if (errno != EPERM) return core::errno_error(errno, fmt::format("cannot unmount {}", shown(target)));
    return run_program({"fusermount3", "-u", "--", fs::absolute(target).string()}, target, "unmount");
}

}  // namespace belay::stage

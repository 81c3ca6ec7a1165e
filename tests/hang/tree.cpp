#include "tree.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace belay::hang {

namespace {

std::unexpected<int> failed() {
    return std::unexpected(errno);
}
Reply done(int result) {
    if (result < 0) return failed();
    return "";
}

template <typename T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A path that leads to what an O_PATH descriptor stands for.
std::string path_through(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

fuse_attr attributes_of(const struct stat& facts) {
    return {
        .ino = facts.st_ino,
        .size = static_cast<uint64_t>(facts.st_size),
        .blocks = static_cast<uint64_t>(facts.st_blocks),
        .atime = static_cast<uint64_t>(facts.st_atim.tv_sec),
        .mtime = static_cast<uint64_t>(facts.st_mtim.tv_sec),
        .ctime = static_cast<uint64_t>(facts.st_ctim.tv_sec),
        .atimensec = static_cast<uint32_t>(facts.st_atim.tv_nsec),
        .mtimensec = static_cast<uint32_t>(facts.st_mtim.tv_nsec),
        .ctimensec = static_cast<uint32_t>(facts.st_ctim.tv_nsec),
        .mode = facts.st_mode,
        .nlink = static_cast<uint32_t>(facts.st_nlink),
        .uid = facts.st_uid,
        .gid = facts.st_gid,
        .rdev = static_cast<uint32_t>(facts.st_rdev),
        .blksize = static_cast<uint32_t>(facts.st_blksize),
    };
}

// New files belong to who asks for them.
class AsCaller {
  public:
    explicit AsCaller(const Request& request) {
        setfsgid(request.header.gid);
        setfsuid(request.header.uid);
    }
    AsCaller(const AsCaller&) = delete;
    AsCaller& operator=(const AsCaller&) = delete;
    ~AsCaller() {
        setfsuid(geteuid());
        setfsgid(getegid());
    }
};

Reply opened(int fd) {
    if (fd < 0) return failed();
    return bytes_of(fuse_open_out{.fh = static_cast<uint64_t>(fd)});
}

timespec time_to_set(unsigned valid, unsigned set, unsigned now, uint64_t seconds, uint32_t nanoseconds) {
    if ((valid & set) == 0) return {.tv_nsec = UTIME_OMIT};
    if ((valid & now) != 0) return {.tv_nsec = UTIME_NOW};
    return {.tv_sec = static_cast<time_t>(seconds), .tv_nsec = nanoseconds};
}

}  // namespace

std::string Request::text(size_t skip, int n) const {
    std::string_view rest = body.substr(std::min(skip, body.size()));
    for (; n > 0; --n) rest.remove_prefix(std::min(rest.find('\0'), rest.size() - 1) + 1);
    return std::string(rest.substr(0, rest.find('\0')));
}

Tree::Tree(core::Descriptor root) {
    nodes_.emplace_back();  // there is no node 0
    nodes_.push_back(std::move(root));
}

std::string Tree::path_of(uint64_t node) const {
    if (node < FUSE_ROOT_ID || node >= nodes_.size()) return "";
    std::error_code ignored;
    std::string root = std::filesystem::read_symlink(path_through(fd(FUSE_ROOT_ID)), ignored);
    std::string path = std::filesystem::read_symlink(path_through(fd(node)), ignored);
    return path.size() > root.size() ? path.substr(root.size() + 1) : "";
}

Reply Tree::entry(uint64_t parent, const std::string& name) {
    core::Descriptor file(openat(fd(parent), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts;
    if (!file || fstat(file.get(), &facts) < 0) return failed();
    auto [known, is_new] = known_.try_emplace({facts.st_dev, facts.st_ino}, nodes_.size());
    if (is_new) nodes_.push_back(std::move(file));
    // Valid for no time at all: every look at a file asks here.
    return bytes_of(fuse_entry_out{.nodeid = known->second, .attr = attributes_of(facts)});
}

Reply Tree::lookup(const Request& request) {
    return entry(request.header.nodeid, request.text(0));
}

Reply Tree::attributes(const Request& request) {
    struct stat facts;
    if (fstat(fd(request.header.nodeid), &facts) < 0) return failed();
    return bytes_of(fuse_attr_out{.attr = attributes_of(facts)});
}

Reply Tree::set_attributes(const Request& request) {
    auto in = request.as<fuse_setattr_in>();
    int node = fd(request.header.nodeid);
    std::string path = path_through(node);
    if ((in.valid & FATTR_MODE) != 0 && chmod(path.c_str(), in.mode & 07777) < 0) return failed();
    if ((in.valid & (FATTR_UID | FATTR_GID)) != 0) {
        uid_t uid = (in.valid & FATTR_UID) != 0 ? in.uid : static_cast<uid_t>(-1);
        gid_t gid = (in.valid & FATTR_GID) != 0 ? in.gid : static_cast<gid_t>(-1);
        if (fchownat(node, "", uid, gid, AT_EMPTY_PATH) < 0) return failed();
    }
    if ((in.valid & FATTR_SIZE) != 0 && truncate(path.c_str(), static_cast<off_t>(in.size)) < 0)
        return failed();
    timespec times[2] = {
        time_to_set(in.valid, FATTR_ATIME, FATTR_ATIME_NOW, in.atime, in.atimensec),
        time_to_set(in.valid, FATTR_MTIME, FATTR_MTIME_NOW, in.mtime, in.mtimensec),
    };
    if ((in.valid & (FATTR_ATIME | FATTR_MTIME)) != 0 && utimensat(AT_FDCWD, path.c_str(), times, 0) < 0)
        return failed();
    return attributes(request);
}

Reply Tree::read_link(const Request& request) {
    std::string target(4096, '\0');
    ssize_t length = readlinkat(fd(request.header.nodeid), "", target.data(), target.size());
    if (length < 0) return failed();
    return target.substr(0, static_cast<size_t>(length));
}

Reply Tree::make_link(const Request& request) {
    auto in = request.as<fuse_link_in>();
    std::string name = request.text(sizeof in);
    std::string from = path_through(fd(in.oldnodeid));
    if (linkat(AT_FDCWD, from.c_str(), fd(request.header.nodeid), name.c_str(), AT_SYMLINK_FOLLOW) < 0)
        return failed();
    return entry(request.header.nodeid, name);
}

Reply Tree::make_symbolic_link(const Request& request) {
    AsCaller as_caller(request);
    std::string name = request.text(0);
    if (symlinkat(request.text(0, 1).c_str(), fd(request.header.nodeid), name.c_str()) < 0) return failed();
    return entry(request.header.nodeid, name);
}

Reply Tree::make_node(const Request& request) {
    AsCaller as_caller(request);
    auto in = request.as<fuse_mknod_in>();
    std::string name = request.text(sizeof in);
    if (mknodat(fd(request.header.nodeid), name.c_str(), in.mode, in.rdev) < 0) return failed();
    return entry(request.header.nodeid, name);
}

Reply Tree::make_directory(const Request& request) {
    AsCaller as_caller(request);
    auto in = request.as<fuse_mkdir_in>();
    std::string name = request.text(sizeof in);
    if (mkdirat(fd(request.header.nodeid), name.c_str(), in.mode) < 0) return failed();
    return entry(request.header.nodeid, name);
}

Reply Tree::unlink(const Request& request) {
    return done(unlinkat(fd(request.header.nodeid), request.text(0).c_str(), 0));
}

Reply Tree::remove_directory(const Request& request) {
    return done(unlinkat(fd(request.header.nodeid), request.text(0).c_str(), AT_REMOVEDIR));
}

Reply Tree::renamed(const Request& request, uint64_t target, size_t skip, unsigned flags) {
    return done(renameat2(fd(request.header.nodeid), request.text(skip).c_str(), fd(target),
                          request.text(skip, 1).c_str(), flags));
}
Reply Tree::rename(const Request& request) {
    auto in = request.as<fuse_rename_in>();
    return renamed(request, in.newdir, sizeof in, 0);
}
Reply Tree::rename_with_flags(const Request& request) {
    auto in = request.as<fuse_rename2_in>();
    return renamed(request, in.newdir, sizeof in, in.flags);
}

Reply Tree::create(const Request& request) {
    auto in = request.as<fuse_create_in>();
    std::string name = request.text(sizeof in);
    core::Descriptor file;
    {
        AsCaller as_caller(request);
        int flags = static_cast<int>(in.flags) | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
        file = core::Descriptor(openat(fd(request.header.nodeid), name.c_str(), flags, in.mode));
    }
    if (!file) return failed();
    Reply reply = entry(request.header.nodeid, name);
    if (reply) *reply += *opened(file.release());
    return reply;
}

Reply Tree::open(const Request& request) {
    int flags = static_cast<int>(request.as<fuse_open_in>().flags) & ~(O_CREAT | O_EXCL | O_NOFOLLOW);
    return opened(::open(path_through(fd(request.header.nodeid)).c_str(), flags | O_CLOEXEC));
}

Reply Tree::read(const Request& request) {
    auto in = request.as<fuse_read_in>();
    std::string bytes(in.size, '\0');
    ssize_t count = pread(static_cast<int>(in.fh), bytes.data(), bytes.size(), static_cast<off_t>(in.offset));
    if (count < 0) return failed();
    return bytes.substr(0, static_cast<size_t>(count));
}

Reply Tree::write(const Request& request) {
    auto in = request.as<fuse_write_in>();
    std::string_view bytes = request.body.substr(sizeof in, in.size);
    ssize_t count =
        pwrite(static_cast<int>(in.fh), bytes.data(), bytes.size(), static_cast<off_t>(in.offset));
    if (count < 0) return failed();
    return bytes_of(fuse_write_out{.size = static_cast<uint32_t>(count)});
}

Reply Tree::sync(const Request& request) {
    return done(fsync(static_cast<int>(request.as<fuse_fsync_in>().fh)));
}

Reply Tree::allocate(const Request& request) {
    auto in = request.as<fuse_fallocate_in>();
    return done(fallocate(static_cast<int>(in.fh), static_cast<int>(in.mode), static_cast<off_t>(in.offset),
                          static_cast<off_t>(in.length)));
}

// Nothing is kept back here that a close(2) would have to write.
Reply Tree::flush(const Request&) {
    return done(0);
}

Reply Tree::close(const Request& request) {
    return done(::close(static_cast<int>(request.as<fuse_release_in>().fh)));
}

Reply Tree::open_directory(const Request& request) {
    DIR* directory = opendir(path_through(fd(request.header.nodeid)).c_str());
    if (directory == nullptr) return failed();
    return bytes_of(fuse_open_out{.fh = reinterpret_cast<uint64_t>(directory)});
}

Reply Tree::read_directory(const Request& request) {
    auto in = request.as<fuse_read_in>();
    auto* directory = reinterpret_cast<DIR*>(in.fh);
    if (in.offset == 0)
        rewinddir(directory);
    else
        seekdir(directory, static_cast<long>(in.offset));
    std::string reply;
    while (const dirent* found = readdir(directory)) {
        std::string_view name = found->d_name;
        std::string one = bytes_of(fuse_dirent{.ino = found->d_ino,
                                               .off = static_cast<uint64_t>(found->d_off),
                                               .namelen = static_cast<uint32_t>(name.size()),
                                               .type = found->d_type})
                              .substr(0, FUSE_NAME_OFFSET);
        one += name;
        one.resize(FUSE_DIRENT_ALIGN(one.size()));
        if (reply.size() + one.size() > in.size) break;
        reply += one;
    }
    return reply;
}

Reply Tree::close_directory(const Request& request) {
    return done(closedir(reinterpret_cast<DIR*>(request.as<fuse_release_in>().fh)));
}

Reply Tree::size(const Request& request) {
    struct statvfs facts;
    if (fstatvfs(fd(request.header.nodeid), &facts) < 0) return failed();
    return bytes_of(fuse_statfs_out{.st = {
                                        .blocks = facts.f_blocks,
                                        .bfree = facts.f_bfree,
                                        .bavail = facts.f_bavail,
                                        .files = facts.f_files,
                                        .ffree = facts.f_ffree,
                                        .bsize = static_cast<uint32_t>(facts.f_bsize),
                                        .namelen = static_cast<uint32_t>(facts.f_namemax),
                                        .frsize = static_cast<uint32_t>(facts.f_frsize),
                                    }});
}

}  // namespace belay::hang

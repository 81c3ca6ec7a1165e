// A file server that takes requests and never answers them: a process that waits for it cannot even be
// killed. Shows SOURCE at MOUNTPOINT until it is ended by SIGTERM, or with whoever started it.
#include "core/file.h"
#include "core/text.h"
#include "tree.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <getopt.h>
#include <mutex>
#include <optional>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::hang {
namespace {

using core::Result;

constexpr size_t kWriteLimit = 128 << 10;
constexpr const char* kUsage =
    "usage: hang_fs [--hold WHAT] [--at PATH] [--while FILE] [--log FILE] SOURCE MOUNTPOINT\n"
    "Shows SOURCE at MOUNTPOINT, prints \"ready\", and never answers what it is told to hold.\n"
    "  --hold contents   all but the attributes of MOUNTPOINT itself (default)\n"
    "  --hold all        these too\n"
    "  --hold reads      reads of files only; --hold writes: writes and fsync only; --hold nothing\n"
    "  --hold closes     close(2) of files only, which nothing else holds\n"
    "  --at PATH         only where it concerns PATH below SOURCE, or what lies beneath\n"
    "  --while FILE      only while FILE exists\n"
    "  --log FILE        adds a line for each request that is held: operation, path, process\n"
    "  --delay MS        answers each other request so many milliseconds later, any number of them at a "
    "time\n"
    "Once it ends, all that wait for it fail with \"Transport endpoint is not connected\".\n";

enum class Kind { kAttributes, kRead, kWrite, kClose, kOther };

struct Operation {
    uint32_t code;
    const char* name;
    Kind kind;
    Reply (Tree::*carry_out)(const Request&);
    size_t name_at = SIZE_MAX;  // of a name in the directory that the request is about
};

constexpr Operation kOperations[] = {
    {FUSE_LOOKUP, "LOOKUP", Kind::kOther, &Tree::lookup, 0},
    {FUSE_GETATTR, "GETATTR", Kind::kAttributes, &Tree::attributes},
    {FUSE_STATFS, "STATFS", Kind::kAttributes, &Tree::size},
    {FUSE_SETATTR, "SETATTR", Kind::kOther, &Tree::set_attributes},
    {FUSE_READLINK, "READLINK", Kind::kOther, &Tree::read_link},
    {FUSE_SYMLINK, "SYMLINK", Kind::kOther, &Tree::make_symbolic_link, 0},
    {FUSE_MKNOD, "MKNOD", Kind::kOther, &Tree::make_node, sizeof(fuse_mknod_in)},
    {FUSE_MKDIR, "MKDIR", Kind::kOther, &Tree::make_directory, sizeof(fuse_mkdir_in)},
    {FUSE_UNLINK, "UNLINK", Kind::kOther, &Tree::unlink, 0},
    {FUSE_RMDIR, "RMDIR", Kind::kOther, &Tree::remove_directory, 0},
    {FUSE_RENAME, "RENAME", Kind::kOther, &Tree::rename, sizeof(fuse_rename_in)},
    {FUSE_RENAME2, "RENAME", Kind::kOther, &Tree::rename_with_flags, sizeof(fuse_rename2_in)},
    {FUSE_LINK, "LINK", Kind::kOther, &Tree::make_link, sizeof(fuse_link_in)},
    {FUSE_CREATE, "CREATE", Kind::kOther, &Tree::create, sizeof(fuse_create_in)},
    {FUSE_OPEN, "OPEN", Kind::kOther, &Tree::open},
    {FUSE_READ, "READ", Kind::kRead, &Tree::read},
    {FUSE_WRITE, "WRITE", Kind::kWrite, &Tree::write},
    {FUSE_FSYNC, "FSYNC", Kind::kWrite, &Tree::sync},
    {FUSE_FALLOCATE, "FALLOCATE", Kind::kWrite, &Tree::allocate},
    {FUSE_FLUSH, "FLUSH", Kind::kClose, &Tree::flush},
    {FUSE_RELEASE, "RELEASE", Kind::kOther, &Tree::close},
    {FUSE_OPENDIR, "OPENDIR", Kind::kOther, &Tree::open_directory},
    {FUSE_READDIR, "READDIR", Kind::kOther, &Tree::read_directory},
    {FUSE_RELEASEDIR, "RELEASEDIR", Kind::kOther, &Tree::close_directory},
};

// A process that waits has got a signal; even SIGKILL only tells us so.
constexpr Operation kInterrupt{FUSE_INTERRUPT, "INTERRUPT", Kind::kOther, nullptr};

const Operation* operation_of(uint32_t code) {
    for (const Operation& operation : kOperations)
        if (operation.code == code) return &operation;
    return nullptr;
}

// Which requests are never answered.
struct Held {
    std::string what = "contents";
    std::string at;
    std::string only_while;
    std::string log;

    static bool known(const std::string& what) {
        return what == "contents" || what == "all" || what == "reads" || what == "writes" ||
               what == "closes" || what == "nothing";
    }
    bool holds(const Operation& operation, const std::string& path) const {
        if (what == "nothing") return false;
        if (what == "reads" && operation.kind != Kind::kRead) return false;
        if (what == "writes" && operation.kind != Kind::kWrite) return false;
        if ((what == "closes") != (operation.kind == Kind::kClose)) return false;
        if (what == "contents" && path.empty() && operation.kind == Kind::kAttributes) return false;
        if (!at.empty() && path != at && !path.starts_with(at + "/")) return false;
        return only_while.empty() || access(only_while.c_str(), F_OK) == 0;
    }
};

std::string path_of(const Request& request, const Operation& operation, const Tree& tree) {
    std::string path = tree.path_of(request.header.nodeid);
    if (operation.name_at == SIZE_MAX) return path;
    return (path.empty() ? "" : path + "/") + request.text(operation.name_at);
}

void note(const Held& held, const Operation& operation, const std::string& path, uint32_t process) {
    if (held.log.empty()) return;
    std::string line = fmt::format("{} {} {}\n", operation.name, path.empty() ? "." : path, process);
    if (auto log = core::open_file(held.log, O_WRONLY | O_CREAT | O_APPEND))
        (void)core::write_all(log->get(), line, held.log);
}

Reply begin(const Request& request) {
    auto in = request.as<fuse_init_in>();
    fuse_init_out out{
        .major = FUSE_KERNEL_VERSION,
        .minor = FUSE_KERNEL_MINOR_VERSION,
        .max_readahead = in.max_readahead,
        .flags = in.flags & (FUSE_BIG_WRITES | FUSE_PARALLEL_DIROPS),
        .max_write = kWriteLimit,
        .time_gran = 1,
    };
    return std::string(reinterpret_cast<const char*>(&out), sizeof out);
}

void answer(int device, uint64_t unique, const Reply& reply) {
    std::string body = reply.value_or("");
    fuse_out_header header{.len = static_cast<uint32_t>(sizeof header + body.size()),
                           .error = reply ? 0 : -reply.error(),
                           .unique = unique};
    iovec parts[] = {{&header, sizeof header}, {body.data(), body.size()}};
    (void)writev(device, parts, 2);  // ENOENT: whoever asked was interrupted
}

// Answers that are given later, as by a server at the other end of a network: what is asked meanwhile does
// not wait for them.
class LateAnswers {
  public:
    LateAnswers(int device, std::chrono::milliseconds delay)
        : device_(device), delay_(delay), thread_([this](const std::stop_token& stop) { run(stop); }) {}
    void add(uint64_t unique, Reply reply) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back({std::chrono::steady_clock::now() + delay_, unique, std::move(reply)});
        }
        wake_.notify_one();
    }

  private:
    struct Late {
        std::chrono::steady_clock::time_point due;
        uint64_t unique;
        Reply reply;
    };
    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (wake_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
            const Late late = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            std::this_thread::sleep_until(late.due);
            answer(device_, late.unique, late.reply);
            lock.lock();
        }
    }
    int device_;
    std::chrono::milliseconds delay_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<Late> waiting_;  // in the order in which they are due
    std::jthread thread_;
};

void serve(int device, Tree& tree, const Held& held, LateAnswers* late, const Request& request) {
    uint32_t code = request.header.opcode;
    if (code == FUSE_FORGET || code == FUSE_BATCH_FORGET) return;
    if (code == FUSE_INTERRUPT) return note(held, kInterrupt, "", request.header.pid);
    if (code == FUSE_INIT) return answer(device, request.header.unique, begin(request));
    const Operation* operation = operation_of(code);
    if (operation == nullptr) return answer(device, request.header.unique, std::unexpected(ENOSYS));
    std::string path = path_of(request, *operation, tree);
    if (held.holds(*operation, path)) return note(held, *operation, path, request.header.pid);
    Reply reply = (tree.*operation->carry_out)(request);
    if (late != nullptr) return late->add(request.header.unique, std::move(reply));
    answer(device, request.header.unique, reply);
}

volatile sig_atomic_t ending = 0;

// Until it is ended, or unmounted by somebody.
Result<> serve_all(int device, Tree& tree, const Held& held, LateAnswers* late) {
    std::string buffer(kWriteLimit + 4096, '\0');
    while (ending == 0) {
        ssize_t length = read(device, buffer.data(), buffer.size());
        if (length < 0 && (errno == EINTR || errno == ENOENT)) continue;
        if (length < 0 && errno == ENODEV) return {};
        if (length < 0) return core::errno_error(errno, "/dev/fuse");
        Request request;
        std::memcpy(&request.header, buffer.data(), sizeof request.header);
        request.body = std::string_view(buffer).substr(sizeof request.header,
                                                       static_cast<size_t>(length) - sizeof request.header);
        serve(device, tree, held, late, request);
    }
    return {};
}

Result<core::Descriptor> mount_at(const std::string& target) {
    BELAY_TRY(device, core::open_file("/dev/fuse", O_RDWR));
    std::string options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id={},allow_other,default_permissions",
                    device.get(), geteuid(), getegid());
    if (mount("hang_fs", target.c_str(), "fuse.hang_fs", MS_NOSUID | MS_NODEV, options.c_str()) < 0)
        return core::errno_error(errno, fmt::format("cannot mount on {}", target));
    return device;
}

void end_with_the_parent() {
    struct sigaction action{};
    action.sa_handler = [](int) { ending = 1; };
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

Result<> run(const std::string& source, const std::string& target, const Held& held,
             std::chrono::milliseconds delay) {
    umask(0);  // the modes that are asked for have met the caller's
    end_with_the_parent();
    BELAY_TRY(root, core::open_file(source, O_PATH | O_DIRECTORY));
    Tree tree(std::move(root));
    BELAY_TRY(device, mount_at(target));
    puts("ready");
    fflush(stdout);
    std::optional<LateAnswers> late;
    if (delay.count() > 0) late.emplace(device.get(), delay);
    Result<> result = serve_all(device.get(), tree, held, late ? &*late : nullptr);
    late.reset();
    device.reset();  // whoever waits gets an error now
    umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    return result;
}

int main_of(int argc, char** argv) {
    Held held;
    std::string delay = "0";
    const option options[] = {
        {"hold", required_argument, nullptr, 'h'},  {"at", required_argument, nullptr, 'a'},
        {"while", required_argument, nullptr, 'w'}, {"log", required_argument, nullptr, 'l'},
        {"delay", required_argument, nullptr, 'd'}, {nullptr, 0, nullptr, 0}};
    std::map<int, std::string*> values = {
        {'h', &held.what}, {'a', &held.at}, {'w', &held.only_while}, {'l', &held.log}, {'d', &delay}};
    for (int one; (one = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        auto value = values.find(one);
        if (value == values.end()) return fputs(kUsage, stderr), 2;
        *value->second = optarg;
    }
    const auto milliseconds = core::parse_number<int>(delay);
    if (argc - optind != 2 || !Held::known(held.what) || !milliseconds || *milliseconds < 0)
        return fputs(kUsage, stderr), 2;
    Result<> result = run(argv[optind], argv[optind + 1], held, std::chrono::milliseconds(*milliseconds));
    if (result) return 0;
    fputs(result.error().render("hang_fs").c_str(), stderr);
    return result.error().exit_status();
}

}  // namespace
}  // namespace belay::hang

int main(int argc, char** argv) {
    return belay::hang::main_of(argc, argv);
}

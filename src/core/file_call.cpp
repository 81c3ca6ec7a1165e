#include "core/file_call.h"

#include "core/file.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::core {

namespace {

namespace fs = std::filesystem;

constexpr size_t kArguments = 6;
constexpr int kNone = -1;
constexpr size_t kPage = 4096;   // at least: strings are read up to its end, then on
constexpr long kPageFault = -1;  // of the kernel: the thread waits outside of a system call

using Arguments = std::array<uint64_t, kArguments>;

// Locks that are waited for are somebody's intention; these ask and go on.
bool asks_for_lock(const Arguments& arguments) {
    return (arguments[1] & LOCK_NB) != 0;
}
bool asks_for_record_lock(const Arguments& arguments) {
    return arguments[1] == F_SETLK || arguments[1] == F_GETLK || arguments[1] == F_OFD_SETLK ||
           arguments[1] == F_OFD_GETLK;
}

struct Call {
    long number;
    const char* verb;
    // Which arguments are these:
    int directory = kNone;  // the descriptor to which the path is relative
    int path = kNone;
    int descriptor = kNone;
    bool carries_data = false;
    bool (*counts)(const Arguments&) = nullptr;
};

constexpr Call with_path(long number, const char* verb, int path) {
    return {.number = number, .verb = verb, .path = path};
}
constexpr Call at(long number, const char* verb, int directory = 0) {
    return {.number = number, .verb = verb, .directory = directory, .path = directory + 1};
}
constexpr Call of(long number, const char* verb, bool carries_data = false) {
    return {.number = number, .verb = verb, .descriptor = 0, .carries_data = carries_data};
}

constexpr Call kCalls[] = {
    at(SYS_openat, "open"),
    at(SYS_openat2, "open"),
    at(SYS_newfstatat, "look at"),
    at(SYS_statx, "look at"),
    at(SYS_faccessat, "look at"),
    at(SYS_faccessat2, "look at"),
    at(SYS_readlinkat, "look at"),
    at(SYS_mkdirat, "create"),
    at(SYS_mknodat, "create"),
    at(SYS_symlinkat, "create", 1),
    at(SYS_linkat, "create", 2),
    at(SYS_unlinkat, "remove"),
    at(SYS_renameat2, "rename"),
    at(SYS_fchmodat, "change"),
    at(SYS_fchownat, "change"),
    at(SYS_utimensat, "change"),
    with_path(SYS_statfs, "look at", 0),
    with_path(SYS_chdir, "enter", 0),
    with_path(SYS_truncate, "truncate", 0),
    with_path(SYS_execve, "execute", 0),
    of(SYS_fstat, "look at"),
    of(SYS_fstatfs, "look at"),
    of(SYS_getdents64, "list"),
    of(SYS_fchdir, "enter"),
    of(SYS_fchmod, "change"),
    of(SYS_fchown, "change"),
    of(SYS_lseek, "read"),
    of(SYS_read, "read"),
    of(SYS_pread64, "read"),
    of(SYS_readv, "read"),
    of(SYS_preadv, "read"),
    of(SYS_readahead, "read"),
    of(SYS_fadvise64, "read"),
    of(SYS_write, "write"),
    of(SYS_pwrite64, "write"),
    of(SYS_writev, "write"),
    of(SYS_pwritev, "write"),
    of(SYS_ftruncate, "truncate"),
    of(SYS_fallocate, "write", true),
    of(SYS_fsync, "sync", true),
    of(SYS_fdatasync, "sync", true),
    of(SYS_sync_file_range, "sync", true),
    of(SYS_close, "close", true),
    {.number = SYS_flock, .verb = "lock", .descriptor = 0, .counts = asks_for_lock},
    {.number = SYS_fcntl, .verb = "lock", .descriptor = 0, .counts = asks_for_record_lock},
#ifdef SYS_renameat
    at(SYS_renameat, "rename"),
#endif
#ifdef SYS_open  // x86-64 has the older ones too
    with_path(SYS_open, "open", 0),
    with_path(SYS_creat, "open", 0),
    with_path(SYS_stat, "look at", 0),
    with_path(SYS_lstat, "look at", 0),
    with_path(SYS_access, "look at", 0),
    with_path(SYS_readlink, "look at", 0),
    with_path(SYS_mkdir, "create", 0),
    with_path(SYS_symlink, "create", 1),
    with_path(SYS_link, "create", 1),
    with_path(SYS_unlink, "remove", 0),
    with_path(SYS_rmdir, "remove", 0),
    with_path(SYS_rename, "rename", 0),
    with_path(SYS_chmod, "change", 0),
    with_path(SYS_chown, "change", 0),
    with_path(SYS_lchown, "change", 0),
#endif
};

std::string text_of(const std::string& path) {
    auto text = read_file(path, size_t{64} << 10);
    return text ? std::move(*text) : std::string();
}

// A string in the memory of a process; empty where it cannot be read.
std::string string_at(pid_t process, uint64_t address) {
    std::array<char, PATH_MAX> buffer;
    const size_t first = kPage - address % kPage;  // the page after it may not be there
    iovec here{.iov_base = buffer.data(), .iov_len = buffer.size()};
    // NOLINTBEGIN(performance-no-int-to-ptr): addresses in another process
    iovec there[] = {
        {.iov_base = reinterpret_cast<void*>(address), .iov_len = first},
        {.iov_base = reinterpret_cast<void*>(address + first), .iov_len = buffer.size() - first}};
    // NOLINTEND(performance-no-int-to-ptr)
    const ssize_t size =
        address == 0 ? 0 : process_vm_readv(process, &here, 1, there, buffer.size() > first ? 2 : 1, 0);
    const std::string_view text(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
    const size_t end = text.find('\0');
    return end == std::string_view::npos ? std::string() : std::string(text.substr(0, end));
}

std::string link_of(const std::string& path) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);  // of /proc: the kernel answers it
    return error ? std::string() : target.string();
}

// The path of an open file; empty for a pipe, a socket, a device.
std::string path_of_descriptor(pid_t process, int descriptor) {
    std::string path = link_of(fmt::format("/proc/{}/fd/{}", process, descriptor));
    for (std::string_view other : {"/dev/", "/proc/", "/memfd:"})
        if (path.starts_with(other)) return {};
    return path.starts_with('/') ? path : std::string();
}

std::string path_of_call(pid_t process, const Call& call, const Arguments& arguments) {
    auto number = [&](int index) { return static_cast<int>(arguments[static_cast<size_t>(index)]); };
    if (call.descriptor != kNone) return path_of_descriptor(process, number(call.descriptor));
    std::string path = string_at(process, arguments[static_cast<size_t>(call.path)]);
    if (path.starts_with('/')) return path;
    const bool in_working_directory = call.directory == kNone || number(call.directory) == AT_FDCWD;
    std::string base = in_working_directory ? link_of(fmt::format("/proc/{}/cwd", process))
                                            : path_of_descriptor(process, number(call.directory));
    return path.empty() || base.empty() ? base : base + "/" + path;
}

std::optional<FileCall> describe(pid_t process, const Call& call, const Arguments& arguments) {
    if (call.counts != nullptr && !call.counts(arguments)) return std::nullopt;
    // Its descriptor is free already.
    if (call.number == SYS_close)
        return FileCall{.what = "close a file", .carries_data = true, .names_file = false};
    if (call.descriptor != kNone && arguments[0] == STDIN_FILENO) return std::nullopt;  // a person types
    std::string path = path_of_call(process, call, arguments);
    if (path.empty()) return std::nullopt;
    return FileCall{.what = fmt::format("{} {}", call.verb, path), .carries_data = call.carries_data};
}

struct ThreadFacts {
    char state = '?';
    std::string ticks;  // on a processor, in user and kernel mode
};

ThreadFacts facts_of(const std::string& task) {
    const std::string stat = text_of(task + "/stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) return {};
    const auto words = split_words(std::string_view(stat).substr(name_end + 1));
    if (words.size() < 13 || words[0].empty()) return {};
    return {.state = words[0][0], .ticks = fmt::format("{} {}", words[11], words[12])};
}

// "257 0xffffff9c 0x7f… … SP PC"; nothing for "running".
struct CallWords {
    long number = 0;
    Arguments arguments{};
};

std::optional<CallWords> parse_call(std::string_view text) {
    const auto words = split_words(text);
    CallWords call;
    if (words.empty()) return std::nullopt;
    auto number = parse_number<long>(words[0]);
    if (!number) return std::nullopt;
    call.number = *number;
    if (call.number == kPageFault) return call;
    if (words.size() <= kArguments) return std::nullopt;
    for (size_t i = 0; i < kArguments; ++i)
        call.arguments[i] = std::strtoull(std::string(words[i + 1]).c_str(), nullptr, 16);
    return call;
}

}  // namespace

std::optional<ThreadInFileCall> thread_in_file_call(pid_t process, pid_t thread) {
    const std::string task = fmt::format("/proc/{}/task/{}", process, thread);
    const std::string words = text_of(task + "/syscall");
    const auto call = parse_call(words);
    if (!call && !words.empty()) return std::nullopt;  // it runs
    const ThreadFacts facts = facts_of(task);
    // Only what sleeps: one that is stopped, or is being traced, waits for a person.
    if (facts.state != 'S' && facts.state != 'D' && facts.state != 'I') return std::nullopt;
    std::optional<FileCall> file;
    if (!call || call->number == kPageFault) {
        if (facts.state == 'D')
            file = FileCall{.what = call ? "read a mapped file" : "reach a file", .names_file = false};
    } else if (const auto* known = std::ranges::find(kCalls, call->number, &Call::number);
               known != std::end(kCalls)) {
        file = describe(process, *known, call->arguments);
    }
    if (!file) return std::nullopt;
    std::string evidence = fmt::format("{}{}\n{}\n{}", words, file->what, facts.ticks, text_of(task + "/io"));
    return ThreadInFileCall{std::move(*file), std::move(evidence)};
}

std::vector<pid_t> threads_of(pid_t process) {
    std::vector<pid_t> out;
    std::error_code error;
    for (fs::directory_iterator it(fmt::format("/proc/{}/task", process), error), end; !error && it != end;
         it.increment(error))
        if (auto thread = parse_number<pid_t>(it->path().filename().string())) out.push_back(*thread);
    std::ranges::sort(out);
    return out;
}

std::optional<FileCall> file_call_of(pid_t process) {
    for (pid_t thread : threads_of(process))
        if (auto found = thread_in_file_call(process, thread)) return std::move(found->call);
    return std::nullopt;
}

}  // namespace belay::core

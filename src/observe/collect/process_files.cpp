#include "observe/collect/process_files.h"

#include "core/text.h"
#include "procfs/pid_environ.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

constexpr size_t kLongestNumber = 20;
// More than a program can be started with (execve(2): a quarter of the stack). A process may say that its
// environment is anywhere in its memory (prctl(2), PR_SET_MM), and of any length.
constexpr size_t kLongestEnvironment = 8U << 20;
constexpr std::string_view kNames[] = {"stat", "schedstat", "io", "statm"};  // by PidFile
static_assert(std::size(kNames) == kPidFiles);
constexpr rlim_t kMostKept = 1024;  // processes

// Half of the files that this process may open.
size_t processes_to_keep() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<size_t>(std::min(limit.rlim_cur / (2 * kPidFiles), kMostKept));
}

// "123/io", with a NUL behind it.
struct RelativePath {
    char text[64];

    RelativePath(std::string_view pid, std::string_view name) {
        *fmt::format_to_n(text, sizeof text - 1, "{}/{}", pid, name).out = '\0';
    }
    RelativePath(pid_t pid, std::string_view name) {
        *fmt::format_to_n(text, sizeof text - 1, "{}/{}", pid, name).out = '\0';
    }
};

}  // namespace

ProcessFiles::ProcessFiles(std::filesystem::path proc)
    : path_(std::move(proc)), kept_limit_(processes_to_keep()) {}

core::Result<> ProcessFiles::open() {
    if (directory_) return {};
    directory_.reset(opendir(path_.c_str()));
    if (!directory_) return core::errno_error(errno, fmt::format("cannot open {}", path_.native()));
    return {};
}

core::Result<> ProcessFiles::list(std::vector<pid_t>& pids) {
    BELAY_CHECK(open());
    pids.clear();
    rewinddir(directory_.get());
    errno = 0;
    while (const dirent* entry = readdir(directory_.get()))
        if (std::optional<pid_t> pid = core::parse_number<pid_t>(entry->d_name)) pids.push_back(*pid);
    if (errno != 0) return core::errno_error(errno, fmt::format("cannot list {}", path_.native()));
    std::ranges::sort(pids);
    return {};
}

core::Descriptor ProcessFiles::open_at(pid_t pid, std::string_view name) const {
    if (!directory_) return {};
    return core::Descriptor(
        openat(dirfd(directory_.get()), RelativePath(pid, name).text, O_RDONLY | O_CLOEXEC));
}

std::string_view ProcessFiles::read(pid_t pid, PidFile file, bool keep) {
    size_t index = static_cast<size_t>(file);
    Kept* kept = keep ? kept_of(pid) : nullptr;
    if (kept != nullptr && (*kept)[index]) {
        ssize_t length = pread((*kept)[index].get(), buffer_, sizeof buffer_, 0);
        if (length > 0) return take(length);
        (*kept)[index].reset();  // of a process that has ended; the id may be another's by now
    }
    core::Descriptor fd = open_at(pid, kNames[index]);
    std::string_view text = take(fd ? ::read(fd.get(), buffer_, sizeof buffer_) : -1);
    if (kept != nullptr) (*kept)[index] = std::move(fd);
    return text;
}

std::string_view ProcessFiles::take(ssize_t length) {
    failure_ = length < 0 ? errno : 0;
    return length > 0 ? std::string_view(buffer_, static_cast<size_t>(length)) : std::string_view();
}

// Where to keep the files of a process open, if there is room.
ProcessFiles::Kept* ProcessFiles::kept_of(pid_t pid) {
    auto found = kept_.find(pid);
    if (found == kept_.end() && kept_.size() < kept_limit_) found = kept_.try_emplace(pid).first;
    return found == kept_.end() ? nullptr : &found->second;
}

std::optional<procfs::PidStat> ProcessFiles::stat(pid_t pid, bool keep) {
    return procfs::parse_pid_stat(read(pid, PidFile::kStat, keep));
}

// What is known here of the program that a process runs. Its file server is not asked: it may be the job's,
// and not answer.
std::optional<struct ::statx> ProcessFiles::known_executable(std::string_view pid) const {
    struct ::statx status{};
    if (!directory_ || statx(dirfd(directory_.get()), RelativePath(pid, "exe").text, AT_STATX_DONT_SYNC,
                             STATX_INO | STATX_UID, &status) != 0)
        return std::nullopt;
    return status;
}

std::optional<ProcessFiles::FileIdentity> ProcessFiles::executable(std::string_view pid) const {
    const auto status = known_executable(pid);
    if (!status) return std::nullopt;
    return FileIdentity{makedev(status->stx_dev_major, status->stx_dev_minor), status->stx_ino};
}

std::optional<ProcessFiles::FileIdentity> ProcessFiles::executable(pid_t pid) const {
    return executable(std::to_string(pid));
}

std::optional<int64_t> ProcessFiles::environment_number(pid_t pid, std::string_view variable) const {
    core::Descriptor fd = open_at(pid, "environ");
    procfs::EnvironVariable finder(variable, kLongestNumber);
    char bytes[4096];
    bool found = false;
    ssize_t length = 0;
    size_t left = kLongestEnvironment;
    while (fd && !found && left > 0 && (length = ::read(fd.get(), bytes, std::min(left, sizeof bytes))) > 0) {
        left -= static_cast<size_t>(length);
        found = finder.feed({bytes, static_cast<size_t>(length)});
    }
    explicit_bzero(bytes, sizeof bytes);
    if (!found) return std::nullopt;
    return core::parse_number<int64_t>(finder.value());
}

std::optional<core::Environment> ProcessFiles::environment(pid_t pid,
                                                           std::span<const std::string_view> variables,
                                                           size_t longest) {
    std::vector<procfs::EnvironVariable> finders;
    for (std::string_view name : variables) finders.emplace_back(name, longest);
    std::vector<bool> found(finders.size());
    core::Descriptor fd = open_at(pid, "environ");
    failure_ = fd ? 0 : errno;
    if (!fd) return std::nullopt;
    char bytes[4096];
    ssize_t length = 0;
    size_t left = kLongestEnvironment;
    while (left > 0 && (length = ::read(fd.get(), bytes, std::min(left, sizeof bytes))) > 0) {
        left -= static_cast<size_t>(length);
        for (size_t i = 0; i < finders.size(); ++i)
            if (!found[i]) found[i] = finders[i].feed({bytes, static_cast<size_t>(length)});
    }
    explicit_bzero(bytes, sizeof bytes);
    failure_ = length < 0 ? errno : 0;
    if (length < 0) return std::nullopt;
    core::Environment environment;
    for (size_t i = 0; i < finders.size(); ++i)
        if (found[i] && finders[i].value().size() <= longest)
            environment.emplace(variables[i], finders[i].value());
    return environment;
}

std::string ProcessFiles::title(pid_t pid) const {
    core::Descriptor fd = open_at(pid, "cmdline");
    char bytes[256];
    const ssize_t length = fd ? ::read(fd.get(), bytes, sizeof bytes) : -1;
    return length > 0 ? std::string(bytes, static_cast<size_t>(length)) : std::string();
}

std::optional<uid_t> ProcessFiles::owner(pid_t pid) const {
    struct ::stat status{};
    if (!directory_ || fstatat(dirfd(directory_.get()), std::to_string(pid).c_str(), &status, 0) != 0)
        return std::nullopt;
    return status.st_uid;
}

bool ProcessFiles::may_run(pid_t pid, std::string_view program) const {
    if (!directory_) return false;
    const RelativePath link(pid, "exe");
    char bytes[PATH_MAX];
    const ssize_t length = readlinkat(dirfd(directory_.get()), link.text, bytes, sizeof bytes);
    if (length < 0) return true;
    std::string_view target(bytes, static_cast<size_t>(length));
    constexpr std::string_view kReplaced = " (deleted)";  // by an upgrade
    if (target.ends_with(kReplaced)) target.remove_suffix(kReplaced.size());
    const auto status = known_executable(std::to_string(pid));
    if (!status) return true;
    // Debian's is called slurmstepd-wlm.
    return target.substr(target.rfind('/') + 1).starts_with(program) &&
           (status->stx_uid == 0 || status->stx_uid == geteuid());
}

}  // namespace belay::observe::collect

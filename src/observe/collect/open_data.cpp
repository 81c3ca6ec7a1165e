#include "observe/collect/open_data.h"

#include "core/file.h"
#include "core/utf8.h"
#include "procfs/mount_path.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::observe::collect {

namespace {

constexpr size_t kMostLinks = 500;        // read in one look; each takes about 2 µs
constexpr size_t kMostDirectories = 100;  // told of a node
constexpr std::string_view kEndings[] = {".tar", ".sqsh", ".squashfs", ".sqfs"};

bool is_packed_data(std::string_view path) {
    return path.starts_with('/') &&
           std::ranges::any_of(kEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

// A container may show the file under another name.
std::string path_on_node(const std::filesystem::path& proc, pid_t pid, std::string path) {
    const auto mounts_of = [&](std::string_view process) {
        return procfs::parse_mountinfo(core::read_file(proc / process / "mountinfo").value_or(""));
    };
    const auto found = procfs::path_here(path, mounts_of(std::to_string(pid)), mounts_of("self"));
    return found.value_or(std::move(path));
}

}  // namespace

void OpenData::look(std::span<const JobProcess> processes) {
    if (!on_event_ || processes.empty() || seen_.size() >= kMostDirectories) return;
    const auto first =
        std::ranges::find_if(processes, [&](const JobProcess& process) { return process.stat.pid >= next_; });
    const auto start = static_cast<size_t>(first - processes.begin());
    if (first == processes.end() || first->stat.pid != next_) next_link_ = 0;
    size_t links = 0;
    for (size_t i = 0; i < processes.size(); ++i) {
        const JobProcess& process = processes[(start + i) % processes.size()];
        next_ = static_cast<pid_t>(process.stat.pid);
        if (links >= kMostLinks) return;
        links += look_at(process, kMostLinks - links);
        if (next_link_ > 0) return;
    }
}

// How many links were read. Where `most` ended it, next_link_ is where to go on; else 0.
size_t OpenData::look_at(const JobProcess& process, size_t most) {
    const size_t start = std::exchange(next_link_, 0);
    const std::filesystem::path directory = proc_ / std::to_string(process.stat.pid) / "fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), &closedir);
    if (!open) return 1;
    char target[PATH_MAX];
    size_t entries = 0;
    while (const dirent* entry = readdir(open.get())) {
        if (entries++ < start) continue;
        if (entries > start + most) {
            next_link_ = start + most;
            return most;
        }
        const ssize_t length = readlinkat(dirfd(open.get()), entry->d_name, target, sizeof target);
        if (length <= 0) continue;
        const std::string_view path(target, static_cast<size_t>(length));
        if (is_packed_data(path)) note(process, std::string(path));
    }
    return entries > start ? entries - start : 1;
}

void OpenData::note(const JobProcess& process, std::string path) {
    if (!seen_.insert(path.substr(0, path.rfind('/'))).second) return;
    path = path_on_node(proc_, static_cast<pid_t>(process.stat.pid), std::move(path));
    const size_t slash = path.rfind('/');
    const std::string directory = path.substr(0, std::max<size_t>(slash, 1));
    if (!known_.insert(directory).second) return;
    on_event_({.kind = "data_read",
               .severity = "info",
               .task = process.task,
               .subject = core::to_valid_utf8(directory),
               .code = process.stat.pid,
               .message = fmt::format("{} has {} open", core::to_valid_utf8(process.stat.command),
                                      core::to_valid_utf8(path.substr(slash + 1)))});
}

}  // namespace belay::observe::collect

#include "observe/cgroup/hierarchies.h"

#include "core/text.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::observe::cgroup {

namespace {

namespace fs = std::filesystem;

// Those with files that are read, and those in which Slurm makes directories that list the processes; the
// first ones tell most.
constexpr std::string_view kControllers[] = {"memory", "cpuacct", "cpu",     "cpuset",
                                             "blkio",  "pids",    "freezer", "devices"};
constexpr int kDeepestSlice = 4;
constexpr size_t kMostDirectories = 65'536;  // of one directory

core::Descriptor open_directory(int at, const char* path) {
    return core::Descriptor(openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_directory(int directory, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
    struct ::stat status{};
    return fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

// Also those that links lead to: cpu and cpuacct are links to cpu,cpuacct.
std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
        names.push_back(entry->path().filename().string());
    std::ranges::sort(names);
    return names;
}

size_t rank_of(std::string_view controller) {
    return static_cast<size_t>(std::ranges::find(kControllers, controller) - std::begin(kControllers));
}

struct Identified {
    Hierarchy hierarchy;
    dev_t device = 0;
    ino_t inode = 0;
    size_t rank = std::size(kControllers);
};

void add_controller(const fs::path& directory, std::string_view controller, std::vector<Identified>& found) {
    core::Descriptor root = open_directory(AT_FDCWD, directory.c_str());
    struct ::stat status{};
    if (!root || fstat(root.get(), &status) != 0) return;
    auto same = std::ranges::find_if(found, [&](const Identified& other) {
        return other.device == status.st_dev && other.inode == status.st_ino;
    });
    if (same == found.end()) {
        found.push_back(
            {.hierarchy = {std::move(root), {}}, .device = status.st_dev, .inode = status.st_ino});
        same = std::prev(found.end());
    }
    same->rank = std::min(same->rank, rank_of(controller));
    if (!same->hierarchy.has(controller)) same->hierarchy.controllers.emplace_back(controller);
}

Hierarchies legacy_hierarchies(const fs::path& root) {
    std::vector<Identified> found;
    for (const std::string& name : names_in(root))
        for (const std::string_view controller : core::split(name, ','))
            if (rank_of(controller) < std::size(kControllers)) add_controller(root / name, controller, found);
    std::ranges::stable_sort(found, {}, &Identified::rank);
    Hierarchies hierarchies{.version = Version::kLegacy, .each = {}};
    for (Identified& one : found) hierarchies.each.push_back(std::move(one.hierarchy));
    return hierarchies;
}

std::optional<Hierarchies> unified_hierarchy(const fs::path& root) {
    if (access((root / "cgroup.controllers").c_str(), F_OK) != 0) return std::nullopt;
    Hierarchies hierarchies{.version = Version::kUnified, .each = {}};
    hierarchies.each.push_back({open_directory(AT_FDCWD, root.c_str()), {}});
    if (!hierarchies.each.front().root) return std::nullopt;
    return hierarchies;
}

bool is_trusted(int root, const std::string& path) {
    struct ::stat status{};
    return fstatat(root, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (status.st_uid == 0 || status.st_uid == geteuid());
}

void find_tops(const Hierarchies& hierarchies, int root, const std::string& above, int depth,
               std::vector<std::string>& tops) {
    for (const std::string& name : subdirectories(root, above.empty() ? "." : above)) {
        const std::string path = above.empty() ? name : above + '/' + name;
        if (parse_slurm_path(hierarchies.version, path)) {
            if (is_trusted(root, path)) tops.push_back(path);
        } else if (hierarchies.version == Version::kUnified && depth < kDeepestSlice &&
                   name.ends_with(".slice")) {
            find_tops(hierarchies, root, path, depth + 1, tops);
        }
    }
}

}  // namespace

bool Hierarchy::has(std::string_view controller) const {
    return std::ranges::find(controllers, controller) != controllers.end();
}

std::vector<Hierarchies> find_hierarchies(const fs::path& root) {
    std::vector<Hierarchies> found;
    if (auto only = unified_hierarchy(root)) {
        found.push_back(std::move(*only));
        return found;
    }
    if (auto beside = unified_hierarchy(root / "unified")) found.push_back(std::move(*beside));
    if (auto legacy = legacy_hierarchies(root); !legacy.each.empty()) found.push_back(std::move(legacy));
    return found;
}

std::vector<std::string> subdirectories(int directory, const std::string& path) {
    std::vector<std::string> names;
    core::Descriptor opened(openat(directory, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) return names;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(opened.get()), closedir);
    if (!entries) return names;
    const int listed = opened.release();  // closedir closes it
    while (const dirent* entry = readdir(entries.get())) {
        if (names.size() == kMostDirectories) break;
        if (entry->d_name[0] != '.' && is_directory(listed, *entry)) names.emplace_back(entry->d_name);
    }
    return names;
}

std::vector<std::string> slurm_tops(const Hierarchies& hierarchies) {
    std::vector<std::string> tops;
    for (const Hierarchy& hierarchy : hierarchies.each)
        find_tops(hierarchies, hierarchy.root.get(), "", 0, tops);
    std::ranges::sort(tops);
    const auto repeated = std::ranges::unique(tops);
    tops.erase(repeated.begin(), repeated.end());
    return tops;
}

}  // namespace belay::observe::cgroup

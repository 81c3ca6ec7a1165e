#include "observe/cgroup/live_cgroups.h"

#include "observe/cgroup/file_texts.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utility>

namespace belay::observe::cgroup {

namespace {

constexpr rlim_t kMostFiles = 16'384;

size_t files_to_keep() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<size_t>(std::min(limit.rlim_cur / 4, kMostFiles));
}

// As it stands there now.
Part part_now(const Hierarchy& hierarchy, const std::string& path) {
    struct ::stat status{};
    if (fstatat(hierarchy.root.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (!S_ISDIR(status.st_mode)) return {};
    return {.inode = status.st_ino, .links = status.st_nlink};
}

ino_t first_inode(std::span<const Part> parts) {
    const auto found = std::ranges::find_if(parts, [](const Part& part) { return part.inode != 0; });
    return found == parts.end() ? 0 : found->inode;
}

}  // namespace

Cgroup::Cgroup(Version version, std::string path_below, SlurmPath slurm_path,
               std::vector<Part> in_hierarchies, Room& room)
    : path(std::move(path_below)),
      place(std::move(slurm_path)),
      parts(std::move(in_hierarchies)),
      id(first_inode(parts)),
      files_(version, place.level == Level::kTasks, room) {}

LiveCgroups::LiveCgroups(LiveOptions options)
    : options_(std::move(options)),
      room_{.cgroups = options_.cgroups_limit, .files = options_.files_limit.value_or(files_to_keep())} {}

bool LiveCgroups::is_wanted(const SlurmPath& place) const {
    if (options_.node && !place.node.empty() && place.node != *options_.node) return false;
    if (options_.job_id && place.job_id && place.job_id != options_.job_id) return false;
    return place.level != Level::kDaemon;
}

void LiveCgroups::look(core::Time now) {
    now_ = now;
    is_slow_ = looks_++ % options_.slow_every == 0;
    left_out_ = 0;
    if (is_slow_) find_tops();
    for (SlurmTree& tree : trees_)
        std::erase_if(tree.tops, [&](const auto& top) { return !visit(tree, *top.second); });
}

void LiveCgroups::find_tops() {
    // Slurm may not have been started yet, nor a controller of version 1 been mounted.
    if (std::ranges::all_of(trees_, [](const SlurmTree& tree) { return tree.tops.empty(); })) {
        trees_.clear();
        for (Hierarchies& hierarchies : find_hierarchies(options_.root))
            trees_.push_back({.hierarchies = std::move(hierarchies), .tops = {}});
    }
    for (SlurmTree& tree : trees_)
        for (const std::string& path : slurm_tops(tree.hierarchies)) {
            const auto place = parse_slurm_path(tree.hierarchies.version, path);
            if (!place || !is_wanted(*place) || tree.tops.contains(path)) continue;
            if (room_.cgroups == 0)
                ++left_out_;
            else if (auto top = make(tree, path, *place))
                tree.tops.emplace(path, std::move(top));
        }
}

std::unique_ptr<Cgroup> LiveCgroups::make(const SlurmTree& tree, const std::string& path,
                                          const SlurmPath& place) {
    std::vector<Part> parts;
    for (const Hierarchy& hierarchy : tree.hierarchies.each) parts.push_back(part_now(hierarchy, path));
    if (first_inode(parts) == 0) return nullptr;
    return std::make_unique<Cgroup>(tree.hierarchies.version, path, place, std::move(parts), room_);
}

// False if the cgroup is gone, or another one has its name.
bool LiveCgroups::visit(const SlurmTree& tree, Cgroup& cgroup) {
    bool needs_listing = is_slow_ || !cgroup.was_listed_;
    if (!refresh_parts(tree, cgroup, needs_listing)) return false;
    if (!is_wanted(cgroup.place)) {  // as is known since a member process has told its job
        cgroup.children.clear();
        return true;
    }
    const size_t gone =
        std::erase_if(cgroup.children, [&](const auto& child) { return !visit(tree, *child.second); });
    if (cgroup.place.level < Level::kTask && (needs_listing || gone > 0)) list(tree, cgroup);
    left_out_ += cgroup.left_out_;
    ++cgroup.looks;
    if (cgroup.place.level < Level::kJob) return true;
    if (!cgroup.files_.read({tree.hierarchies, cgroup.path, cgroup.parts}, is_slow_, reader_,
                            cgroup.readings))
        return false;
    count_processes(cgroup);
    return true;
}

void LiveCgroups::count_processes(Cgroup& cgroup) {
    Sum processes;
    processes.add(cgroup.left_out_ == 0 ? cgroup.readings.processes : std::nullopt);
    for (const auto& [name, child] : cgroup.children) processes.add(child->processes);
    cgroup.processes = processes.value();
}

// `has_other_directories` is set where another number of them is in it.
bool LiveCgroups::refresh_parts(const SlurmTree& tree, Cgroup& cgroup, bool& has_other_directories) {
    bool is_there = false;
    for (size_t i = 0; i < cgroup.parts.size(); ++i) {
        const Part before = cgroup.parts[i];
        const Part now = part_now(tree.hierarchies.each[i], cgroup.path);
        if (before.inode != 0 && now.inode != 0 && before.inode != now.inode) return false;
        if (before.inode != now.inode) cgroup.files_.forget(i);
        has_other_directories = has_other_directories || before.links != now.links;
        is_there = is_there || now.inode != 0;
        cgroup.parts[i] = now;
    }
    return is_there;
}

void LiveCgroups::list(const SlurmTree& tree, Cgroup& cgroup) {
    const bool is_complete = std::exchange(cgroup.was_listed_, true) && cgroup.left_out_ == 0;
    const bool are_new = is_complete || cgroup.start_time;
    cgroup.left_out_ = 0;
    std::map<std::string, SlurmPath> names;
    for (size_t i = 0; i < cgroup.parts.size(); ++i) {
        if (cgroup.parts[i].inode == 0) continue;
        for (std::string& name : subdirectories(tree.hierarchies.each[i].root.get(), cgroup.path)) {
            if (cgroup.children.contains(name)) continue;
            auto place = parse_slurm_path(tree.hierarchies.version, cgroup.path + '/' + name);
            if (place && place->level > cgroup.place.level && is_wanted(*place))
                names.emplace(std::move(name), std::move(*place));
        }
    }
    for (const auto& [name, place] : names) {
        if (room_.cgroups == 0) {
            ++cgroup.left_out_;
            continue;
        }
        auto child = make(tree, cgroup.path + '/' + name, place);
        if (!child) continue;
        if (are_new) child->start_time = now_;
        if (visit(tree, *child)) cgroup.children.emplace(name, std::move(child));
    }
}

}  // namespace belay::observe::cgroup

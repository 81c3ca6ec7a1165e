#include "stage/walk/walk.h"

#include "core/parallel.h"
#include "core/program.h"
#include "core/text.h"
#include "stage/walk/entries.h"
#include "stage/walk/now_and_then.h"
#include "stage/walk/pace.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace belay::stage {

namespace {

using core::Result;
using Clock = std::chrono::steady_clock;

constexpr size_t kLooksAtOnce = 32;            // names that one thread takes from a directory
constexpr size_t kLongestName = PATH_MAX / 2;  // given to the kernel in one piece
constexpr size_t kAnchorLevels = 32;  // between directories that stay open while what is beneath them is read

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A directory whose names are being looked at, by whoever has time; it is closed after the last of them, or, as an anchor, after all
// beneath it.
struct OpenDirectory {
    core::Directory directory;
    std::string path;
    size_t depth;
    // An ancestor from which what lies beneath is entered; null: the root. From the root anew at each of thousands of levels, a tree
    // that takes a moment to make would take hours to read.
    std::shared_ptr<const OpenDirectory> anchor;
};

// Something to do: a directory to read, or names of an open one to look at.
struct Task {
    std::string path = {};  // of the directory to read
    size_t depth = 0;
    std::shared_ptr<const OpenDirectory> anchor = nullptr;
    std::shared_ptr<const OpenDirectory> open = nullptr;
    std::vector<std::string> names = {};
    std::optional<uint64_t> directory_entries = {};
};

// What there is to do, the newest first: so few directories wait, and few of those are open.
class Tasks {
  public:
    void put(std::vector<Task> tasks) {
        if (tasks.empty()) return;
        {
            const std::lock_guard lock(mutex_);
            for (Task& task : tasks) waiting_.push_back(std::move(task));
        }
        if (tasks.size() == 1)
            wake_.notify_one();
        else
            wake_.notify_all();
    }
    // Nothing once no thread has a task that could make others, or after end().
    std::optional<Task> take() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ended_ || !waiting_.empty() || busy_ == 0; });
        if (ended_ || waiting_.empty()) return std::nullopt;
        Task task = std::move(waiting_.back());
        waiting_.pop_back();
        ++busy_;
        return task;
    }
    void done() {
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) wake_.notify_all();
    }
    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        wake_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<Task> waiting_;
    size_t busy_ = 0;
    bool ended_ = false;
};

// A path of any length: the kernel takes one of PATH_MAX bytes.
Result<core::Directory> enter(const core::Directory& root, std::string_view path) {
    if (path.size() <= kLongestName) return root.enter(path);
    std::optional<core::Directory> at;
    while (!path.empty()) {
        const size_t end = path.size() <= kLongestName ? path.size() : path.rfind('/', kLongestName);
        BELAY_TRY(next, (at ? *at : root).enter(path.substr(0, end)));
        at.emplace(std::move(next));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return std::move(*at);
}

void keep_first(std::vector<WalkProblem>& problems) {
    std::ranges::sort(problems, {}, &WalkProblem::path);
    if (problems.size() > kListedProblems) problems.resize(kListedProblems);
}

void add(WalkReport& sum, const WalkReport& part) {
    sum.directories += part.directories;
    sum.calls += part.calls;
    sum.looks += part.looks;
    sum.look_seconds += part.look_seconds;
    sum.other_file_systems += part.other_file_systems;
    sum.problem_count += part.problem_count;
    sum.problems.insert(sum.problems.end(), part.problems.begin(), part.problems.end());
}

// One thread's part of the walk, and what it saw.
class Walker {
  public:
    Walker(size_t thread, const core::Directory& root, const MountPlace& place, Tasks& tasks, Pace& pace,
           NowAndThen& shown, const WalkOptions& options, const Visitor& visit)
        : thread_(thread),
          root_(root),
          place_(place),
          tasks_(tasks),
          pace_(pace),
          shown_(shown),
          options_(options),
          visit_(visit) {}

    void run() {
        while (auto task = tasks_.take()) {
            if (is_stopped())
                tasks_.end();
            else if (task->open)
                look(*task);
            else
                read(*task);
            tasks_.done();
        }
    }
    WalkReport& report() { return report_; }

  private:
    bool is_stopped() const {
        return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
    }

    bool is_elsewhere(const MountPlace& place) const {
        return options_.stays_on_mount ? !place.is_mount_of(place_) : place.device != place_.device;
    }

    // What vanished is not there to be read: no problem.
    void note_problem(const std::string& path, int errno_value) {
        if (errno_value == ENOENT) return;
        ++report_.problem_count;
        report_.problems.push_back({path, errno_value});
        if (report_.problems.size() >= 2 * kListedProblems) keep_first(report_.problems);
    }

    void read(const Task& task) {
        pace_.wait_for(1);
        ++report_.calls;
        auto directory = task.anchor ? enter(task.anchor->directory,
                                             std::string_view(task.path).substr(task.anchor->path.size() + 1))
                                     : enter(root_, task.path);
        if (!directory) return note_problem(task.path, directory.error().errno_value());
        // Something may be mounted there since its name was looked at, or be mounted by opening it.
        if (const auto place = place_of(directory->fd()); place && is_elsewhere(*place)) {
            ++report_.other_file_systems;
            return;
        }
        auto open =
            std::make_shared<const OpenDirectory>(std::move(*directory), task.path, task.depth, task.anchor);
        NameList list = list_names(open->directory.fd());
        report_.calls += list.calls;
        ++report_.directories;
        if (list.errno_value != 0) note_problem(task.path, list.errno_value);
        // Others take parts while this thread looks at the last one.
        std::vector<Task> parts;
        const size_t count = list.names.size();
        for (size_t begin = 0; begin == 0 || begin < count; begin += kLooksAtOnce) {
            const size_t end = std::min(begin + kLooksAtOnce, count);
            Task part{.depth = task.depth, .open = open};
            part.names.assign(std::move_iterator(list.names.begin() + static_cast<ptrdiff_t>(begin)),
                              std::move_iterator(list.names.begin() + static_cast<ptrdiff_t>(end)));
            parts.push_back(std::move(part));
        }
        parts.back().directory_entries = count;
        Task mine = std::move(parts.back());
        parts.pop_back();
        tasks_.put(std::move(parts));
        look(mine);
    }

    void add_beneath(const std::shared_ptr<const OpenDirectory>& open, std::string_view name,
                     std::vector<Task>& beneath) {
        Task task{.path = path_beneath(open->path, name), .depth = open->depth + 1, .anchor = open->anchor};
        if (open->depth > 0 && open->depth % kAnchorLevels == 0) task.anchor = open;
        if (task.path.size() > kMostPathBytes) return note_problem(task.path, ENAMETOOLONG);
        beneath.push_back(std::move(task));
    }

    void look(Task& task) {
        entries_.clear();
        entries_.reserve(task.names.size());
        std::vector<Task> beneath;
        pace_.wait_for(task.names.size());
        const auto begin = Clock::now();
        for (std::string& name : task.names) {
            if (is_stopped()) return;
            Look seen = look_at(task.open->directory.fd(), name);
            if (seen.errno_value != 0) {
                note_problem(path_beneath(task.open->path, name), seen.errno_value);
                continue;
            }
            const bool is_directory = seen.entry.type == core::FileType::kDirectory;
            if (is_elsewhere(seen.place)) {
                if (is_directory || options_.stays_on_mount) ++report_.other_file_systems;
                if (!is_directory && options_.stays_on_mount) continue;
            } else if (is_directory) {
                add_beneath(task.open, name, beneath);
            }
            seen.entry.name = std::move(name);
            entries_.push_back(std::move(seen.entry));
        }
        report_.look_seconds += seconds_since(begin);
        report_.looks += task.names.size();
        report_.calls += task.names.size();
        shown_.add(task.names.size());
        tasks_.put(std::move(beneath));
        visit_(thread_, {.path = task.open->path,
                         .depth = task.open->depth,
                         .entries = entries_,
                         .directory_entries = task.directory_entries});
    }

    size_t thread_;
    const core::Directory& root_;
    const MountPlace& place_;
    Tasks& tasks_;
    Pace& pace_;
    NowAndThen& shown_;
    const WalkOptions& options_;
    const Visitor& visit_;
    WalkReport report_;
    std::vector<Entry> entries_;
};

}  // namespace

std::string path_beneath(std::string_view directory, std::string_view name) {
    return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

Result<WalkReport> walk(const core::Directory& root, const WalkOptions& options, const Visitor& visit) {
    const auto begin = Clock::now();
    const Look seen = look_at(root.fd(), ".");
    if (seen.errno_value != 0)
        return core::errno_error(seen.errno_value, fmt::format("cannot look at {}", root.path().string()));
    Tasks tasks;
    tasks.put({Task{}});
    Pace pace(options.most_calls_per_second);
    NowAndThen shown(options.progress);
    const size_t threads = std::max<size_t>(options.threads, 1);
    std::vector<std::unique_ptr<Walker>> walkers;
    for (size_t thread = 0; thread < threads; ++thread)
        walkers.push_back(
            std::make_unique<Walker>(thread, root, seen.place, tasks, pace, shown, options, visit));
    BELAY_CHECK(core::in_parallel(threads, threads, [&](size_t thread) -> Result<> {
        auto done = core::without_exceptions([&]() -> Result<> {
            walkers[thread]->run();
            return {};
        });
        if (!done) tasks.end();  // else the others wait for what it had taken
        return done;
    }));
    if (options.stop != nullptr && *options.stop)
        return core::system_error("reading {} was stopped", root.path().string())
            .because(core::Cause::kCancelled);
    WalkReport sum;
    for (const auto& walker : walkers) add(sum, walker->report());
    keep_first(sum.problems);
    if (sum.directories == 0 && !sum.problems.empty())
        return core::errno_error(sum.problems.front().errno_value,
                                 fmt::format("cannot list {}", root.path().string()));
    sum.seconds = seconds_since(begin);
    return sum;
}

}  // namespace belay::stage

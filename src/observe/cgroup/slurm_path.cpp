#include "observe/cgroup/slurm_path.h"

#include "core/text.h"

#include <algorithm>
#include <iterator>

namespace belay::observe::cgroup {

namespace {

constexpr std::string_view kScope = "slurmstepd.scope";
constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kLegacyTop = "slurm";
// Where version 2 keeps slurmstepd until it has a step.
constexpr std::string_view kWaitingArea = "system";
constexpr std::string_view kNamedSteps[] = {"batch", "extern", "interactive"};

// The names of a path, one after the other; "" at the end.
class Names {
  public:
    explicit Names(std::string_view path) : rest_(path) {}
    std::string_view next() {
        const size_t start = std::min(rest_.find_first_not_of('/'), rest_.size());
        const size_t end = std::min(rest_.find('/', start), rest_.size());
        const std::string_view name = rest_.substr(start, end - start);
        rest_.remove_prefix(end);
        return name;
    }

  private:
    std::string_view rest_;
};

// What follows a prefix; nothing without it.
std::optional<std::string_view> after(std::string_view prefix, std::string_view name) {
    if (!name.starts_with(prefix)) return std::nullopt;
    return name.substr(prefix.size());
}

std::optional<int64_t> number_after(std::string_view prefix, std::string_view name) {
    const auto digits = after(prefix, name);
    const auto number = digits ? core::parse_number<uint32_t>(*digits) : std::nullopt;
    if (!number) return std::nullopt;
    return *number;
}

// The node whose slurmd has this directory, "" where it says none.
std::optional<std::string_view> node_of_scope(std::string_view name) {
    if (name == kScope) return "";
    if (!name.ends_with(kScope)) return std::nullopt;
    name.remove_suffix(kScope.size());
    if (name.size() < 2 || !name.ends_with('_')) return std::nullopt;
    return name.substr(0, name.size() - 1);
}

std::optional<std::string_view> node_of_legacy_top(std::string_view name) {
    const auto rest = after(kLegacyTop, name);
    if (!rest || rest->empty()) return rest;
    if (rest->size() < 2 || !rest->starts_with('_')) return std::nullopt;
    return rest->substr(1);
}

// Below slices only, where root alone makes directories: a user's service or a container may have a subtree
// of its own, and could name something in it so. A slice a-b.slice is within a.slice (systemd.slice(5)).
std::optional<std::string_view> enter_top(Version version, Names& names) {
    std::string_view name = names.next();
    if (version == Version::kLegacy) return node_of_legacy_top(name);
    while (name.ends_with(kSlice)) name = names.next();
    return node_of_scope(name);
}

// Of "+N", a part of a heterogeneous step, the step is what stands before it.
std::optional<std::string_view> step_of(std::string_view name) {
    auto step = after("step_", name);
    if (!step) return std::nullopt;
    if (const size_t part = step->find('+'); part != step->npos) {
        if (!core::parse_number<uint32_t>(step->substr(part + 1))) return std::nullopt;
        step = step->substr(0, part);
    }
    const bool is_named = std::ranges::find(kNamedSteps, *step) != std::end(kNamedSteps);
    if (!is_named && !core::parse_number<uint32_t>(*step)) return std::nullopt;
    return step;
}

bool enter_job(Version version, std::string_view name, SlurmPath& place) {
    const auto job = number_after("job_", name);
    // Another name says nothing: what a job's directory is called may change again.
    const bool is_job = version == Version::kUnified && name != kWaitingArea && !name.starts_with('.');
    if (!job && !is_job) return false;
    place.level = Level::kJob;
    if (job && *job > 0) place.job_id = *job;
    return true;
}

bool enter_step(std::string_view name, SlurmPath& place) {
    const auto step = step_of(name);
    if (!step) return false;
    place.level = Level::kStep;
    place.step = *step;
    return true;
}

bool enter_task(std::string_view name, SlurmPath& place) {
    place.task = number_after("task_", name);
    if (!place.task && name != "task_special") return false;
    place.level = Level::kTask;
    return true;
}

// Goes one directory deeper; false where that leads to nothing that Slurm has a name for.
bool enter(Version version, std::string_view name, SlurmPath& place) {
    switch (place.level) {
        case Level::kTop:
            if (version == Version::kUnified) return enter_job(version, name, place);
            if (!number_after("uid_", name)) return false;
            place.level = Level::kOwner;
            return true;
        case Level::kOwner:
            return enter_job(version, name, place);
        case Level::kJob:
            return enter_step(name, place);
        case Level::kStep:
            if (version == Version::kLegacy) return enter_task(name, place);
            if (name != "user" && name != "slurm") return false;
            place.level = name == "user" ? Level::kTasks : Level::kDaemon;
            return true;
        case Level::kTasks:
            return enter_task(name, place);
        case Level::kDaemon:
        case Level::kTask:
            return false;
    }
    return false;
}

}  // namespace

std::optional<SlurmPath> parse_slurm_path(Version version, std::string_view path) {
    Names names(path);
    const auto node = enter_top(version, names);
    if (!node) return std::nullopt;
    SlurmPath place{.node = std::string(*node)};
    for (std::string_view name = names.next(); !name.empty(); name = names.next())
        if (!enter(version, name, place)) break;
    return place;
}

}  // namespace belay::observe::cgroup

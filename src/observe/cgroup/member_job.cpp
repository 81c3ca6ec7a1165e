#include "observe/cgroup/member_job.h"

#include "core/text.h"
#include "observe/collect/step_daemons.h"
#include "procfs/scan.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace belay::observe::cgroup {

namespace {

constexpr size_t kProcessesToAsk = 8;
constexpr size_t kLongestJobId = 20;

// Of a cgroup of version 2, which has one hierarchy.
std::vector<pid_t> processes_of(const SlurmTree& tree, const std::string& path) {
    const core::Descriptor fd(openat(tree.hierarchies.each.front().root.get(),
                                     fmt::format("{}/{}", path, kProcesses).c_str(),
                                     O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    char bytes[1024];
    const ssize_t length = fd ? read(fd.get(), bytes, sizeof bytes) : -1;
    if (length <= 0) return {};
    return parse_processes({bytes, static_cast<size_t>(length)}, kProcessesToAsk);
}

std::optional<int64_t> positive(std::optional<int64_t> job) {
    return job && *job > 0 ? job : std::nullopt;
}

}  // namespace

std::vector<pid_t> parse_processes(std::string_view text, size_t most) {
    std::vector<pid_t> pids;
    std::string_view line;
    for (procfs::Lines lines(text); pids.size() < most && lines.next(line);)
        if (const auto pid = core::parse_number<pid_t>(line); pid && *pid > 0) pids.push_back(*pid);
    return pids;
}

std::optional<int64_t> MemberJob::ask(const SlurmTree& tree, const Cgroup& job) {
    was_denied_ = false;
    if (!is_open_) is_open_ = files_.list(listed_).has_value();
    for (const auto& [name, step] : job.children)
        if (const auto told = ask_daemon(tree, *step)) return told;
    int tries = 0;
    for (const auto& [name, step] : job.children)
        if (const auto told = ask_tasks(tree, *step, tries)) return told;
    return std::nullopt;
}

std::optional<int64_t> MemberJob::ask_daemon(const SlurmTree& tree, const Cgroup& step) const {
    for (const pid_t pid : processes_of(tree, step.path + "/slurm")) {
        const auto owner = files_.owner(pid);
        if (!owner || (*owner != 0 && *owner != geteuid())) continue;
        const auto name = collect::parse_step_title(files_.title(pid));
        if (name && name->step == step.place.step) return name->job_id;
    }
    return std::nullopt;
}

std::optional<int64_t> MemberJob::ask_tasks(const SlurmTree& tree, const Cgroup& cgroup, int& tries) {
    static constexpr std::string_view kVariable[] = {"SLURM_JOB_ID"};
    for (const pid_t pid : processes_of(tree, cgroup.path)) {
        if (++tries > static_cast<int>(kProcessesToAsk)) return std::nullopt;
        const auto environment = files_.environment(pid, kVariable, kLongestJobId);
        const int failure = files_.failure();
        was_denied_ = was_denied_ || (!environment && (failure == EACCES || failure == EPERM));
        if (!environment) continue;
        const auto said = environment->find(std::string(kVariable[0]));
        if (said == environment->end()) continue;
        if (const auto job = positive(core::parse_number<int64_t>(said->second))) return job;
    }
    for (const auto& [name, child] : cgroup.children)
        if (const auto told = ask_tasks(tree, *child, tries)) return told;
    return std::nullopt;
}

}  // namespace belay::observe::cgroup

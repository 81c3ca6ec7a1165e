// At the end of a job, on each of its nodes: what srun --stage brought goes, as the job's user.
#include "spank/plugin/plugin.h"

extern "C" {
#include <slurm/spank.h>
}

#include "spank/plugin/configuration.h"
#include "stage/copy/job_copies_name.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::spank {

namespace {

constexpr unsigned kMostSeconds = 300;  // a node whose epilog does not end is drained
constexpr rlim_t kMostMemory = rlim_t{4} << 30;

// Whether the user has noted anything for the job; with the group to which the notes belong.
bool find_notes(const char* prefix, uid_t user, gid_t& group) {
    DIR* directory = opendir(stage::kNotesDirectory);
    if (directory == nullptr) return false;
    bool found = false;
    while (const dirent* entry = found ? nullptr : readdir(directory)) {
        struct stat facts;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            facts.st_uid != user)
            continue;
        group = facts.st_gid;
        found = true;
    }
    closedir(directory);
    return found;
}

// Does not return.
void clean_as(uid_t user, gid_t group, unsigned job) {
    char number[32];
    char node[512];
    snprintf(number, sizeof number, "%u", job);
    snprintf(node, sizeof node, "SLURMD_NODENAME=%s", node_name());
    char path[] = "PATH=/usr/bin:/bin";
    char* environment[] = {node, path, nullptr};
    char verb[] = "clean";
    char* arguments[] = {configuration.step, verb, number, nullptr};
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    // What the user's own files make it do costs the node no more than this.
    const rlimit memory{.rlim_cur = kMostMemory, .rlim_max = kMostMemory};
    const rlimit seconds{.rlim_cur = kMostSeconds, .rlim_max = kMostSeconds};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &seconds);
    alarm(kMostSeconds);
    if (chdir("/") == 0 && setgroups(0, nullptr) == 0 && setgid(group) == 0 && setuid(user) == 0)
        execve(configuration.step, arguments, environment);
    _exit(1);
}

// The user may stop it, or it may wait for a file server that does not answer: then it is left.
void wait_for(pid_t child, const char* node) {
    constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 50'000'000};
    constexpr unsigned kLooksASecond = 20;
    int status = 0;
    pid_t ended = 0;
    for (unsigned look = 0; ended == 0 && look < (kMostSeconds + 5) * kLooksASecond; ++look) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0) nanosleep(&kPause, nullptr);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
        for (unsigned look = 0; ended == 0 && look < 5 * kLooksASecond; ++look) {
            nanosleep(&kPause, nullptr);
            ended = waitpid(child, &status, WNOHANG);
        }
    }
    if (ended < 0) return;  // somebody else has waited for it
    if (ended != child || status != 0)
        slurm_spank_log("belay: %s: data that srun --stage brought may be left: belay-step clean %s %d", node,
                        ended != child        ? "did not end"
                        : WIFSIGNALED(status) ? "was ended by signal"
                                              : "ended with status",
                        ended != child        ? 0
                        : WIFSIGNALED(status) ? WTERMSIG(status)
                                              : WEXITSTATUS(status));
}

}  // namespace

int on_job_end(spank_t spank, int count, char** words) {
    if (spank_context() != S_CTX_JOB_SCRIPT) return 0;
    uid_t user = 0;
    uint32_t job = 0;
    if (spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return 0;
    char prefix[NAME_MAX];
    gid_t group = 0;
    if (!stage::write_notes_prefix(prefix, sizeof prefix, user, node_name(), job) ||
        !find_notes(prefix, user, group))
        return 0;
    read_configuration(count, words);
    const pid_t child = fork();
    if (child == 0) clean_as(user, group, job);
    if (child > 0) wait_for(child, node_name());
    return 0;  // a job has ended whatever is left of its data
}

}  // namespace belay::spank

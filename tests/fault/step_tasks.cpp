// The tasks of a node, as Belay's plugin makes them in slurmstepd, around a belay-step that prepares the
// node: step_tasks COUNT -- BELAY-STEP COMMAND... Each task prints a line: "go" and the system that it sees,
// "refused" by belay-step, or "unanswered" when that has ended. Ends with the status of belay-step, 128 and
// more for a signal.
#include "core/file.h"
#include "spank/plain/instruction.h"
#include "spank/plain/packet.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace belay::fault {
namespace {

using namespace belay::spank;

constexpr int64_t kPatience = 60'000;  // milliseconds

int ended(const char* how) {
    printf("%s\n", how);
    return fflush(stdout);
}

// What the instructions say about a container: its working directory, or nothing.
std::string workdir_in(int file) {
    std::string text(kLongestInstructions, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(pread(file, text.data(), text.size(), 0), 0)));
    std::string workdir;
    char* at = text.data();
    while (at < text.data() + text.size()) {
        Instruction instruction{};
        if (take_instruction(at, text.data() + text.size(), instruction) != nullptr) return "";
        if (instruction.kind == kJoinContainer) workdir = instruction.directory;
    }
    return workdir;
}

// In a process of its own.
int be_task(int link) {
    const int64_t give_up = monotonic_milliseconds() + kPatience;
    Packet offer;
    if (look_at_packet(link, give_up, offer) != 0) return ended("unanswered");
    char verdict = 0;
    if (offer.verdict == kRefuse) return ended("refused");
    if (take_byte(offer.descriptors[kStartPipe], give_up, verdict) != 0) return ended("unanswered");
    if (verdict != kGo) return ended("refused");
    if (std::string workdir = workdir_in(offer.descriptors[kInstructionFile]); !workdir.empty()) {
        if (setns(offer.descriptors[kUserNamespace], CLONE_NEWUSER) != 0 ||
            setns(offer.descriptors[kMountNamespace], CLONE_NEWNS) != 0 || chdir(workdir.c_str()) != 0)
            return ended("cannot join the container");
    }
    std::string system = core::read_file("/etc/os-release").value_or("");
    return ended(("go " + system.substr(0, system.find('\n'))).c_str());
}

[[noreturn]] void become_step(char** words, int link, int tasks, int notices) {
    std::vector<std::string> numbers = {std::to_string(link), std::to_string(tasks),
                                        std::to_string(getppid()), std::to_string(notices)};
    std::vector<char*> argv = {words[0], const_cast<char*>("node")};
    for (std::string& number : numbers) argv.push_back(number.data());
    for (char** word = words + 1; *word != nullptr; ++word) argv.push_back(*word);
    argv.push_back(nullptr);
    fcntl(link, F_SETFD, 0);
    fcntl(notices, F_SETFD, 0);
    execv(argv[0], argv.data());
    _exit(127);
}

int main_of(int tasks, char** words) {
    int link[2];
    int notices[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, notices) != 0)
        return 127;
    const pid_t step = fork();
    if (step == 0) become_step(words, link[1], tasks, notices[1]);
    for (int i = 0; i < tasks; ++i)
        if (fork() == 0) {
            close(link[1]);
            _exit(be_task(link[0]));
        }
    close(link[1]);
    int result = 127;
    int status = 0;
    for (pid_t child = 0; child >= 0 || errno != ECHILD; child = wait(&status))
        if (child == step) result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

}  // namespace
}  // namespace belay::fault

int main(int argc, char** argv) {
    if (argc < 4 || strcmp(argv[2], "--") != 0) return 2;
    return belay::fault::main_of(std::atoi(argv[1]), argv + 3);
}

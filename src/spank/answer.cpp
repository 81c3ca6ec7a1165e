#include "spank/answer.h"

#include "core/deadline.h"
#include "spank/plain/packet.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace belay::spank {

using core::Result;

namespace {

void add(std::string& text, InstructionKind kind, std::string_view argument) {
    text += static_cast<char>(kind);
    text += argument.substr(0, argument.find('\0'));
    text += '\0';
}

// For other steps of the user, until their tasks have taken what they were offered.
constexpr core::Duration kPatience = std::chrono::seconds(10);
constexpr core::Duration kPause = std::chrono::milliseconds(10);

Result<> send_patiently(int link, const Packet& packet, core::Clock& clock) {
    const core::Deadline deadline = core::Deadline::after(kPatience, clock);
    int error = 0;
    while ((error = send_packet(link, packet)) == ETOOMANYREFS && !deadline.is_over())
        clock.sleep_until(clock.monotonic() + kPause);
    if (error == 0) return {};
    if (error != ETOOMANYREFS) return core::errno_error(error, "cannot answer the tasks");
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return core::system_error(
               "cannot answer the tasks: your processes are passing each other more open files than the "
               "{} that are allowed",
               limit.rlim_cur)
        .because_of_errno(ETOOMANYREFS)
        .hint(
            "does a program of yours on this node send descriptors that nothing receives? If not, the limit "
            "of open files of slurmd is low (ulimit -n)");
}

}  // namespace

std::string instructions(const step::StepPlan& plan, const std::string& root_address,
                         const core::Environment& traced) {
    std::string text;
    if (plan.environment) {
        // Not as changes of this process's: each task has some of its own.
        env::VariableChanges changes = step::variable_changes(*plan.environment);
        for (const std::string& name : changes.unset) add(text, kUnsetVariable, name);
        for (const auto& [name, value] : changes.set) add(text, kSetVariable, name + "=" + value);
        // Inside a container often neither scontrol nor the cluster's names are there to ask.
        if (!root_address.empty()) add(text, kOfferVariable, "MASTER_ADDR=" + root_address);
        if (plan.environment->container) add(text, kJoinContainer, plan.environment->container->workdir);
    }
    for (const auto& [name, value] : traced) add(text, kSetVariable, name + "=" + value);
    if (plan.recording) add(text, kSupervise, "");
    return text;
}

Result<> Answer::offer(const std::string& instructions, const std::vector<int>& namespaces) {
    if (instructions.size() > kLongestInstructions)
        return core::system_error("the variables of the environment are longer than {} MiB",
                                  kLongestInstructions >> 20);
    core::Descriptor file(memfd_create("belay-instructions", MFD_CLOEXEC));
    if (!file) return core::errno_error(errno, "cannot make a file in memory");
    BELAY_CHECK(core::write_all(file.get(), instructions, "instructions"));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return core::errno_error(errno, "cannot make a pipe");
    awaited_ = core::Descriptor(ends[0]);
    told_ = core::Descriptor(ends[1]);
    fcntl(awaited_.get(), F_SETFL, O_NONBLOCK);
    Packet packet{.verdict = kOffer, .count = 0};
    packet.descriptors[packet.count++] = file.get();
    packet.descriptors[packet.count++] = awaited_.get();
    for (int fd : namespaces) packet.descriptors[packet.count++] = fd;
    auto sent = send_patiently(link_, packet, clock_);
    if (!sent) told_.reset();
    return sent;
}

Result<> Answer::start() {
    return core::write_all(told_.get(), std::string(tasks_, kGo), "pipe to the tasks");
}

void Answer::refuse() {
    if (told_)
        (void)core::write_all(told_.get(), std::string(tasks_, kRefuse), "pipe to the tasks");
    else
        (void)send_packet(link_, {.verdict = kRefuse});
}

}  // namespace belay::spank

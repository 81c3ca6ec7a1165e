#include "spank/answer.h"

#include "core/file.h"
#include "spank/plain/wire.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>
#include <vector>

namespace belay::spank {

using core::Result;

namespace {

void add(std::string& text, InstructionKind kind, std::string_view argument) {
    text += static_cast<char>(kind);
    text += argument.substr(0, argument.find('\0'));
    text += '\0';
}

Result<> send_packet(int link, char verdict, const std::vector<int>& descriptors) {
    iovec data{.iov_base = &verdict, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
        cmsghdr* part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
        memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size() * sizeof(int));
    }
    if (sendmsg(link, &message, MSG_NOSIGNAL) < 0) return core::errno_error(errno, "cannot answer the tasks");
    return {};
}

}  // namespace

std::string instructions(const step::StepPlan& plan, const std::string& root_address) {
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
    if (plan.recording) add(text, kSupervise, "");
    return text;
}

Result<> answer_go(int link, unsigned tasks, const std::string& instructions,
                   const step::PreparedNode& node) {
    if (instructions.size() > kLongestInstructions)
        return core::system_error("the variables of the environment are longer than {} MiB",
                                  kLongestInstructions >> 20);
    core::Descriptor file(memfd_create("belay-instructions", MFD_CLOEXEC));
    if (!file) return core::errno_error(errno, "cannot make a file in memory");
    BELAY_CHECK(core::write_all(file.get(), instructions, "instructions"));
    std::vector<int> descriptors = {file.get()};
    if (node.container) {
        descriptors.push_back(node.container->user_namespace());
        descriptors.push_back(node.container->mount_namespace());
    }
    for (unsigned task = 0; task < tasks; ++task) BELAY_CHECK(send_packet(link, kGo, descriptors));
    return {};
}

void answer_refuse(int link, unsigned tasks) {
    for (unsigned task = 0; task < tasks; ++task) (void)send_packet(link, kRefuse, {});
}

}  // namespace belay::spank

// Any text in place of slurm.conf, of which a socket is a part of one line, and of scontrol's answer: jobs with the facts they must have, or a refusal that says why.
#include "slurm/auth_info.h"
#include "slurm/scontrol.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string socket = slurm::munge_socket_in(text);
    if (socket.find('\n') != std::string::npos || text.find(socket) == std::string_view::npos) abort();
    auto address = slurm::parse_scontrol_node_address(text);
    if (address && *address && ((*address)->empty() || (*address)->find('\n') != std::string::npos)) abort();
    auto jobs = slurm::parse_scontrol_jobs(text);
    if (!jobs) {
        if (jobs.error().kind() != core::ErrorKind::kSystem || jobs.error().message().empty()) abort();
        return 0;
    }
    for (const slurm::ScontrolJob& job : *jobs) {
        if (job.state.empty() || job.user.find('\n') != std::string::npos) abort();
        if (job.state == "PENDING" && (job.start || job.end)) abort();
    }
    return 0;
}

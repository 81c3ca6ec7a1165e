// The options of belay-agent about what leaves the node: for belayd, for who scrapes, for a receiver of remote write.
#pragma once

#include "agent/agent.h"
#include "core/command.h"
#include "core/error.h"

#include <string>

namespace belay::agent {

struct OutwardWords {
    std::string server, token_file, server_ca;
    core::Duration server_interval = CourierOptions().server_interval;
    std::string listen;
    bool shows_processes = false;
    std::string remote_write, remote_write_credentials, remote_write_ca;
};

// Declares them; the words must live as long as the command.
void add_outward_options(core::CommandDeclaration& command, OutwardWords& words);

// Looks through what was given, and files that it names. Errors: kBadInput with the option's name.
core::Result<> take_outward_options(const OutwardWords& words, AgentOptions& options);

}  // namespace belay::agent

// The command line of belayd.
#pragma once

#include "core/command.h"

#include <string>
#include <vector>

namespace belay::server {

core::ApplicationPage application_page();
void add_commands(core::Application& application);

// "--data DIR token create" as "token create --data DIR": where the state is may be said first.
std::vector<std::string> with_command_first(std::vector<std::string> words);

}  // namespace belay::server

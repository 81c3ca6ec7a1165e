// The command line of belay-agent.
#pragma once

#include "core/command.h"

namespace belay::agent {

core::ApplicationPage application_page();
void add_commands(core::Application& application);

}  // namespace belay::agent

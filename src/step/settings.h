// The settings of all modules, joined: a file of the configuration may hold any of them, so whoever reads one
// must know all. Each module declares its own in its settings.h.
#pragma once

#include "core/config.h"

#include <span>

namespace belay::step {

std::span<const core::Setting> settings();

}  // namespace belay::step

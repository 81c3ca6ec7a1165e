// The settings of all modules, joined.
#pragma once

#include "core/config.h"

#include <span>

namespace belay::step {

std::span<const core::Setting> settings();

}  // namespace belay::step

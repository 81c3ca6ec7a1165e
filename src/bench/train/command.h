// A model's command of belay-train: its options, its run and its exit status.
#pragma once

#include "bench/train/model.h"
#include "core/command.h"

namespace belay::bench {

void add_model_command(core::Application& application, const KnownModel& model);

}  // namespace belay::bench

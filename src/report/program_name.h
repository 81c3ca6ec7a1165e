// What a run without a name of its own is called.
#pragma once

#include <span>
#include <string>

namespace belay::report {

// The file name of the program or script that a command runs: of `env -u A B=1 python3 -u dir/train.py --x`,
// "train.py"; of `python -m torch.distributed.run t.py`, "torch.distributed.run". Empty for an empty command.
std::string program_name(std::span<const std::string> command);

}  // namespace belay::report

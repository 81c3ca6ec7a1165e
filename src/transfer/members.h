// Where a node stands among those of a step that work together.
#pragma once

#include "core/error.h"
#include "transfer/handshake.h"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::transfer {

struct Members {
    uint32_t rank = 0;
    std::vector<std::string> nodes = {};  // by rank, for messages
    core::Result<std::string> root_address =
        std::string();      // of rank 0 as this node reaches it, or why it has none
    std::string name = {};  // of this start of this step: gives the ports
    std::string secret =
        {};  // known to the tasks of this step alone; the next two as vet::StepContext has them
    std::string offer = {};
    SecretOf secret_of = {};
};

}  // namespace belay::transfer

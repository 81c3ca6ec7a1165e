// Where a node stands among those of a step that work together.
#pragma once

#include "core/error.h"
#include "transfer/handshake.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::transfer {

struct Members {
    uint32_t rank = 0;                    // 0 is the root
    std::vector<std::string> nodes = {};  // by rank
    // Name or address of nodes[0] as this node reaches it; or why it has none, for all but the root.
    core::Result<std::string> root_address = std::string();
    std::string name =
        {};  // of this start of this step, the same on all nodes and no other's: gives the ports
    // Known to the tasks of this step alone. Without one, the root offers it to the others (`offer`), who take it from
    // the offer by `secret_of`; this is empty where `secret` is known.
    std::string secret = {};
    std::string offer = {};
    SecretOf secret_of = {};

    // How all but the root get the secret.
    SecretOf source_of_secret() const { return secret_of ? secret_of : known(secret); }

    // The same nodes for something else than this step's own meeting: other ports.
    Members for_purpose(std::string_view purpose) const {
        Members members = *this;
        members.name += purpose;
        return members;
    }
};

}  // namespace belay::transfer

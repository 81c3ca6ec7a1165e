// Credentials of munge, by which the processes of one user find each other on the nodes of a Slurm cluster.
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <functional>
#include <string>
#include <string_view>

namespace belay::slurm {

// What makes and opens credentials: munge, or in a test something else.
struct Credentials {
    // Encrypts a text; only processes of this user can decrypt it, on nodes that have the cluster's key.
    // Errors: kSystem; kNotFound on a node without munge, kTimedOut if it does not answer.
    std::function<core::Result<std::string>(std::string_view text, const core::Deadline& deadline)> encode;
    // The text. Errors: as encode(); kDenied for what another user encoded, and for what is not a credential
    // of this cluster.
    std::function<core::Result<std::string>(std::string_view credential, const core::Deadline& deadline)>
        decode;
};

// The munge daemon of this node, at its socket; an empty path is the one that Slurm uses (auth_info.h), or else that
// libmunge knows. The library is
// loaded when it is first asked, in a process of its own (core/work.h).
Credentials munge_at(std::string socket);

}  // namespace belay::slurm

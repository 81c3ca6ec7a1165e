// Credentials of munge from all users of the cluster, opened by the daemon of this machine. (slurm/munge.h opens only a
// user's own.)
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <functional>
#include <string>
#include <sys/types.h>

namespace belay::server {

struct OpenedCredential {
    std::string payload;
    uid_t uid = 0;  // of the process that made it
};

// Errors: kSystem; kDenied for what is not a credential of this cluster, is too old, is for another user, or was opened
// before on this machine; kNotFound where munge is missing.
using DecodeMunge = std::function<core::Result<OpenedCredential>(const std::string& credential,
                                                                 const core::Deadline& deadline)>;
// Of a user of the system. Errors: kSystem, kNotFound for one who is not known.
using UserName = std::function<core::Result<std::string>(uid_t uid)>;

// By the library of munge, which is loaded when it is first asked, and the daemon at this socket; empty: the one that the
// library knows. It blocks, for a thread of http::Workers: a daemon that does not answer is given up by the library itself,
// after five tries of two seconds (munge 0.5, MUNGE_SOCKET_TIMEOUT_MSECS); past the deadline it is not asked at all.
DecodeMunge decode_by_munge(std::string socket = {});

// As the system's name service says, in this thread: it blocks for as long as that takes.
core::Result<std::string> name_of_user(uid_t uid);

}  // namespace belay::server

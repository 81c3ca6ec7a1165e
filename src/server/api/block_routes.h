// POST /api/v1/blocks: what agents upload. One piece of a node stream is the body; it is acknowledged when it is on the disk.
#pragma once

#include "http/router.h"
#include "server/blocks/intake.h"

#include <functional>
#include <string_view>

namespace belay::server {

struct BlockReceiver {
    // Stores an upload. Errors: as Intake::accept.
    std::function<core::Result<Accepted>(const Upload& upload)> accept;
    // Whether whoever sends the request may bring blocks of this cluster and node.
    std::function<bool(const http::Request& request, std::string_view cluster, std::string_view node)>
        may_bring;
};

// The status of an answer says the agent what to do (src/agent/shipper.h):
//   200  stored; goes on at next_block
//   400  will never be taken: damaged, foreign, too new; the agent passes over it
//   403  not with this token
//   409  another writer uses the stream's name
//   503, 507  not now: the same again later
http::Route block_route(BlockReceiver receiver);

}  // namespace belay::server

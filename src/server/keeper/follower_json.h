// What is known of followed jobs and nodes as text for the database, and back. Pure.
#pragma once

#include "core/error.h"
#include "server/records/job_follower.h"

#include <string>
#include <string_view>

namespace belay::server {

std::string to_json(const FollowedJob& job);
// Errors: kBadInput for what to_json() would not write.
core::Result<FollowedJob> followed_job_from_json(std::string_view json);

}  // namespace belay::server

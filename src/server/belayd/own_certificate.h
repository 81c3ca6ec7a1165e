// A certificate that belayd makes for itself where a site has given none, so that nothing is sent in the clear.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "http/server/tls_context.h"

#include <filesystem>
#include <span>
#include <string>

namespace belay::server {

// DIRECTORY/certificate.pem and key.pem (0600), made if they are not there: agents and commands are given the first as their authority.
// Errors: kBadInput for a directory of another user's; kSystem.
core::Result<http::TlsFiles> own_certificate(const std::filesystem::path& directory,
                                             std::span<const std::string> names, core::Time now);

}  // namespace belay::server

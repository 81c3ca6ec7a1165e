// Certificates that sign themselves: for servers that were given none, and for tests.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <span>
#include <string>

namespace belay::http {

struct SelfSigned {
    std::string certificate;  // PEM
    std::string key;          // PEM, P-256
};

// `name` is its own; it stands for `hosts`, names and numeric addresses, from an hour before `now` until `length` after it. Errors: kSystem.
core::Result<SelfSigned> make_self_signed(const std::string& name, std::span<const std::string> hosts,
                                          core::Time now, core::Duration length);

}  // namespace belay::http

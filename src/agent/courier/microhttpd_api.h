// libmicrohttpd, loaded when the agent is to be scraped: it brings GnuTLS, which most agents do not need.
#pragma once

#include "core/error.h"

#include <microhttpd.h>

namespace belay::agent {

// The functions we use, each once: the table from which the struct and the loader are made.
// clang-format off: it would indent each line further than the one before.
#define BELAY_MICROHTTPD_FUNCTIONS(X)                                                       \
    X(add_response_header) X(create_response_from_buffer) X(destroy_response)               \
    X(lookup_connection_value) X(queue_response) X(start_daemon) X(stop_daemon)
// clang-format on

struct MicrohttpdApi {
#define BELAY_MICROHTTPD_MEMBER(name) decltype(&::MHD_##name) name;
    BELAY_MICROHTTPD_FUNCTIONS(BELAY_MICROHTTPD_MEMBER)
#undef BELAY_MICROHTTPD_MEMBER
};

// Loads the library (once). Errors: kSystem with what to install.
core::Result<const MicrohttpdApi*> microhttpd_api();

}  // namespace belay::agent

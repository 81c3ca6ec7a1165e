// libcurl, loaded when a request is first made: it brings thirty libraries, and most commands, and the
// recorder of every job, need none of them.
#pragma once

#include "core/error.h"

#include <curl/curl.h>

namespace belay::core::fetch {

// The functions we use, each once: the table from which the struct and the loader are made.
// clang-format off: it would indent each line further than the one before.
#define BELAY_CURL_FUNCTIONS(X)                                                             \
    X(easy_cleanup) X(easy_getinfo) X(easy_init) X(easy_perform) X(easy_reset)              \
    X(easy_setopt) X(easy_strerror) X(free) X(getdate) X(global_init)                       \
    X(slist_append) X(slist_free_all) X(url) X(url_cleanup) X(url_get) X(url_set)
// clang-format on

struct CurlApi {
#define BELAY_CURL_MEMBER(name) decltype(&::curl_##name) name;
    BELAY_CURL_FUNCTIONS(BELAY_CURL_MEMBER)
#undef BELAY_CURL_MEMBER
};

// Loads libcurl and starts it (once). Errors: kSystem with what to install.
Result<const CurlApi*> curl_api();

}  // namespace belay::core::fetch

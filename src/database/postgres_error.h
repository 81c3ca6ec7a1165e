// What PostgreSQL's error codes mean.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

namespace belay::database {

// Of a code of five characters (https://www.postgresql.org/docs/current/errcodes-appendix.html): "WHAT: WHY".
core::Error postgres_error(std::string_view sqlstate, std::string_view what, std::string_view why);

// Whether after this code nothing more comes from the server over this connection.
bool ends_connection(std::string_view sqlstate);

// Why a server did not let us in. libpq gives the code within its words only, where PQERRORS_VERBOSE was asked for:
// "…: FATAL:  28P01: password authentication failed …", then a line of the server's source.
struct Refusal {
    std::string sqlstate;  // empty where no server spoke
    std::string why;       // one line
};
Refusal refusal_of(std::string_view message);

}  // namespace belay::database

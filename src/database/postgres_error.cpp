#include "database/postgres_error.h"

#include "core/text.h"
#include "core/utf8.h"
#include "database/cause.h"

#include <algorithm>
#include <cerrno>

namespace belay::database {

using core::Cause;
using core::Error;
using core::ErrorKind;

namespace {

struct PostgresMeaning {
    std::string_view prefix;  // a code, or the class of codes that it begins
    ErrorKind kind;
    Cause cause;
    bool ends_connection = false;
};

// The first row that fits counts.
constexpr PostgresMeaning kPostgresMeanings[] = {
    {"23505", ErrorKind::kBadInput, kDuplicate},
    {"23503", ErrorKind::kBadInput, kReference},
    {"23001", ErrorKind::kBadInput, kReference},
    {"23", ErrorKind::kBadInput, Cause::kOther},
    {"22", ErrorKind::kBadInput, Cause::kOther},
    {"40001", ErrorKind::kSystem, kConflict},            // serialization_failure
    {"40P01", ErrorKind::kSystem, kConflict},            // deadlock_detected
    {"55P03", ErrorKind::kSystem, kConflict},            // lock_not_available
    {"53100", ErrorKind::kSystem, Cause::kNoSpace},      // disk_full
    {"53300", ErrorKind::kSystem, Cause::kUnreachable},  // too_many_connections
    {"57014", ErrorKind::kSystem, Cause::kTimedOut},     // query_canceled: the site's statement_timeout
    {"57P", ErrorKind::kSystem, Cause::kUnreachable, true},
    {"08", ErrorKind::kSystem, Cause::kUnreachable, true},
    {"25P03", ErrorKind::kSystem, Cause::kTimedOut, true},  // idle_in_transaction_session_timeout
    {"25006", ErrorKind::kSystem, Cause::kDenied},          // read_only_sql_transaction
    {"28", ErrorKind::kSystem, Cause::kDenied},             // who we are
    {"42501", ErrorKind::kSystem, Cause::kDenied},          // insufficient_privilege
    {"3D000", ErrorKind::kSystem, Cause::kNotFound},        // no such database
    {"58P01", ErrorKind::kSystem, Cause::kNotFound},        // a file of the server
};

const PostgresMeaning* meaning_of_state(std::string_view sqlstate) {
    for (const PostgresMeaning& row : kPostgresMeanings)
        if (sqlstate.starts_with(row.prefix)) return &row;
    return nullptr;
}

bool is_sqlstate(std::string_view text) {
    return text.size() == 5 &&
           std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

Error postgres_error(std::string_view sqlstate, std::string_view what, std::string_view why) {
    const PostgresMeaning* meaning = meaning_of_state(sqlstate);
    Error error(meaning != nullptr ? meaning->kind : ErrorKind::kSystem,
                fmt::format("{}: {}", what, core::to_valid_utf8(why)));
    if (sqlstate == "53200") return std::move(error).because_of_errno(ENOMEM);
    if (meaning != nullptr) return std::move(error).because(meaning->cause);
    return error;
}

bool ends_connection(std::string_view sqlstate) {
    const PostgresMeaning* meaning = meaning_of_state(sqlstate);
    return meaning != nullptr && meaning->ends_connection;
}

Refusal refusal_of(std::string_view message) {
    Refusal refusal;
    for (std::string_view line : core::split(message, '\n')) {
        line = core::trim(line);
        // "LOCATION:", in the server's language. Several addresses were tried where there are several lines.
        if (line.empty() || (!refusal.why.empty() && refusal.sqlstate.size() == 5)) continue;
        std::string shown(line);
        for (size_t at = line.find(":  "); at != std::string_view::npos; at = line.find(":  ", at + 1)) {
            std::string_view code = line.substr(at + 3, 5);
            if (!is_sqlstate(code) || !line.substr(at + 8).starts_with(": ")) continue;
            refusal.sqlstate = code;
            shown = fmt::format("{}:  {}", line.substr(0, at), line.substr(at + 10));
            break;
        }
        if (!refusal.why.empty()) refusal.why += "; ";
        refusal.why += shown;
    }
    return refusal;
}

}  // namespace belay::database

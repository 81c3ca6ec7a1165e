// What is wrong with an environment: all of it at once, each with its place, so that one run shows
// everything.
#pragma once

#include "core/error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::env {

enum class Severity { kError, kWarning };

// Where a value stands, and through which files it was inherited (outermost first; one file if it was not).
struct Place {
    core::SourcePosition position;
    std::vector<std::string> chain;
    bool operator==(const Place& other) const {
        return position.file == other.position.file && position.line == other.position.line &&
               position.column == other.position.column;
    }
};

struct Problem {
    Severity severity = Severity::kError;
    std::string code;     // "E_UNDEF", "W_BARE": stable, for scripts
    Place place;          // line 0: of the whole file, or of no file
    size_t length = 1;    // bytes under the caret and its tildes
    std::string message;  // "variable DATA is not set (key mounts[0])"
    std::string hint;     // what to do, "" if nothing helps
    // Where it is not a mistake of whoever wrote the file: what the machine failed at, of kSystem.
    std::optional<core::Error> failure = {};
};

using Problems = std::vector<Problem>;

inline bool has_errors(const Problems& problems) {
    for (const Problem& problem : problems)
        if (problem.severity == Severity::kError) return true;
    return false;
}

// Codes that start with "W_" are warnings, all others errors.
Problem make_problem(std::string_view code, Place place, std::string message, std::string hint = {});
// A file of an environment that was not found or not read: what is not there is a mistake of whoever named
// it (E_NOTFOUND), all else is told as the system said it (E_READ).
Problem file_problem(Place place, const core::Error& why, std::string not_there, std::string hint = {});

//     ngc.toml:4:12: error E_UNDEF: variable DATA is not set (key mounts[0])
//       mounts = ["${DATA}/train:/data"]
//                  ^~~~~~~
//       export DATA, or write ${DATA:-} if it may be empty
//       inherited: job.toml -> ngc.toml
std::string render(const Problem& problem);
std::string render(const Problems& problems);

// Of an error in a list: kSystem where the machine failed at something, else kBadInput.
core::ErrorKind kind_of(const Problems& problems);

// All errors as one, for a caller that needs an environment or nothing: of the kind above. What the machine
// failed at goes before mistakes, with its cause: they may be there only because of it.
core::Error as_error(std::string_view name, const Problems& problems);

}  // namespace belay::env

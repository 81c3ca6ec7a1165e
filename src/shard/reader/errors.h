// The reader for shards throws, as a header for other programs does; Belay's own code returns errors.
#pragma once

#include "core/error.h"
#include "shard/reader/shards.hpp"

#include <cerrno>

namespace belay::shard {

// What the function returns, a Result, or the reader's error. Errors: kBadInput where data are damaged or missing; kSystem; the
// function's own.
template <typename Function>
auto with_reader_errors(const Function& function) -> decltype(function()) {
    try {
        return function();
    } catch (const shards::Error& error) {
        if (error.code() != 0 && error.code() != ENOENT)
            return core::system_error("{}", error.what()).because_of_errno(error.code());
        return core::bad_input("{}", error.what()).hint("look at the data with: belay stage verify DIR");
    }
}

}  // namespace belay::shard

// The same work for many items, in several threads.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <functional>

namespace belay::core {

// Calls work(0) to work(count - 1), each once and in this order, from at most `threads` threads of which the
// caller's is one; from fewer where the system starts no more. After a call that fails or throws none is
// begun. Errors: the one that came first; one because of kCancelled gives way to any other.
Result<> in_parallel(size_t count, size_t threads, const std::function<Result<>(size_t)>& work);

}  // namespace belay::core

// Threads that start together and end before the call returns.
#pragma once

#include "core/error.h"

#include <functional>

namespace belay::kernels {

// CPUs that this process may run on (its affinity mask), at least 1.
int usable_cpus();

// Runs body(0) … body(count - 1) at the same time, the first on the calling thread. Errors: kSystem if a
// thread cannot be started; then none has run.
core::Result<> run_on_threads(int count, const std::function<void(int)>& body);

}  // namespace belay::kernels

// How a program ends: what failed is shown, and its kind is the exit status.
//
//   int main() {
//       return core::run_program("belay", []() -> core::Result<int> { … return 0; });
//   }
#pragma once

#include "core/error.h"

#include <cstdio>
#include <functional>
#include <string_view>

namespace belay::core {

// What the function returns, or why it threw: exceptions of libraries become kSystem.
Result<int> without_exceptions(const std::function<Result<int>()>& function);

// Shows the error as `program` does (Error::render) and gives its exit status.
int show_error(std::string_view program, const Error& error, std::FILE* stream = stderr);

// Runs the function, writes out what it printed, and shows what failed. The exit status is the function's, or
// that of the error's kind.
int run_program(std::string_view program, const std::function<Result<int>()>& function,
                std::FILE* out = stdout, std::FILE* err = stderr);

}  // namespace belay::core

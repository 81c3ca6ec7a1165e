// How a program ends: what failed is shown, and its kind is the exit status.
//
//   int main() {
//       return core::run_program("belay", []() -> core::Result<int> { … return 0; });
//   }
#pragma once

#include "core/error.h"

#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace belay::core {

// Why the function threw; nothing where it did not. Exceptions of libraries become kSystem, with their errno;
// `out` is what it prints to, which fmt::print leaves by an exception too.
std::optional<Error> exception_of(const std::function<void()>& function, std::FILE* out = stdout);

// What the function returns, or why it threw.
template <typename Function>
auto without_exceptions(const Function& function, std::FILE* out = stdout)
    -> std::invoke_result_t<const Function&> {
    std::invoke_result_t<const Function&> result;
    if (auto thrown = exception_of([&] { result = function(); }, out))
        return std::unexpected(std::move(*thrown));
    return result;
}

// Shows the error as `program` does (Error::render) and gives its exit status.
int show_error(std::string_view program, const Error& error, std::FILE* stream = stderr);

// Runs the function, writes out what it printed, and shows what failed. The exit status is the function's, or
// that of the error's kind.
int run_program(std::string_view program, const std::function<Result<int>()>& function,
                std::FILE* out = stdout, std::FILE* err = stderr);

}  // namespace belay::core

#include "env/problem.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>

namespace belay::env {

using core::printable;

Problem make_problem(std::string_view code, Place place, std::string message, std::string hint) {
    return {.severity = code.starts_with("W_") ? Severity::kWarning : Severity::kError,
            .code = std::string(code),
            .place = std::move(place),
            .message = std::move(message),
            .hint = std::move(hint)};
}

std::string render(const Problem& problem) {
    const core::SourcePosition& position = problem.place.position;
    std::string out;
    if (position.line > 0)
        out = fmt::format("{}:{}:{}: ", printable(position.file), position.line, position.column);
    else if (!position.file.empty())
        out = printable(position.file) + ": ";
    out += fmt::format("{} {}: {}\n", problem.severity == Severity::kError ? "error" : "warning",
                       problem.code, printable(problem.message));
    if (position.line > 0 && !position.line_text.empty()) {
        auto [line, mark] = core::mark_line(position, problem.length);
        out += fmt::format("  {}\n  {}\n", line, mark);
    }
    if (!problem.hint.empty()) out += fmt::format("  {}\n", printable(problem.hint));
    if (problem.place.chain.size() > 1)
        out += fmt::format("  inherited: {}\n", printable(core::join(problem.place.chain, " -> ")));
    return out;
}

std::string render(const Problems& problems) {
    std::string out;
    for (const Problem& problem : problems) out += render(problem);
    return out;
}

core::Error as_error(std::string_view name, const Problems& problems) {
    auto first = std::ranges::find(problems, Severity::kError, &Problem::severity);
    auto errors = std::ranges::count(problems, Severity::kError, &Problem::severity);
    if (first == problems.end()) return core::bad_input("environment {} is wrong", name).error();
    core::Failure failure = core::bad_input(
        "{} {}{}", first->code, first->message,
        errors > 1 ? fmt::format(" (and {} more; see belay env validate {})", errors - 1, name) : "");
    if (first->place.position.line > 0) failure = std::move(failure).at(first->place.position);
    if (!first->hint.empty()) failure = std::move(failure).hint(first->hint);
    return std::move(failure).error();
}

}  // namespace belay::env

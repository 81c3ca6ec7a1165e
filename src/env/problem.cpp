#include "env/problem.h"

#include "core/text.h"
#include "core/utf8.h"
#include "env/host.h"

#include <algorithm>

namespace belay::env {

using core::printable;

namespace {

constexpr std::string_view kNotFoundCode = "E_NOTFOUND";

}  // namespace

Problem make_problem(std::string_view code, Place place, std::string message, std::string hint) {
    return {.severity = code.starts_with("W_") ? Severity::kWarning : Severity::kError,
            .code = std::string(code),
            .place = std::move(place),
            .message = std::move(message),
            .hint = std::move(hint)};
}

Problem file_problem(Place place, const core::Error& why, std::string not_there, std::string hint) {
    if (why.cause() == core::Cause::kNotFound)
        return make_problem(kNotFoundCode, std::move(place), std::move(not_there), std::move(hint));
    Problem problem = make_problem("E_READ", std::move(place), why.message(), why.hint_text());
    problem.failure = failure_in(why);
    return problem;
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

core::ErrorKind kind_of(const Problems& problems) {
    const bool failed =
        std::ranges::any_of(problems, [](const Problem& problem) { return problem.failure.has_value(); });
    return failed ? core::ErrorKind::kSystem : core::ErrorKind::kBadInput;
}

core::Error as_error(std::string_view name, const Problems& problems) {
    auto first =
        std::ranges::find_if(problems, [](const Problem& problem) { return problem.failure.has_value(); });
    if (first == problems.end()) first = std::ranges::find(problems, Severity::kError, &Problem::severity);
    auto errors = std::ranges::count(problems, Severity::kError, &Problem::severity);
    if (first == problems.end()) return core::bad_input("environment {} is wrong", name).error();
    core::Error error(
        kind_of(problems),
        fmt::format(
            "{} {}{}", first->code, first->message,
            errors > 1 ? fmt::format(" (and {} more; see belay env validate {})", errors - 1, name) : ""));
    if (first->failure)
        error =
            std::move(error).because_of_errno(first->failure->errno_value()).because(first->failure->cause());
    else if (first->code == kNotFoundCode)
        error = std::move(error).because(core::Cause::kNotFound);
    if (first->place.position.line > 0) error = std::move(error).at(first->place.position);
    return std::move(error).hint(first->hint);
}

}  // namespace belay::env

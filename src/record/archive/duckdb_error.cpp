#include "record/archive/duckdb_error.h"

#include "core/json.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace belay::record {

namespace {

// The names that JSON has for the types by which something is decided here (DuckDB, exception.cpp).
struct TypeName {
    std::string_view name;
    duckdb_error_type type;
};
constexpr TypeName kTypes[] = {
    {"IO", DUCKDB_ERROR_IO},
    {"INTERRUPT", DUCKDB_ERROR_INTERRUPT},
    {"Out of Memory", DUCKDB_ERROR_OUT_OF_MEMORY},
    {"Permission", DUCKDB_ERROR_PERMISSION},
    {"INTERNAL", DUCKDB_ERROR_INTERNAL},
    {"FATAL", DUCKDB_ERROR_FATAL},
};

struct Words {
    duckdb_error_type type = DUCKDB_ERROR_INVALID;
    int errno_value = 0;
    std::string message;
};

// In one line, without the excerpt of the SQL that may follow.
std::string without_excerpt(std::string_view words) {
    std::string message;
    for (std::string_view line : core::split(words, '\n')) {
        if (line.starts_with("LINE ")) break;
        if (!line.empty()) message += (message.empty() ? "" : " ") + std::string(line);
    }
    return message;
}

// Some errors come as words all the same, and those of the parser as JSON behind "Parser Error: ".
Words read_words(duckdb_error_type type, std::string_view words) {
    Words plain{.type = type, .errno_value = 0, .message = without_excerpt(words)};
    const auto json = core::parse_json(words.substr(std::min(words.find('{'), words.size())));
    if (!json.is_object() || !json.contains("exception_type") || !json.contains("exception_message"))
        return plain;
    const auto text_of = [&](const char* key) {
        return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
    };
    const std::string name = text_of("exception_type");
    Words out{.type = type,
              .errno_value = core::parse_number<int>(text_of("errno")).value_or(0),
              .message = fmt::format("{} Error: {}", name, without_excerpt(text_of("exception_message")))};
    const auto* known = std::ranges::find(kTypes, name, &TypeName::name);
    if (known != std::end(kTypes)) out.type = known->type;
    return out;
}

// The names by which files were lent, as paths again.
std::string with_paths(std::string_view message, const LentFiles& lent) {
    std::string out;
    for (size_t at = 0; at < message.size();) {
        const size_t found = std::min(message.find(kDescriptors, at), message.size());
        out += message.substr(at, found - at);
        at = found;
        if (at == message.size()) break;
        const size_t digits = at + kDescriptors.size();
        const size_t end = std::min(message.find_first_not_of("0123456789", digits), message.size());
        const auto number = core::parse_number<int>(message.substr(digits, end - digits));
        const auto file = number ? lent.find(*number) : lent.end();
        out += file != lent.end() ? std::string_view(file->second) : message.substr(at, end - at);
        at = end;
    }
    return out;
}

bool is_limited(Statement statement) {
    return statement == Statement::kQuery || statement == Statement::kOwnQuery;
}

core::Error out_of_memory(std::string message, Statement statement, const QueryLimits& limits) {
    if (is_limited(statement)) return too_large(statement, limits);
    core::Error error = core::Error(core::ErrorKind::kSystem, std::move(message)).because_of_errno(ENOMEM);
    if (statement == Statement::kScan) return error;
    return std::move(error).hint(limits.memory
                                     ? "raise the setting query.memory"
                                     : "run it where there is more memory, or ask Slurm for more (--mem)");
}

}  // namespace

core::Error duckdb_error(duckdb_error_type type, const char* words, Statement statement,
                         const QueryLimits& limits, const LentFiles& lent) {
    const Words said = read_words(type, words != nullptr ? words : "no reason given");
    std::string message = with_paths(said.message, lent);
    const auto mistake = statement == Statement::kOwn ? core::ErrorKind::kSystem : core::ErrorKind::kBadInput;
    switch (said.type) {
        case DUCKDB_ERROR_OUT_OF_MEMORY:
            return out_of_memory(std::move(message), statement, limits);
        case DUCKDB_ERROR_INTERRUPT:
            if (is_limited(statement)) return too_slow(statement, limits);
            return core::Error(core::ErrorKind::kSystem, std::move(message)).because(core::Cause::kCancelled);
        case DUCKDB_ERROR_IO:
            // Without an errno the file says what cannot be: it is damaged, or of another kind.
            if (said.errno_value == 0) break;
            return core::Error(core::ErrorKind::kSystem, std::move(message))
                .because_of_errno(said.errno_value);
        case DUCKDB_ERROR_PERMISSION:
            return core::Error(mistake, std::move(message)).because(core::Cause::kDenied);
        case DUCKDB_ERROR_INTERNAL:
        case DUCKDB_ERROR_FATAL:
            return {core::ErrorKind::kSystem, std::move(message)};
        default:
            break;
    }
    return {mistake, std::move(message)};
}

}  // namespace belay::record

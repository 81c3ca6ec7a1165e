// The target of a request, "/jobs/17/report?from=2&from=3", as decoded values.
#pragma once

#include "http/refusal.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

inline constexpr size_t kMostSegments = 64;
inline constexpr size_t kMostQueryParameters = 256;

// "%41" → "A"; nothing where % is not followed by two hex digits. `plus_is_blank`: as forms encode blanks
// (https://url.spec.whatwg.org/#urlencoded-parsing).
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);

struct QueryParameter {
    std::string name;
    std::string value;
    bool operator==(const QueryParameter&) const = default;
};

// In the order in which they stand there; a name may be there several times.
class Query {
  public:
    Query() = default;
    explicit Query(std::vector<QueryParameter> parameters) : parameters_(std::move(parameters)) {}

    // Nothing where it is missing. Errors: 400 where it is there twice. Points into this object.
    Checked<std::optional<std::string_view>> one(std::string_view name) const;
    // Errors: 400, also for what is not a number.
    Checked<std::optional<uint64_t>> number(std::string_view name) const;
    std::vector<std::string_view> all(std::string_view name) const;
    const std::vector<QueryParameter>& parameters() const { return parameters_; }

  private:
    std::vector<QueryParameter> parameters_;
};

struct Target {
    std::string path;                   // as it was sent, without the query; ASCII
    std::vector<std::string> segments;  // decoded, none empty; none for "/"
    bool ends_with_slash = false;       // "/jobs/", but not "/"
    Query query;
};

// "a=1&b=x+y". Errors: 400 for escapes that are wrong, and what is not UTF-8 or holds a NUL once decoded.
Checked<Query> parse_query(std::string_view query);

// Errors: 400 for what parse_query refuses, other characters than RFC 3986 has in a path, empty segments, and segments that are
// "." or ".." or hold a slash, a backslash or control characters once decoded.
Checked<Target> parse_target(std::string_view target);

}  // namespace belay::http

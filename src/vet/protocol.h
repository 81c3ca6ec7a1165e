// A vetting protocol: the checks that every node of a step has to pass, read from YAML.
//
//   name: before-training                 # Belay's own form: `checks`, one entry per check
//   checks:
//     - type: mem.free
//       min: 64GiB
//     - type: fs.usage
//       path: /scratch
//       severity: warning
//
// A file with `evals` instead is one of vetnode's, whose three generations are accepted
// (docs/formats/vetting-protocol.md).
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "core/units.h"
#include "vet/catalogue.h"
#include "vet/verdict.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::vet {

using TextList = std::vector<std::string>;
using Variables = std::map<std::string, std::optional<std::string>>;

// Sizes in bytes; bandwidths and durations in their types.
using ParameterValue = std::variant<std::string, int64_t, double, bool, core::Duration, core::ByteSize,
                                    core::Bandwidth, TextList, Variables>;

struct Check {
    std::string name;
    const CheckType* type = nullptr;
    std::string written_type;  // as it stands in the file
    Severity severity = Severity::kEssential;
    core::Duration timeout{};
    std::map<std::string, ParameterValue, std::less<>> parameters =
        {};  // defaults filled in; unset ones absent
    int line = 0;

    // The value, or nothing if it is unset. A parameter of another type is a mistake in the program.
    template <typename Value>
    std::optional<Value> get(std::string_view parameter) const {
        auto it = parameters.find(parameter);
        if (it == parameters.end()) return std::nullopt;
        return std::get<Value>(it->second);
    }
};

struct Protocol {
    std::string name;
    std::string file;
    std::vector<Check> checks = {};
    std::optional<core::Duration> timeout = {};  // for all checks together
    // What was accepted but is probably not what was meant, with its place.
    std::vector<core::Error> warnings = {};
    uint64_t digest = 0;  // of the text: nodes compare it before they compare results
};

inline constexpr size_t kMaxChecksPerProtocol = 1000;

// What is wrong with a protocol, in the order of the file: at most one for each check. Never empty.
using Mistakes = std::vector<core::Error>;

// A file of vetnode's without a name has `fallback_name`, if that is not empty: vetnode takes it from the
// variable NAME. Errors: kBadInput with file, line and column, and the nearest right word for a wrong one.
// Nothing is skipped.
std::expected<Protocol, Mistakes> read_protocol(std::string_view text, const std::string& file,
                                                std::string_view fallback_name = {});
// Errors: the first mistake.
core::Result<Protocol> parse_protocol(std::string_view text, const std::string& file,
                                      std::string_view fallback_name = {});
// The value of NAME in this process.
std::string name_of_environment();
// Errors: also, with the cause, kBadInput for a file that is not there and kSystem for one that cannot be
// read.
std::expected<Protocol, Mistakes> load_protocol(const std::string& path);

// "4.00 GiB", "85 %", "performance": a parameter for people.
std::string to_text(const ParameterValue& value);

}  // namespace belay::vet

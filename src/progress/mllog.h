// MLLOG: the log lines of MLPerf. One line is ":::MLLOG " and a JSON object (mlcommons/logging,
// mllog/mllog.py):
//   :::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "POINT_IN_TIME", "key": "seed",
//   "value": 1,
//             "metadata": {"file": "train.py", "lineno": 7}}
#pragma once

#include "core/error.h"
#include "core/python_json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::progress {

using Json = core::OrderedJson;

inline constexpr std::string_view kMllogToken = ":::MLLOG ";
inline constexpr std::string_view kPointInTime = "POINT_IN_TIME";
inline constexpr std::string_view kIntervalStart = "INTERVAL_START";
inline constexpr std::string_view kIntervalEnd = "INTERVAL_END";

// One line as read. A member that is absent, or of a type that cannot stand there, is nothing; a value of
// null is a value.
struct MllogEvent {
    std::optional<double> time_ms;  // milliseconds since 1970 UTC; also from a string with a number in it
    std::string event_type;         // empty if absent
    std::optional<std::string> key;
    std::optional<Json> value;
    std::optional<Json> metadata;  // an object where the writer keeps to the format, but anything may come
};

// The line without its end, byte for byte as mllog writes it. `metadata` is an object; `file` and `lineno`
// come first in it by custom.
std::string format_mllog_line(int64_t time_ms, std::string_view event_type, std::string_view key,
                              const Json& value, const Json& metadata, std::string_view name_space = "");

// Nothing if the line has no token. Text up to the last token (such as "0: " of srun --label) is dropped,
// blanks at the ends too. Errors: kBadInput if the rest is not one JSON object.
core::Result<std::optional<MllogEvent>> parse_mllog_line(std::string_view line);

// A line of a log that has the token. `number` counts only such lines, from 1.
struct MllogLine {
    int number = 0;
    core::Result<MllogEvent> event;
};

// The token lines of a whole log, in order. \n, \r\n and \r end a line.
std::vector<MllogLine> parse_mllog(std::string_view log);

}  // namespace belay::progress

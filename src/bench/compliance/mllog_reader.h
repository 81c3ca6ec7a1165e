// The lines of a whole MLLOG file, as the official parser takes them (mlcommons/logging 4.1.59,
// mlp_parser/ruleset_100.py, which rounds 1.0 to 3.0 share):
// - the file is Latin-1; \n, \r\n and \r end a line; a line counts if it holds ":::MLLOG ", and what stands before
//   the last one of these is dropped, and blanks at the end;
// - the rest is one JSON object as Python reads it, with time_ms, a number or a text with one, key, value and
//   metadata. What else is in it is not used.
//
// All lines are parsed, by simdjson where they are ASCII and it accepts them, else by python_reader.h; only events
// whose key somebody asks for are kept.
#pragma once

#include "bench/compliance/key_set.h"
#include "bench/compliance/python_value.h"

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct LogEvent {
    int64_t line = 0;    // among those that hold the token, from 1
    double time_ms = 0;  // since 1970; may be anything that float() takes, also NaN
    int key = 0;         // in the set of keys
    PythonValue value, metadata;
};

// A line that is not what it should be; the official parser fails or crashes there.
struct LogProblem {
    int64_t line = 0;
    std::string text;
};

struct LogLines {
    std::vector<LogEvent> events;  // whose keys are known, in the order of the file
    int64_t lines = 0;             // all that hold the token
    int64_t parsed_lines = 0;      // those that are as they should be
    int64_t bad_lines = 0;
    std::vector<LogProblem> problems;                            // the first kMostProblems of the bad lines
    std::unique_ptr<std::pmr::monotonic_buffer_resource> arena;  // of the values
};

inline constexpr size_t kMostProblems = 20;

enum class ReadingWay {
    kFast,
    kExact,  // without simdjson: for tests that both ways say the same
};

// Never fails. `bytes` must outlive what is returned.
LogLines read_log(std::string_view bytes, const KeySet& keys, ReadingWay way = ReadingWay::kFast);

}  // namespace belay::bench

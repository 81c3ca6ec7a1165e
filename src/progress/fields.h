// Numbers on their way from a name in a log line to a field of a ProgressEvent.
#pragma once

#include "progress/progress_event.h"

#include <optional>
#include <string_view>
#include <variant>

namespace belay::progress {

using RealField = std::optional<double> ProgressEvent::*;
using IntegerField = std::optional<int64_t> ProgressEvent::*;

// Where the number of that name goes, and how it becomes the field's unit.
struct Field {
    std::string_view name;
    std::variant<RealField, IntegerField> target;
    double (*convert)(double) = nullptr;
};

// Puts the number into the field, unless it has one already: the first that is told counts. A number that is
// not finite is noted in `text`; one that is not whole, or beyond 2^53, goes into no integer field. Returns
// whether anything was taken.
bool set_field(ProgressEvent& event, const Field& field, double number);

// A number as programs print it: 0.5, 1e-3, +1.5, 10,050, nan, -inf. Commas must stand between groups of
// three digits. Nothing if it is something else.
std::optional<double> parse_printed_number(std::string_view text);

}  // namespace belay::progress

// Something that happened at one moment: a row of the table `event`. Rules and reports read its columns; the
// message is for people.
//
//   add_event(rows, now, "n1", {.kind = "xid", .severity = "critical", .source = "nvml", .device = uuid,
//                               .code = 79, .value = 1, .message = "XID 79 of …"});
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "schema/event_kinds.h"
#include "stream/batch.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::stream {

inline constexpr std::string_view kRecorderSource = "recorder";

struct Event {
    schema::EventKind kind;
    std::string_view severity;  // info, warning or critical
    std::string_view source = kRecorderSource;
    std::optional<int64_t> task = {};
    std::optional<std::string> subject = {};
    std::optional<std::string> device = {};
    std::optional<int64_t> code = {};
    std::optional<double> value = {};
    std::string message;
};

// For Event::code: the error number of the system call that failed; nothing where none did.
std::optional<int64_t> error_number(const core::Error& error);

void add_event(Batch& rows, core::Time time, std::string_view node, const Event& event);

}  // namespace belay::stream

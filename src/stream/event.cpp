#include "stream/event.h"

#include "schema/tables/event.h"

namespace belay::stream {

std::optional<int64_t> error_number(const core::Error& error) {
    return error.errno_value() != 0 ? std::optional<int64_t>(error.errno_value()) : std::nullopt;
}

void add_event(Batch& rows, core::Time time, std::string_view node, const Event& event) {
    rows.add_row(time, node);
    rows.set(column(schema::kEvent, "task"), event.task);
    rows.set(column(schema::kEvent, "kind"), event.kind.name());
    rows.set(column(schema::kEvent, "severity"), event.severity);
    rows.set(column(schema::kEvent, "source"), event.source);
    rows.set(column(schema::kEvent, "subject"), event.subject);
    rows.set(column(schema::kEvent, "device"), event.device);
    rows.set(column(schema::kEvent, "code"), event.code);
    rows.set(column(schema::kEvent, "value"), event.value);
    rows.set(column(schema::kEvent, "message"), event.message);
}

}  // namespace belay::stream

#include "observe/output_tail_rows.h"

#include "schema/tables/output_tail.h"

namespace belay::observe {

using schema::column;
using schema::kOutputTail;

void add_output_tail(stream::Batch& rows, const progress::OutputTail& tail, std::string_view stream,
                     core::Time time, const Placement& placement) {
    int64_t number = 0;
    for (const std::string& line : tail.lines()) {
        rows.add_row(time, placement.node);
        rows.set(column(kOutputTail, "task"), placement.task);
        rows.set(column(kOutputTail, "stream"), stream);
        rows.set(column(kOutputTail, "line"), ++number);
        rows.set(column(kOutputTail, "text"), line);
    }
}

}  // namespace belay::observe

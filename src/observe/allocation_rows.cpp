#include "observe/allocation_rows.h"

#include "schema/tables/allocation.h"

namespace belay::observe {

using schema::column;
using schema::kAllocation;

void add_allocation(stream::Batch& rows, core::Time now, std::string_view node, const StepShare& share,
                    const std::optional<std::string>& device, std::optional<core::Time> until) {
    rows.add_row(now, node);
    rows.set(column(kAllocation, "job_id"), share.job_id);
    rows.set(column(kAllocation, "step_id"), share.step_id);
    rows.set(column(kAllocation, "restart"), share.restart);
    rows.set(column(kAllocation, "device"), device);
    rows.set(column(kAllocation, "first_task"), share.first_task);
    rows.set(column(kAllocation, "tasks"), share.tasks);
    rows.set(column(kAllocation, "cpus"), share.cpus);
    rows.set(column(kAllocation, "t0"), share.from);
    rows.set(column(kAllocation, "t1"), until);
}

}  // namespace belay::observe

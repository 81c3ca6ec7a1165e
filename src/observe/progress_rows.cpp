#include "observe/progress_rows.h"

#include "schema/tables/progress.h"

namespace belay::observe {

using schema::column;
using schema::kProgress;

void add_progress_row(stream::Batch& rows, const progress::ProgressEvent& event, core::Time now,
                      std::string_view node, std::optional<int64_t> task) {
    rows.add_row(event.time.value_or(now), node);
    rows.set(column(kProgress, "task"), task);
    rows.set(column(kProgress, "source"), event.source);
    rows.set(column(kProgress, "kind"), event.kind);
    rows.set(column(kProgress, "key"), event.key);
    rows.set(column(kProgress, "epoch"), event.epoch);
    rows.set(column(kProgress, "step"), event.step);
    rows.set(column(kProgress, "total_steps"), event.total_steps);
    rows.set(column(kProgress, "loss"), event.loss);
    rows.set(column(kProgress, "metric"), event.metric);
    rows.set(column(kProgress, "learning_rate"), event.learning_rate);
    rows.set(column(kProgress, "gradient_norm"), event.gradient_norm);
    rows.set(column(kProgress, "step_seconds"), event.step_seconds);
    rows.set(column(kProgress, "data_wait_seconds"), event.data_wait_seconds);
    rows.set(column(kProgress, "exposed_communication_seconds"), event.exposed_communication_seconds);
    rows.set(column(kProgress, "samples_per_second"), event.samples_per_second);
    rows.set(column(kProgress, "flops_per_second"), event.flops_per_second);
    rows.set(column(kProgress, "fp64_flops_per_second"), event.fp64_flops_per_second);
    rows.set(column(kProgress, "fp32_flops_per_second"), event.fp32_flops_per_second);
    rows.set(column(kProgress, "memory_bytes_per_second"), event.memory_bytes_per_second);
    rows.set(column(kProgress, "tokens_per_second"), event.tokens_per_second);
    rows.set(column(kProgress, "samples"), event.samples);
    rows.set(column(kProgress, "tokens"), event.tokens);
    rows.set(column(kProgress, "value"), event.value);
    rows.set(column(kProgress, "text"), event.text);
}

}  // namespace belay::observe

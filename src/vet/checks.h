// The measurements behind the rows of the catalogue. Each reads the machine and hands what it read to a pure
// function of facts; both are tested.
#pragma once

#include "vet/catalogue.h"
#include "vet/protocol.h"

namespace belay::vet {

Outcome measure_memory_free(const Check& check, const NodeView& node);
Outcome measure_mount(const Check& check, const NodeView& node);
Outcome measure_usage(const Check& check, const NodeView& node);
Outcome measure_write(const Check& check, const NodeView& node);
Outcome measure_env_var(const Check& check, const NodeView& node);
Outcome measure_tcp(const Check& check, const NodeView& node);
Outcome measure_cpu_count(const Check& check, const NodeView& node);
Outcome measure_cpu_frequency(const Check& check, const NodeView& node);
Outcome measure_governor(const Check& check, const NodeView& node);
Outcome measure_stream(const Check& check, const NodeView& node);
Outcome measure_gemm(const Check& check, const NodeView& node);
Outcome measure_single_gemm(const Check& check, const NodeView& node);
Outcome measure_kmsg(const Check& check, const NodeView& node);
Outcome measure_xid(const Check& check, const NodeView& node);
Outcome measure_waiting(const Check& check, const NodeView& node);
Outcome measure_zombies(const Check& check, const NodeView& node);
Outcome measure_gpu_count(const Check& check, const NodeView& node);
Outcome measure_gpu_temperature(const Check& check, const NodeView& node);
Outcome measure_gpu_margin(const Check& check, const NodeView& node);
Outcome measure_gpu_memory(const Check& check, const NodeView& node);
Outcome measure_gpu_processes(const Check& check, const NodeView& node);
Outcome measure_gpu_clocks(const Check& check, const NodeView& node);
Outcome measure_gpu_slowdown(const Check& check, const NodeView& node);
Outcome measure_gpu_ecc(const Check& check, const NodeView& node);
Outcome measure_gpu_remap(const Check& check, const NodeView& node);
Outcome measure_gpu_recovery(const Check& check, const NodeView& node);
Outcome measure_gpu_links(const Check& check, const NodeView& node);
Outcome measure_gpu_pcie(const Check& check, const NodeView& node);
Outcome measure_gpu_eval(const Check& check, const NodeView& node);

// Why it could not be measured.
inline Outcome error_outcome(core::Error failure) {
    return {.status = Status::kError, .reason = std::move(failure)};
}
inline Outcome error_outcome(core::Failure failure) {
    return error_outcome(std::move(failure).error());
}
inline Outcome unsupported_outcome(Reason reason) {
    return {.status = Status::kUnsupported, .reason = std::move(reason)};
}
// A failure as reason of a check that did not pass: it was measured that something fails.
inline Outcome pass_or_fail(bool passed, Reason reason = {}) {
    return {.status = passed ? Status::kPass : Status::kFail, .reason = std::move(reason)};
}

}  // namespace belay::vet

// A digest as tables for SQL: what rules of findings ask instead of millions of samples.
#pragma once

#include "schema/tables/gpu_digest.h"
#include "score/digest.h"
#include "stream/batch.h"

#include <vector>

namespace belay::score {

inline constexpr size_t kFirstQuantity = std::size(schema::kGpuSeriesColumns);  // of gpu_series
inline constexpr size_t kFirstJobColumn = 2;  // of job_series, from which on they are these fields
inline constexpr std::array kJobFields = {
    &JobWindow::observed, &JobWindow::saturated, &JobWindow::engine,      &JobWindow::sm,
    &JobWindow::tensor,   &JobWindow::dram,      &JobWindow::power_watts, &JobWindow::link_bytes_per_second};

// gpu_summary (a row per device), gpu_series (a row per device and bucket in which something was sampled; its
// time is the start of the bucket) and job_series (a row per second in which something was sampled). A sealed
// record keeps them beside its own (digest_store.h). Empty for an empty digest.
std::vector<stream::Batch> digest_tables(const Digest& digest);

}  // namespace belay::score

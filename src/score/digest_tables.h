// A digest as tables for SQL: what rules of findings ask instead of millions of samples.
#pragma once

#include "record/batch.h"
#include "score/digest.h"

#include <vector>

namespace belay::score {

// gpu_summary (a row per device), gpu_series (a row per device and bucket in which something was sampled; its
// time is the start of the bucket) and job_series (a row per second in which something was sampled). They are
// declared as the tables of a record are, but belong to none. Empty for an empty digest.
const record::Table& gpu_summary_table();
const record::Table& gpu_series_table();
const record::Table& job_series_table();
std::vector<record::Batch> digest_tables(const Digest& digest);

}  // namespace belay::score

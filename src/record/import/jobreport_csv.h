// step_S/proc_R.csv of jobreport: one row per GPU, written when the job ended.
#pragma once

#include "core/time.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::record {

// NaN is missing.
struct JobreportRow {
    int64_t job_id = 0;
    int64_t step_id = 0;
    std::string user;
    std::string account;
    int64_t nodes = 0;
    std::string host;
    int64_t gpu = 0;
    core::Time start;
    core::Time end;
    double power_minimum = std::numeric_limits<double>::quiet_NaN();  // W
    double power_maximum = std::numeric_limits<double>::quiet_NaN();
    double power_average = std::numeric_limits<double>::quiet_NaN();
    double sm_minimum = std::numeric_limits<double>::quiet_NaN();  // %, as nvidia-smi's utilization
    double sm_maximum = std::numeric_limits<double>::quiet_NaN();
    double sm_average = std::numeric_limits<double>::quiet_NaN();
    double memory_minimum = std::numeric_limits<double>::quiet_NaN();  // %, of the bandwidth
    double memory_maximum = std::numeric_limits<double>::quiet_NaN();
    double memory_average = std::numeric_limits<double>::quiet_NaN();
    double most_allocated_bytes = std::numeric_limits<double>::quiet_NaN();
};

struct JobreportFile {
    std::vector<JobreportRow> rows;
    std::vector<int64_t> unreadable_lines;  // by number
};

// Nothing if the first line is not a header of jobreport: without jobId, host, gpuId, startTime and endTime.
std::optional<JobreportFile> parse_jobreport(std::string_view text);

// One line for a person: what the file says of the GPU.
std::string summary_of(const JobreportRow& row);

}  // namespace belay::record

// What the agent says about itself, beside the node: as metrics.
#pragma once

#include "agent/courier/backlog.h"
#include "core/time.h"
#include "metrics/model.h"
#include "metrics/remote/sender.h"
#include "stream/batch.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::agent {

// Of what is brought to belayd.
struct DeliveryCounts {
    uint64_t pieces = 0;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    uint64_t failures = 0;        // tries that got no verdict
    uint64_t refused_pieces = 0;  // that belayd will never take
    uint64_t gone_blocks = 0;     // that left the spool before they were sent
    std::optional<bool> is_up;    // whether the last try got a verdict; nothing before the first
    bool operator==(const DeliveryCounts&) const = default;
};

// Samples of one table.
struct SampleCounts {
    uint64_t received = 0;
    uint64_t missed = 0;
};

struct AgentFacts {
    std::string node;
    std::string version;
    core::Time began;                             // when the agent was started
    std::map<std::string, SampleCounts> samples;  // by table
    std::optional<core::Time> newest_row;
    std::optional<SpoolUse> spool;
    uint64_t restarts = 0;  // of the courier
    uint64_t scrapes = 0;
    size_t series = 0;
    uint64_t left_out_values = 0;
    std::optional<DeliveryCounts> delivery;
    std::optional<metrics::remote::SenderCounts> remote_write;
};

// Adds up the rows of the table `coverage`; other rows change nothing but the time of the newest.
void count_rows(AgentFacts& facts, const stream::Batch& rows);

// What is known, without times.
std::vector<metrics::Family> families_of(const AgentFacts& facts, core::Time now);

}  // namespace belay::agent

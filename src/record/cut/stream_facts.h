// What a cut must know of a stream before it cuts: who had which part of the node, which samples were due and
// taken, and which GPUs there are. Made of its batches, one after the other.
#pragma once

#include "core/time.h"
#include "schema/schema.h"
#include "stream/batch.h"
#include "stream/segment.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

// A row of `allocation`.
struct Share {
    std::optional<int64_t> job_id;
    std::optional<std::string> step_id;
    int64_t restart = 0;
    std::optional<std::string> device;  // nothing: the node
    std::optional<int64_t> first_task, tasks, cpus;
    core::Time from;
    std::optional<core::Time> to;  // nothing while it is not known
};

// Samples of a table that came due from `start` to `end`, the last of them at the end.
struct CountedSpan {
    core::Time start, end;
    int64_t expected = 0;
    int64_t received = 0;
};

struct StreamFacts {
    explicit StreamFacts(stream::Session of) : session(std::move(of)), last(session.start) {}
    void add(const stream::Batch& batch);

    stream::Session session;
    core::Time last;          // of all rows
    bool is_damaged = false;  // a part of it could not be read: its counts say nothing
    std::vector<Share> shares;
    std::map<const schema::Table*, std::vector<CountedSpan>> counted;  // of periodic tables
    std::map<const schema::Table*, std::vector<core::Time>> sampled;   // likewise: when there are rows
    std::map<std::string, stream::Batch> devices;                      // the row of each in gpu_device
};

}  // namespace belay::record

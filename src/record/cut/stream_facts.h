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

// Nothing of Belay was there before, nor will be after: what a row or a session says of another time is not
// believed. Within it, no sum of times and intervals overflows.
bool is_possible(core::Time time);
// Why no agent can have written it: its node's name, its times or its periods; nothing where one can.
std::optional<std::string> why_impossible(const stream::Session& session);

// What the facts of all streams of a cut may take in memory: a floor, and as much as their blocks took in the
// files. Whatever agents write takes less than its blocks; a block that is packed well could say of a hundred
// thousand devices.
class FactsRoom {
  public:
    explicit FactsRoom(uint64_t floor = uint64_t{256} << 20) : left_(floor) {}
    void add(uint64_t stored_bytes) { left_ += stored_bytes; }
    // False where it does not fit.
    bool take(uint64_t bytes) {
        const bool fits = bytes <= left_;
        left_ -= fits ? bytes : 0;
        return fits;
    }

  private:
    uint64_t left_;
};

struct StreamFacts {
    explicit StreamFacts(stream::Session of) : session(std::move(of)), last(session.start) {}
    void add(const stream::Batch& batch, FactsRoom& room);

    stream::Session session;
    core::Time last;           // of all rows
    bool is_damaged = false;   // a part of it could not be read: its counts say nothing
    bool lacked_room = false;  // not all that it says is here
    uint64_t impossible = 0;   // rows of times that cannot be
    std::vector<Share> shares;
    std::map<const schema::Table*, std::vector<CountedSpan>> counted;  // of periodic tables
    std::map<const schema::Table*, std::vector<core::Time>> sampled;   // likewise: when there are rows
    std::map<std::string, stream::Batch> devices;                      // the row of each in gpu_device
};

}  // namespace belay::record

// Which blocks of a stream are stored, as runs of their numbers: one run as a rule, several where blocks came out
// of order or have not come. Pure.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Numbers from `first` up to, and without, `end`.
struct BlockRun {
    uint64_t first = 0;
    uint64_t end = 0;

    bool is_empty() const { return first >= end; }
    uint64_t size() const { return is_empty() ? 0 : end - first; }
    bool operator==(const BlockRun&) const = default;
};

class Received {
  public:
    // A stream with more gaps than this loses its oldest: what comes late for it is refused as a duplicate.
    static constexpr size_t kMaxRuns = 256;

    // The numbers of `run` that are not there, in order.
    std::vector<BlockRun> missing_in(BlockRun run) const;
    // From now on they are there.
    void add(BlockRun run);

    // Behind the highest number; 0 where there is none.
    uint64_t end() const { return runs_.empty() ? 0 : runs_.back().end; }
    // Between the runs, and before the first one from `begin` on.
    std::vector<BlockRun> gaps(uint64_t begin = 0) const;
    // In order, none of them empty, none touching the next.
    const std::vector<BlockRun>& runs() const { return runs_; }
    bool operator==(const Received&) const = default;

  private:
    std::vector<BlockRun> runs_;
};

// "0-120,125-130"; empty for none. Equal sets have equal texts.
std::string to_text(const Received& received);
// Errors: kBadInput for anything that to_text() would not write.
core::Result<Received> parse_received(std::string_view text);

}  // namespace belay::server

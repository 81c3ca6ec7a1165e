// Numbers of blocks as runs. As Received (blocks/received.h), but what is forgotten here is forgotten as missing: by these runs it
// is decided which stored block is a duplicate and may go. Pure.
#pragma once

#include "core/error.h"
#include "server/blocks/received.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

class BlockRuns {
  public:
    // Beyond them the lowest half is forgotten. Two belayd that share the uploads of one agent leave a run for each upload
    // until both have been packed.
    static constexpr size_t kMaxRuns = 65'536;

    void add(BlockRun run);
    void add(const BlockRuns& other);
    // The numbers of `run` that are not there, in order.
    std::vector<BlockRun> missing_in(BlockRun run) const;

    // In order, none of them empty, none touching the next.
    const std::vector<BlockRun>& runs() const { return runs_; }
    bool is_empty() const { return runs_.empty(); }
    uint64_t end() const { return runs_.empty() ? 0 : runs_.back().end; }
    // Of all runs together.
    uint64_t count() const;
    bool operator==(const BlockRuns&) const = default;

  private:
    std::vector<BlockRun> runs_;
};

// "0-120,125-130", ends not included; empty for none.
std::string to_text(const BlockRuns& runs);
// Errors: kBadInput for anything that to_text() would not write.
core::Result<BlockRuns> parse_block_runs(std::string_view text);

}  // namespace belay::server

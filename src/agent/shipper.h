// Brings what lies in a spool to belayd: every stream in the order of its blocks, from where belayd has it on, and
// again until it was acknowledged.
//
//   BELAY_TRY(shipper, Shipper::open("/var/spool/belay", send, random));
//   for (;;) { BELAY_TRY(round, shipper.round()); wait(round.wait); }
//
// What was acknowledged is kept in the spool's file "acknowledged", so an agent that is started again sends nothing
// twice; without that file belayd says what it has. Nothing is removed from the spool: its writer does that for want of room,
// and `gone_blocks` counts what went before it was sent. Not thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "stream/cursor.h"
#include "stream/spool_reader.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::agent {

// What belayd said to a piece.
struct ShipAnswer {
    enum class Verdict {
        kStored,   // all before `next_block` is on its disk
        kLater,    // it has no room or no time, or cannot be reached: the same again after a while
        kRefused,  // it will never take this piece
        kNotOurs,  // another writer uses the stream's name: it takes nothing more of this stream
    };
    Verdict verdict = Verdict::kLater;
    uint64_t next_block = 0;
    core::Duration after{};  // at least, before it is tried again
    std::string why = {};    // for people
};
using ShipPiece = std::function<ShipAnswer(std::string_view piece)>;

struct ShipOptions {
    size_t piece_bytes = size_t{4} << 20;
    size_t most_pieces = 16;                               // in a round
    core::Duration first_delay = std::chrono::seconds(1);  // after a failure; doubled with each
    core::Duration longest_delay = std::chrono::seconds(60);
    core::Duration when_idle = std::chrono::seconds(1);
};

// What a round did.
struct ShipRound {
    uint64_t pieces = 0;
    uint64_t bytes = 0;
    uint64_t refused_pieces = 0;     // passed over
    uint64_t gone_blocks = 0;        // that the spool lost before they were sent
    std::vector<stream::Lost> lost;  // damage in the spool
    std::string why = {};            // the last trouble, in words; empty: none
    core::Duration wait{};           // before the next round
};

class Shipper {
  public:
    // `random` gives numbers from 0 to 1: a thousand agents must not come back at once. Errors: kBadInput for a spool of
    // another user's; kSystem.
    static core::Result<Shipper> open(const std::filesystem::path& spool, ShipPiece send,
                                      std::function<double()> random, const ShipOptions& options = {});
    // Errors: kSystem, for a spool that cannot be read.
    core::Result<ShipRound> round();
    // Of each stream in the spool, the number of the block that is sent next.
    const std::map<stream::StreamId, uint64_t>& acknowledged() const { return next_; }

  private:
    Shipper(core::Directory directory, stream::SpoolReader reader, ShipPiece send,
            std::function<double()> random, const ShipOptions& options)
        : directory_(std::move(directory)),
          reader_(std::move(reader)),
          send_(std::move(send)),
          random_(std::move(random)),
          options_(options) {}
    core::Result<> remember();
    void recall(std::string_view text);
    core::Duration delay_after_failure(core::Duration at_least);
    // False where the round ends.
    bool take_answer(const ShipAnswer& answer, const stream::Piece& piece, ShipRound& round);

    core::Directory directory_;
    stream::SpoolReader reader_;
    ShipPiece send_;
    std::function<double()> random_;
    ShipOptions options_;
    std::map<stream::StreamId, uint64_t> next_;  // block of each stream to be sent
    std::set<stream::StreamId> not_ours_;
    int failures_ = 0;  // one after the other
};

}  // namespace belay::agent

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
    uint64_t blocks = 0;                   // of the piece, as belayd counted them
    core::Duration after{};                // at least, before it is tried again
    std::string why = {};                  // for people
    std::optional<int64_t> errno_value{};  // where a system call failed
};
using ShipPiece = std::function<ShipAnswer(const stream::Piece& piece)>;

struct ShipOptions {
    size_t piece_bytes = size_t{4} << 20;
    // After each failure pieces are half as large, down to this, and after each success twice: a server or a network
    // that is slow may need more for a large one than a request may take.
    size_t least_piece_bytes = size_t{256} << 10;
    size_t most_pieces = 16;                               // in a round
    core::Duration first_delay = std::chrono::seconds(1);  // after a failure; doubled with each
    core::Duration longest_delay = std::chrono::seconds(60);
    core::Duration when_idle = std::chrono::seconds(1);
    uint64_t quiet_rounds = 30;  // between two looks at a stream whose writer has begun another one
};

// What a round did.
struct ShipRound {
    uint64_t pieces = 0;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    uint64_t refused_pieces = 0;              // passed over: belayd takes none of these blocks
    uint64_t gone_blocks = 0;                 // that the spool lost before they were sent
    uint64_t gone_streams = 0;                // that left it before all of them was sent
    std::vector<stream::Lost> lost;           // damage in the spool
    std::vector<stream::StreamId> not_ours;   // since this round
    bool failed = false;                      // the last try got no verdict
    std::string why = {};                     // the last trouble, in words; empty: none
    std::optional<int64_t> errno_value = {};  // of it
    core::Duration wait{};                    // before the next round
};

// How far the streams of a spool are sent.
struct ShipStanding {
    std::map<stream::StreamId, uint64_t> next;  // the number of the block that is sent next
    std::set<stream::StreamId> not_ours;        // of which nothing more is sent
};

class Shipper {
  public:
    // `random` gives numbers from 0 to 1: a thousand agents must not come back at once. Errors: kBadInput for a spool of
    // another user's; kSystem.
    static core::Result<Shipper> open(const std::filesystem::path& spool, ShipPiece send,
                                      std::function<double()> random, const ShipOptions& options = {});
    // Errors: kSystem, for a spool that cannot be read.
    core::Result<ShipRound> round();
    ShipStanding standing() const;

  private:
    enum class Left { kUnknown, kSome, kNothing };
    struct State {
        uint64_t next = 0;  // block to be sent
        // Up to here each block is a piece of its own: a piece of several was refused.
        uint64_t one_by_one_until = 0;
        Left left = Left::kUnknown;  // at the last look
    };
    enum class Pace { kNextPiece, kNextStream, kEndOfRound };

    Shipper(core::Directory directory, stream::SpoolReader reader, ShipPiece send,
            std::function<double()> random, const ShipOptions& options)
        : directory_(std::move(directory)),
          reader_(std::move(reader)),
          send_(std::move(send)),
          random_(std::move(random)),
          options_(options),
          limit_(options.piece_bytes) {}
    core::Result<> remember();
    void recall(std::string_view text);
    core::Duration delay_after_failure(core::Duration at_least);
    std::set<stream::StreamId> quiet_streams(const std::vector<stream::Cursor>& streams) const;
    core::Result<Pace> send_next(const stream::StreamId& stream, State& state, ShipRound& round);
    Pace take_answer(const ShipAnswer& answer, stream::Piece& piece, bool is_single, State& state,
                     ShipRound& round);
    bool forget_streams_but(const std::vector<stream::Cursor>& streams, ShipRound& round);

    core::Directory directory_;
    stream::SpoolReader reader_;
    ShipPiece send_;
    std::function<double()> random_;
    ShipOptions options_;
    std::map<stream::StreamId, State> streams_;
    std::set<stream::StreamId> not_ours_;
    size_t limit_;      // of pieces, now
    int failures_ = 0;  // one after the other
    uint64_t rounds_ = 0;
};

}  // namespace belay::agent

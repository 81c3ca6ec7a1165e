// The side of a node that takes the copy: from its parent, and where that is gone or damaged from the next of
// its ancestors.
#pragma once

#include "core/error.h"
#include "stage/copy/copy.h"
#include "stage/copy/feeder.h"
#include "stage/copy/link.h"
#include "stage/copy/pump.h"
#include "stage/copy/store.h"
#include "stage/copy/write_queue.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace belay::stage {

struct ReceiveSettings {
    StartOrder order;
    std::string root_address = {};  // for an ancestor without one
    std::string secret = {};
    uint32_t rank = 0;
    std::filesystem::path source;  // as rank 0 was given it
    std::filesystem::path destination;
    CopyPatience patience = {};
    double memory_share = kUsualMemoryShare;
    std::function<core::Result<>(const CopyStore& store)> begun = {};
    const std::atomic<bool>* stop = nullptr;
    std::function<void(uint64_t held)> stored = {};
};

class Receiver {
  public:
    // What comes is offered to others through the feeder.
    Receiver(ReceiveSettings settings, Feeder& feeder);

    // Until everything is there and has its name. Errors: what failed here, as CopyStore has it; kUnreachable
    // where no ancestor sends anything more; kSystem where a chunk comes damaged again and again, kCancelled.
    core::Result<> run();

    CopyFigures figures() const;              // after run()
    uint64_t held_bytes() const;              // from any thread
    std::optional<CopyReport> facts() const;  // of what is copied, once the plan is known: after run()

  private:
    core::Result<> receive_all();
    core::Result<std::unique_ptr<CopyLink>> connect(const CopyPeer& peer) const;
    core::Result<> take_from(CopyLink& link);
    core::Result<> take_plan(CopyLink& link);
    core::Result<> begin(std::string plan);
    core::Result<> take_chunk(CopyLink& link);
    core::Result<> note_damage(CopyLink& link, uint64_t chunk);
    // The next message that is not a sign of life.
    core::Result<uint8_t> next(CopyLink& link);
    core::Result<> stopped() const;
    core::Result<> fail(core::Error error);

    ReceiveSettings settings_;
    Feeder& feeder_;
    std::shared_ptr<CopyStore> store_;
    std::atomic<const CopyStore*> seen_ = nullptr;  // the same, for other threads
    std::optional<Keeper> keeper_;
    std::optional<WriteQueue> queue_;
    ChunkBuffer body_;
    std::map<uint64_t, int> damaged_;  // times, by chunk
    int damaged_plans_ = 0;
    std::optional<core::Error> failure_;  // of this node, which no other parent cures
    CopyFigures figures_;
    core::Duration began_;
    core::Duration moved_;  // when anything of the copy came last
};

}  // namespace belay::stage

// Brings the spool to belayd as long as the agent lives: rounds of a shipper (shipper.h), what they did, and what of it
// is told. step() is called from one thread, the rest from any.
#pragma once

#include "agent/courier/agent_facts.h"
#include "agent/courier/delivery_teller.h"
#include "agent/courier/note.h"
#include "agent/courier/shipper.h"
#include "core/time.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace belay::agent {

struct DeliveryOptions {
    std::filesystem::path spool;
    std::string host;  // belayd's address, for messages
    ShipOptions ship = {};
    std::function<double()> random;  // from 0 to 1, for delays
};

class Delivery {
  public:
    using Tell = std::function<void(Note)>;

    // `may_try_now` says that what kept the last upload from being taken may have changed. The clock must live longer.
    Delivery(DeliveryOptions options, ShipPiece send, std::function<bool()> may_try_now, Tell tell,
             core::Clock& clock);

    // A round, if one is due. In how long to call it again; nothing once all is done after end().
    std::optional<core::Duration> step();
    // The stream has ended: what is left is sent without a pause, until a try fails.
    void end() { is_ending_ = true; }
    bool is_done() const { return is_done_; }

    DeliveryCounts counts() const;
    // Nothing before the first round.
    std::optional<ShipStanding> standing() const;

  private:
    core::Duration take(const core::Result<ShipRound>& round, core::Duration now);
    core::Result<ShipRound> make_round();
    void say(std::vector<Note> notes) const;

    const DeliveryOptions options_;
    const ShipPiece send_;
    const std::function<bool()> may_try_now_;
    const Tell tell_;
    core::Clock& clock_;

    // Of the thread that steps:
    std::optional<Shipper> shipper_;
    DeliveryTeller teller_;
    core::Duration next_round_;  // monotonic
    bool has_failed_ = false;

    std::atomic<bool> is_ending_ = false, is_done_ = false;
    mutable std::mutex mutex_;  // of what follows
    DeliveryCounts counts_;
    std::optional<ShipStanding> standing_;
};

}  // namespace belay::agent

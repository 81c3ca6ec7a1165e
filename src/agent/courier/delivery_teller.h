// What of the delivery of blocks is worth telling: when it stops and goes on, and what is lost. Pure.
#pragma once

#include "agent/courier/note.h"
#include "agent/courier/shipper.h"
#include "core/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::agent {

class DeliveryTeller {
  public:
    // `host` is belayd's address. About the same thing something is told once in `quiet`; what is lost meanwhile is
    // added up and told then.
    explicit DeliveryTeller(std::string host, core::Duration quiet = std::chrono::minutes(10))
        : host_(std::move(host)), quiet_(quiet) {}

    // `now` is on the monotonic clock.
    std::vector<Note> after(const ShipRound& round, core::Duration now);
    // No round could be made: the spool cannot be read.
    std::vector<Note> after(const core::Error& error, core::Duration now);
    // What was added up and is not told yet.
    std::vector<Note> last_words();

  private:
    // Something that is lost again and again.
    struct Loss {
        NoteKind kind;
        uint64_t amount = 0;
        std::string subject = {};
        std::string message = {};  // of the last one
        std::optional<core::Duration> told = {};
    };

    void tell_state(const ShipRound& round, core::Duration now, std::vector<Note>& notes);
    void add_losses(const ShipRound& round);
    bool is_time(std::optional<core::Duration>& told, core::Duration now) const;
    static Note note_of(Loss& loss);

    std::string host_;
    core::Duration quiet_;
    std::optional<core::Duration> away_since_;
    bool is_away_told_ = false;
    std::optional<core::Duration> told_away_, told_error_;
    Loss losses_[4] = {{NoteKind::kRefused}, {NoteKind::kGone}, {NoteKind::kDamaged}, {NoteKind::kNotOurs}};
};

}  // namespace belay::agent

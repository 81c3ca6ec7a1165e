#include "agent/courier/delivery.h"

#include <algorithm>
#include <utility>

namespace belay::agent {

namespace {

constexpr core::Duration kAfterError = std::chrono::seconds(10);   // of the spool
constexpr core::Duration kBetweenLooks = std::chrono::seconds(1);  // whether a round may be made earlier

}  // namespace

Delivery::Delivery(DeliveryOptions options, ShipPiece send, std::function<bool()> may_try_now, Tell tell,
                   core::Clock& clock)
    : options_(std::move(options)),
      send_(std::move(send)),
      may_try_now_(std::move(may_try_now)),
      tell_(std::move(tell)),
      clock_(clock),
      teller_(options_.host),
      next_round_(clock.monotonic()) {}

core::Result<ShipRound> Delivery::make_round() {
    if (!shipper_) {
        BELAY_TRY(shipper, Shipper::open(options_.spool, send_, options_.random, options_.ship));
        shipper_.emplace(std::move(shipper));
    }
    return shipper_->round();
}

void Delivery::say(std::vector<Note> notes) const {
    for (Note& note : notes) tell_(std::move(note));
}

// How long to wait then.
core::Duration Delivery::take(const core::Result<ShipRound>& round, core::Duration now) {
    if (!round) {
        has_failed_ = true;
        say(teller_.after(round.error(), now));
        return kAfterError;
    }
    say(teller_.after(*round, now));
    has_failed_ = round->failed;
    std::lock_guard lock(mutex_);
    standing_ = shipper_->standing();
    counts_.pieces += round->pieces;
    counts_.blocks += round->blocks;
    counts_.bytes += round->bytes;
    counts_.failures += round->failed ? 1 : 0;
    counts_.refused_pieces += round->refused_pieces;
    counts_.gone_blocks += round->gone_blocks;
    if (round->failed)
        counts_.is_up = false;
    else if (round->pieces + round->refused_pieces + round->not_ours.size() > 0)
        counts_.is_up = true;
    return round->wait;
}

std::optional<core::Duration> Delivery::step() {
    if (is_done_) return std::nullopt;
    const bool is_ending = is_ending_;  // before the round: it must have seen the end of the stream
    core::Duration now = clock_.monotonic();
    const bool is_due = now >= next_round_ || is_ending || (has_failed_ && may_try_now_());
    core::Duration wait = next_round_ - now;
    if (is_due) {
        const core::Result<ShipRound> round = make_round();
        now = clock_.monotonic();
        wait = take(round, now);
        next_round_ = now + wait;
    }
    const bool has_more = wait <= core::Duration::zero();
    if (is_ending && (has_failed_ || !has_more)) {
        say(teller_.last_words());
        is_done_ = true;
        return std::nullopt;
    }
    return has_failed_ ? std::min(wait, kBetweenLooks) : std::max(wait, core::Duration::zero());
}

DeliveryCounts Delivery::counts() const {
    std::lock_guard lock(mutex_);
    return counts_;
}

std::optional<ShipStanding> Delivery::standing() const {
    std::lock_guard lock(mutex_);
    return standing_;
}

}  // namespace belay::agent

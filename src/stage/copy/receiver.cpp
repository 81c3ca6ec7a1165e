#include "stage/copy/receiver.h"

#include "core/units.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/copy_parts.h"

#include <algorithm>
#include <thread>

namespace belay::stage {

namespace {

using core::Deadline;
using core::Result;
using core::system_error;

constexpr core::Duration kLook = std::chrono::milliseconds(200);  // for whether it was stopped
constexpr core::Duration kConnectTime = std::chrono::seconds(5);
constexpr core::Duration kPause = std::chrono::milliseconds(200);  // when all ancestors were tried

}  // namespace

Receiver::Receiver(ReceiveSettings settings, Feeder& feeder)
    : settings_(std::move(settings)), feeder_(feeder), began_(now()), moved_(began_) {}

Result<> Receiver::stopped() const {
    if (settings_.stop == nullptr || !*settings_.stop) return {};
    return system_error("the copy was stopped").because(core::Cause::kCancelled);
}

Result<> Receiver::fail(core::Error error) {
    failure_ = std::move(error);
    return std::unexpected(*failure_);
}

uint64_t Receiver::held_bytes() const {
    const CopyStore* store = seen_;
    return store == nullptr ? 0 : store->held_bytes();
}

CopyFigures Receiver::figures() const {
    return figures_;
}

std::optional<CopyReport> Receiver::facts() const {
    if (!store_) return std::nullopt;
    const CopyLayout& layout = store_->layout();
    return CopyReport{.kind = layout.plan().kind,
                      .files = layout.files().size(),
                      .bytes = layout.bytes(),
                      .chunks = layout.chunks(),
                      .elapsed = figures_.elapsed};
}

Result<> Receiver::run() {
    auto received = receive_all();
    queue_.reset();
    keeper_.reset();
    if (received) received = store_->publish();
    figures_.elapsed = now() - began_;
    return received;
}

Result<> Receiver::receive_all() {
    const std::vector<CopyPeer>& ancestors = settings_.order.ancestors;
    size_t at = 0;
    while (true) {
        BELAY_CHECK(stopped());
        const core::Duration moved = moved_;
        auto link = connect(ancestors[at]);
        auto taken = link ? take_from(**link) : std::unexpected(std::move(link.error()));
        if (taken) return {};
        if (failure_) return std::unexpected(*failure_);
        // Who has sent something may have been interrupted; who is silent, or has sent nothing, or what was
        // changed on its way, is not asked again before the others.
        const core::Cause why = taken.error().cause();
        if (moved_ != moved && why != core::Cause::kTimedOut && why != core::Cause::kDenied) continue;
        const uint32_t last = ancestors[at].rank;
        at = (at + 1) % ancestors.size();
        if (at != 0) continue;
        // All were asked, rank 0 as the last: dead ones take a while to be found out.
        if (now() - moved_ > settings_.patience.orphan)
            return std::unexpected(
                std::move(taken.error())
                    .context(fmt::format("nobody has sent anything for {}; the last of them, rank {}",
                                         core::to_text(settings_.patience.orphan), last))
                    .because(core::Cause::kUnreachable));
        std::this_thread::sleep_for(kPause);
    }
}

Result<std::unique_ptr<CopyLink>> Receiver::connect(const CopyPeer& peer) const {
    const Deadline deadline = Deadline::after(std::min(kConnectTime, settings_.patience.silence));
    BELAY_TRY(socket, transfer::connect_to(peer.address.empty() ? settings_.root_address : peer.address,
                                           peer.port, deadline));
    transfer::Channel channel(std::move(socket));
    BELAY_CHECK(transfer::introduce(channel, transfer::known(settings_.secret), data_purpose(peer.port),
                                    settings_.rank, deadline));
    const size_t most_body =
        std::max<uint64_t>(settings_.order.chunk_bytes + kChunkHeadBytes, kPlanPieceBytes);
    return std::make_unique<CopyLink>(
        std::move(channel), most_body,
        LinkLimits{.stop = settings_.stop, .silence = settings_.patience.silence});
}

Result<uint8_t> Receiver::next(CopyLink& link) {
    while (true) {
        BELAY_CHECK(stopped());
        if (queue_)
            if (auto failure = queue_->failure()) return std::unexpected(fail(std::move(*failure)).error());
        BELAY_TRY(type, link.receive(body_, Deadline::after(kLook)));
        if (type && *type != kAlive) return *type;
        if (link.idle() > settings_.patience.silence)
            return system_error("silent for {}", core::to_text(settings_.patience.silence))
                .because(core::Cause::kTimedOut);
    }
}

Result<> Receiver::take_from(CopyLink& link) {
    if (!store_) BELAY_CHECK(take_plan(link));
    if (auto drained = queue_->drain(); !drained) return fail(std::move(drained.error()));
    BELAY_CHECK(link.send(kHave, encode_state(store_->state(), store_->digest())));
    while (true) {
        BELAY_TRY(type, next(link));
        if (type == kChunk) {
            BELAY_CHECK(take_chunk(link));
        } else if (type == kAllThere) {
            if (auto drained = queue_->drain(); !drained) return fail(std::move(drained.error()));
            if (store_->is_complete()) return {};  // otherwise what was asked for again is on its way
        } else {
            return system_error("unexpected message {}", type);
        }
    }
}

Result<> Receiver::take_plan(CopyLink& link) {
    BELAY_CHECK(link.send(kAskPlan));
    std::string plan;
    while (plan.size() < settings_.order.plan_bytes) {
        BELAY_TRY(type, next(link));
        if (type != kPlanPiece || body_.size() > settings_.order.plan_bytes - plan.size())
            return system_error("unexpected message {} of {} bytes instead of a part of the plan", type,
                                body_.size());
        plan += body_.view();
        moved_ = now();
    }
    if (core::sha256(plan) != settings_.order.plan) {
        auto damaged = system_error("the plan of the copy came damaged").error();
        if (++damaged_plans_ > kMostRefetches) return fail(std::move(damaged));
        return std::unexpected(std::move(damaged));
    }
    if (auto begun = begin(std::move(plan)); !begun) return fail(std::move(begun.error()));
    moved_ = now();
    return {};
}

Result<> Receiver::begin(std::string plan) {
    BELAY_TRY(decoded, decode_plan(plan));
    if (decoded.chunk_bytes != settings_.order.chunk_bytes)
        return system_error("the plan has chunks of {} bytes, rank 0 says {}", decoded.chunk_bytes,
                            settings_.order.chunk_bytes);
    feeder_.offer_plan(std::make_shared<const std::string>(std::move(plan)));
    BELAY_CHECK(refuse_source_as_destination(settings_.source, settings_.destination));
    BELAY_TRY(target, find_target(decoded, settings_.destination));
    target.memory_share = settings_.memory_share;
    BELAY_TRY(store,
              CopyStore::open(std::make_shared<const CopyLayout>(std::move(decoded)), std::move(target)));
    BELAY_TRY(is_shared, store->has_mark(settings_.order.mark));
    if (is_shared)
        return core::bad_input("{} is the same directory here and on rank 0",
                               core::printable(settings_.destination.string()))
            .hint("name one that each node has for itself, or copy it there once without srun");
    if (settings_.begun)
        if (auto begun = settings_.begun(*store); !begun) {
            store->give_up();
            return begun;
        }
    store_ = std::move(store);
    seen_ = store_.get();
    figures_.resumed_chunks = store_->resumed_chunks();
    keeper_.emplace(*store_, settings_.patience.checkpoint);
    queue_.emplace(*store_, settings_.stored);
    feeder_.offer_store(store_);
    return {};
}

Result<> Receiver::take_chunk(CopyLink& link) {
    BELAY_TRY(head, decode_chunk_head(body_.view()));
    if (head.chunk >= store_->layout().chunks() ||
        body_.size() != kChunkHeadBytes + store_->layout().bytes_of(head.chunk))
        return system_error("this copy has no chunk {} of {} bytes", head.chunk,
                            body_.size() - kChunkHeadBytes);
    if (shard::crc32c(body_.view().substr(kChunkHeadBytes)) != head.checksum)
        return note_damage(link, head.chunk);
    figures_.received_bytes += body_.size() - kChunkHeadBytes;
    moved_ = now();
    const auto here = store_->checksum(head.chunk);
    if (here && *here != head.checksum)
        return fail(
            core::bad_input(
                "{}: what is there already is not what rank 0 copies, though size and time are the same",
                core::printable(settings_.destination.string()))
                .hint("remove it, or name another destination")
                .error());
    if (here) return {};
    if (auto pushed = queue_->push(head.chunk, head.checksum, body_, kChunkHeadBytes); !pushed)
        return fail(std::move(pushed.error()));
    return {};
}

Result<> Receiver::note_damage(CopyLink& link, uint64_t chunk) {
    if (++damaged_[chunk] > kMostRefetches)
        return fail(
            system_error("chunk {} came damaged {} times", chunk, damaged_[chunk])
                .hint(
                    "the network or the memory of a node is faulty: see its kernel log, or exclude the node")
                .error());
    ++figures_.refetched;
    return link.send(kAgain, encode_number(chunk));
}

}  // namespace belay::stage

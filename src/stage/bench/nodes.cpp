#include "stage/bench/nodes.h"

#include "core/units.h"
#include "core/utf8.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace belay::stage {

using core::Deadline;
using core::Result;

namespace {

enum : uint8_t { kHere = transfer::kFirstFreeType, kGo };

}  // namespace

Result<std::unique_ptr<BenchNodes>> BenchNodes::open(transfer::Members members, BenchPatience patience) {
    std::unique_ptr<BenchNodes> nodes(new BenchNodes(std::move(members), patience));
    const transfer::Members& us = nodes->members_;
    const std::vector<uint16_t> ports = transfer::rendezvous_ports(us.name);
    if (us.rank == 0) {
        BELAY_TRY(root,
                  transfer::Root::open(ports, {us.secret, us.offer}, static_cast<uint32_t>(us.nodes.size())));
        nodes->root_ = std::make_unique<transfer::Root>(std::move(root));
        BELAY_CHECK(nodes->await_all());
        return nodes;
    }
    BELAY_TRY(address, us.root_address);
    BELAY_TRY(channel,
              transfer::join(address, ports, us.source_of_secret(), us.rank, Deadline::after(patience.join)));
    channel.set_limit(transfer::kMaxBody);
    nodes->channel_ = std::make_unique<transfer::Channel>(std::move(channel));
    return nodes;
}

BenchNodes::~BenchNodes() = default;

// Who joins waits for the answer, and this node may write for minutes before its first part.
Result<> BenchNodes::await_all() {
    const auto missing = [&]() -> std::optional<uint32_t> {
        for (uint32_t rank = 1; rank < members_.nodes.size(); ++rank)
            if (!root_->connected(rank) && !early_.contains(rank)) return rank;
        return std::nullopt;
    };
    // One that joined and has gone comes no more.
    const auto gone = [&] {
        const auto rank = missing();
        return rank && root_->refused(*rank);
    };
    BELAY_CHECK(
        root_->serve(Deadline::after(patience_.join), [&] { return !missing() || gone(); }, keep_early()));
    if (const auto rank = missing()) return std::unexpected(lost(*rank, "the beginning"));
    return {};
}

transfer::Root::Handler BenchNodes::keep_early() {
    return [this](uint32_t rank, transfer::Message message) {
        if (message.type == kHere) early_[rank] = std::move(message.body);
    };
}

core::Error BenchNodes::lost(uint32_t rank, std::string_view part) const {
    const std::string node = core::printable(members_.nodes[rank]);
    if (root_)
        if (auto why = root_->refused(rank))
            return std::move(*why).context(fmt::format("{} is gone before \"{}\"", node, part));
    return core::system_error("{} did not come to \"{}\"", node, part)
        .because(core::Cause::kTimedOut)
        .hint("start one task on each node, all with the same options")
        .error();
}

// What each of the others says, by rank.
Result<> BenchNodes::hear_all(std::string_view part, core::Duration timeout,
                              std::vector<std::string>& bodies) {
    std::vector<bool> heard(members_.nodes.size());
    bodies.resize(members_.nodes.size());
    heard[0] = true;
    for (auto& [rank, body] : std::exchange(early_, {})) {
        heard[rank] = true;
        bodies[rank] = std::move(body);
    }
    const auto first_missing = [&]() -> std::optional<uint32_t> {
        for (uint32_t rank = 1; rank < heard.size(); ++rank)
            if (!heard[rank]) return rank;
        return std::nullopt;
    };
    // One that was connected and has gone comes no more; one that was never there may still.
    const auto gone = [&]() -> std::optional<uint32_t> {
        for (uint32_t rank = 1; rank < heard.size(); ++rank)
            if (!heard[rank] && !root_->connected(rank) && root_->refused(rank)) return rank;
        return std::nullopt;
    };
    BELAY_CHECK(root_->serve(
        Deadline::after(timeout), [&] { return !first_missing() || gone(); },
        [&](uint32_t rank, transfer::Message message) {
            if (message.type != kHere || rank >= heard.size()) return;
            heard[rank] = true;
            bodies[rank] = std::move(message.body);
        }));
    if (const auto rank = gone()) return std::unexpected(lost(*rank, part));
    if (const auto rank = first_missing()) return std::unexpected(lost(*rank, part));
    return {};
}

Result<> BenchNodes::meet(std::string_view part) {
    if (channel_) {
        const Deadline deadline = Deadline::after(patience_.part);
        BELAY_CHECK(core::with_context(channel_->send({.type = kHere, .body = std::string(part)}, deadline),
                                       members_.nodes[0]));
        BELAY_TRY(answer, core::with_context(channel_->receive(deadline), members_.nodes[0]));
        if (answer.type == kGo && answer.body == part) return {};
        return core::system_error("{} is at \"{}\" where this node is at \"{}\"",
                                  core::printable(members_.nodes[0]), core::printable(answer.body), part)
            .hint("give all nodes the same options");
    }
    std::vector<std::string> parts;
    BELAY_CHECK(hear_all(part, patience_.part, parts));
    for (uint32_t rank = 1; rank < parts.size(); ++rank)
        if (parts[rank] != part)
            return core::system_error("{} is at \"{}\" where this node is at \"{}\"",
                                      core::printable(members_.nodes[rank]), core::printable(parts[rank]),
                                      part)
                .hint("give all nodes the same options");
    for (uint32_t rank = 1; rank < members_.nodes.size(); ++rank)
        root_->send(rank, {.type = kGo, .body = std::string(part)});
    BELAY_CHECK(
        root_->flush(Deadline::after(patience_.join), keep_early()));  // some are at the next part already
    return {};
}

Result<std::vector<std::string>> BenchNodes::gather(const std::string& own) {
    constexpr std::string_view kPart = "the results";
    std::vector<std::string> all;
    if (channel_) {
        BELAY_CHECK(
            core::with_context(channel_->send({.type = kHere, .body = own}, Deadline::after(patience_.join)),
                               members_.nodes[0]));
        BELAY_CHECK(
            core::with_context(channel_->receive(Deadline::after(patience_.part)), members_.nodes[0]));
        return all;
    }
    BELAY_CHECK(hear_all(kPart, patience_.part, all));
    all[0] = own;
    for (uint32_t rank = 1; rank < members_.nodes.size(); ++rank) root_->send(rank, {.type = kGo});
    BELAY_CHECK(root_->flush(Deadline::after(patience_.join)));
    return all;
}

}  // namespace belay::stage

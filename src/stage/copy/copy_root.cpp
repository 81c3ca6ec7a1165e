// What rank 0 of a copy does beside its own: it tells the nodes where they stand, and hears who has the copy
// and who is gone.
#include "core/error_codec.h"
#include "core/new_file.h"
#include "core/program.h"
#include "core/units.h"
#include "core/utf8.h"
#include "stage/copy/copy_parts.h"
#include "stage/copy/feeder.h"
#include "stage/copy/own_copy.h"
#include "stage/copy/tree.h"
#include "transfer/rendezvous.h"

#include <algorithm>
#include <mutex>
#include <ranges>
#include <thread>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Deadline;
using core::Result;
using core::system_error;

constexpr core::Duration kFarewell = std::chrono::seconds(5);  // for the nodes to hear that it is the end

class CopyRoot {
  public:
    CopyRoot(const CopyStep& step, const CopyOptions& options, transfer::Root root, Wake wake)
        : step_(step),
          options_(options),
          root_(std::move(root)),
          wake_(std::move(wake)),
          began_(now()),
          members_(step.nodes.size()) {}

    ~CopyRoot() { stop_ = true; }  // before the threads are waited for
    CopyRoot(const CopyRoot&) = delete;
    CopyRoot& operator=(const CopyRoot&) = delete;

    Result<CopyReport> run(const fs::path& source, const fs::path& destination) {
        BELAY_TRY(
            feeder,
            Feeder::start(
                {.secret = step_.secret,
                 .ranks = static_cast<uint32_t>(step_.nodes.size()),
                 .limits = {.stop = &stop_, .silence = options_.patience.silence, .rate = options_.rate},
                 .alive = options_.patience.alive,
                 .sending = options_.faults.sending}));
        feeder_ = std::move(feeder);
        BELAY_TRY(mark, core::random_name("root-"));
        order_.mark = std::move(mark);
        std::jthread worker([&] { work(source, destination); });
        auto served = root_.serve(
            Deadline::never(), [this] { return is_over(); },
            [this](uint32_t rank, const transfer::Message& message) { hear(rank, message); },
            [this] { return wake_.fd(); });
        auto report = served ? conclude() : Result<CopyReport>(std::unexpected(std::move(served.error())));
        tell_end(report);
        stop_ = true;
        return report;
    }

  private:
    struct Member {
        CopyPeer peer = {};
        bool has_joined = false;
        bool has_started = false;
        uint64_t held_bytes = 0;
        core::Duration heard{};  // when anything came last
        core::Duration moved{};  // when it last held more than before
        std::optional<CopyFigures> figures = {};
        std::optional<core::Error> failure = {};
        bool is_settled() const { return figures || failure; }
    };

    // In a thread of its own.
    void work(const fs::path& source, const fs::path& destination) {
        auto prepared = [this](std::shared_ptr<const std::string> plan,
                               std::shared_ptr<CopyStore> store) -> Result<> {
            BELAY_CHECK(store->leave_mark(order_.mark));
            feeder_->offer_plan(plan);
            feeder_->offer_store(store);
            const std::lock_guard lock(mutex_);
            plan_ = std::move(plan);
            store_ = std::move(store);
            wake_.notify();
            return {};
        };
        auto made = core::without_exceptions([&] {
            return make_own_copy(source, destination, options_, {.stop = &stop_, .prepared = prepared},
                                 step_.nodes[0]);
        });
        const std::lock_guard lock(mutex_);
        own_ = std::move(made);
        wake_.notify();
    }

    void hear(uint32_t rank, const transfer::Message& message) {
        Member& member = members_[rank];
        member.heard = now();
        if (member.is_settled()) return;
        auto understood = take(rank, member, message);
        if (!understood) member.failure = std::move(understood.error()).context("it broke the protocol");
    }

    Result<> take(uint32_t rank, Member& member, const transfer::Message& message) {
        switch (message.type) {
            case kAlive:
                return {};
            case kJoin: {
                BELAY_TRY(port, decode_join(message.body));
                member.peer = {.rank = rank, .address = root_.address_of(rank), .port = port};
                member.has_joined = true;
                member.moved = now();
                return {};
            }
            case kProgress: {
                BELAY_TRY(bytes, decode_number(message.body));
                if (bytes != member.held_bytes) member.moved = now();
                member.held_bytes = bytes;
                return {};
            }
            case kDone: {
                BELAY_TRY(figures, decode_figures(message.body));
                member.figures = figures;
                return {};
            }
            case kFailed: {
                auto failure = core::decode_error(message.body);
                member.failure = failure ? std::move(*failure) : std::move(failure.error());
                return {};
            }
            default:
                return system_error("unexpected message {}", message.type);
        }
    }

    // Asked after every event, at least every second.
    bool is_over() {
        wake_.clear();
        {
            const std::lock_guard lock(mutex_);
            if (own_ && !*own_) return true;
            if (plan_ && !has_plan_) {
                has_plan_ = true;
                order_.plan = store_->digest();
                order_.plan_bytes = plan_->size();
                order_.chunk_bytes = store_->layout().plan().chunk_bytes;
                order_.rate = options_.rate;
            }
            is_own_whole_ = own_.has_value();
        }
        if (feeder_->failure()) return true;
        start_those_who_came();
        look_after_members();
        if (options_.all_or_none && first_failed() != nullptr) return true;
        greet();
        show_progress();
        return is_own_whole_ &&
               std::ranges::all_of(members_.begin() + 1, members_.end(), &Member::is_settled);
    }

    bool is_time_to_start() const {
        return has_plan_ &&
               (!positions_.empty() || now() - began_ > options_.patience.join ||
                std::ranges::all_of(members_.begin() + 1, members_.end(), [](const Member& member) {
                    return member.has_joined || member.failure;
                }));
    }

    // Who comes later stands behind the others.
    void start_those_who_came() {
        if (!is_time_to_start()) return;
        if (positions_.empty()) positions_.push_back(0);
        members_[0].peer.port = feeder_->port();
        const uint32_t children =
            options_.children.value_or(usual_children(static_cast<uint32_t>(members_.size())));
        for (uint32_t rank = 1; rank < members_.size(); ++rank) {
            Member& member = members_[rank];
            if (!member.has_joined || member.has_started || member.failure || !root_.connected(rank))
                continue;
            member.has_started = true;
            order_.ancestors.clear();
            for (const uint32_t position : ancestors_of(static_cast<uint32_t>(positions_.size()), children)) {
                const Member& ancestor = members_[positions_[position]];
                if (!ancestor.failure) order_.ancestors.push_back(ancestor.peer);
            }
            positions_.push_back(rank);
            root_.send(rank, {kStart, encode_start(order_)});
        }
    }

    void look_after_members() {
        const bool join_is_over = now() - began_ > options_.patience.join;
        for (uint32_t rank = 1; rank < members_.size(); ++rank) {
            Member& member = members_[rank];
            if (member.is_settled()) continue;
            if (!member.has_joined && join_is_over && has_plan_) member.failure = why_absent(rank);
            if (!member.has_joined) continue;
            if (!root_.connected(rank))
                member.failure = why_gone(rank);
            else if (now() - member.heard > options_.patience.silence)
                member.failure =
                    system_error("it has said nothing for {}", core::to_text(options_.patience.silence))
                        .because(core::Cause::kUnreachable)
                        .error();
            else if (is_own_whole_ && now() - member.moved > options_.patience.standstill)
                member.failure =
                    system_error("it has got no further for {}", core::to_text(options_.patience.standstill))
                        .because(core::Cause::kTimedOut)
                        .error();
        }
    }

    core::Error why_absent(uint32_t rank) const {
        if (auto refused = root_.refused(rank)) return std::move(*refused);
        if (auto shortage = root_.shortage()) return std::move(*shortage);
        return system_error("it did not come within {}", core::to_text(options_.patience.join))
            .because(core::Cause::kTimedOut)
            .error();
    }
    core::Error why_gone(uint32_t rank) const {
        if (auto refused = root_.refused(rank)) return std::move(*refused).because(core::Cause::kUnreachable);
        return system_error("its connection ended").because(core::Cause::kUnreachable).error();
    }

    void greet() {
        if (now() - greeted_ < options_.patience.alive) return;
        greeted_ = now();
        for (uint32_t rank = 1; rank < members_.size(); ++rank)
            if (root_.connected(rank)) root_.send(rank, {kAlive});
    }

    void show_progress() {
        if (!options_.progress || !has_plan_) return;
        const uint64_t bytes = store_->layout().bytes();
        uint64_t done = store_->held_bytes(), total = bytes;
        for (const Member& member : members_ | std::views::drop(1)) {
            if (member.failure) continue;
            total += bytes;
            done += member.figures ? bytes : std::min(member.held_bytes, bytes);
        }
        options_.progress(done, total);
    }

    const Member* first_failed() const {
        const auto found =
            std::ranges::find_if(members_, [](const Member& member) { return member.failure.has_value(); });
        return found == members_.end() ? nullptr : &*found;
    }
    size_t rank_of(const Member& member) const { return static_cast<size_t>(&member - members_.data()); }

    Result<CopyReport> conclude() {
        if (auto failure = feeder_->failure()) return std::unexpected(std::move(*failure));
        const std::lock_guard lock(mutex_);
        if (const Member* failed = options_.all_or_none ? first_failed() : nullptr;
            failed != nullptr && !(own_ && !*own_))
            return std::unexpected(core::Error(*failed->failure)
                                       .context(fmt::format("{} cannot have the copy",
                                                            core::printable(step_.nodes[rank_of(*failed)])))
                                       .as(core::ErrorKind::kSystem)
                                       .because(core::Cause::kCancelled));
        if (!*own_) return *own_;
        CopyReport report = **own_;
        report.elapsed = now() - began_;
        for (uint32_t rank = 1; rank < members_.size(); ++rank) {
            const Member& member = members_[rank];
            report.nodes.push_back({.name = step_.nodes[rank],
                                    .rank = rank,
                                    .figures = member.figures.value_or(CopyFigures{}),
                                    .failure = member.failure});
        }
        return report;
    }

    // They hang up when they have heard it. What failed here is told to those who come a little later, too.
    void tell_end(const Result<CopyReport>& report) {
        const std::string body = report ? std::string() : core::encode_error(report.error());
        std::vector<bool> told(members_.size(), false);
        const auto is_over = [&] {
            bool all_gone = true;
            for (uint32_t rank = 1; rank < members_.size(); ++rank) {
                if (!told[rank] && root_.connected(rank)) told[rank] = root_.send(rank, {kEnd, body});
                const bool may_come = !report && !told[rank] && !members_[rank].failure;
                all_gone = all_gone && !may_come && !root_.connected(rank);
            }
            return all_gone;
        };
        (void)root_.serve(Deadline::after(kFarewell), is_over, [](uint32_t, const transfer::Message&) {});
    }

    const CopyStep& step_;
    const CopyOptions& options_;
    transfer::Root root_;
    Wake wake_;
    core::Duration began_;
    core::Duration greeted_{};
    std::atomic<bool> stop_ = false;
    std::unique_ptr<Feeder> feeder_;
    StartOrder order_;
    std::vector<Member> members_;      // by rank; of rank 0 only where it listens
    std::vector<uint32_t> positions_;  // ranks, by their position in the tree; empty before it begins
    bool has_plan_ = false;
    bool is_own_whole_ = false;

    std::mutex mutex_;
    std::shared_ptr<const std::string> plan_;
    std::shared_ptr<CopyStore> store_;
    std::optional<Result<CopyReport>> own_;  // once it is made
};

}  // namespace

Result<CopyReport> copy_as_root(const fs::path& source, const fs::path& destination, const CopyStep& step,
                                const CopyOptions& options) {
    BELAY_TRY(wake, Wake::create());
    BELAY_TRY(root, core::with_context(transfer::Root::open(transfer::rendezvous_ports(rendezvous_name(step)),
                                                            {step.secret, step.offer},
                                                            static_cast<uint32_t>(step.nodes.size())),
                                       fmt::format("{}, where the nodes of the step meet", step.nodes[0])));
    return CopyRoot(step, options, std::move(root), std::move(wake)).run(source, destination);
}

}  // namespace belay::stage

// What every node of a copy but rank 0 does: it hears from rank 0 whom to take the copy from, and tells how
// far it is.
#include "core/error_codec.h"
#include "core/program.h"
#include "core/units.h"
#include "stage/copy/copy_parts.h"
#include "stage/copy/receiver.h"
#include "transfer/rendezvous.h"

#include <cerrno>
#include <mutex>
#include <poll.h>
#include <thread>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Deadline;
using core::Result;
using core::system_error;

class CopyMember {
  public:
    CopyMember(const fs::path& source, const fs::path& destination, const CopyStep& step,
               const CopyOptions& options, transfer::Channel channel, std::string secret, Wake wake)
        : source_(source),
          destination_(destination),
          step_(step),
          options_(options),
          channel_(std::move(channel)),
          secret_(std::move(secret)),
          wake_(std::move(wake)),
          heard_(now()) {}

    ~CopyMember() { stop_ = true; }  // before the threads are waited for
    CopyMember(const CopyMember&) = delete;
    CopyMember& operator=(const CopyMember&) = delete;

    Result<CopyReport> run() {
        auto taken = take_part();
        stop_ = true;
        if (worker_.joinable()) worker_.join();
        return taken;
    }

  private:
    Deadline soon() const { return Deadline::after(options_.patience.silence); }

    Result<CopyReport> take_part() {
        BELAY_TRY(
            feeder,
            Feeder::start(
                {.secret = secret_,
                 .ranks = static_cast<uint32_t>(step_.nodes.size()),
                 .limits = {.stop = &stop_, .silence = options_.patience.silence, .rate = options_.rate},
                 .alive = options_.patience.alive,
                 .sending = options_.faults.sending}));
        feeder_ = std::move(feeder);
        BELAY_CHECK(channel_.send({kJoin, encode_join(feeder_->port())}, soon()));
        while (true) {
            auto heard = hear();
            // Who has the copy needs nobody any more.
            if (!heard && !report_) return std::unexpected(transfer::link_error(std::move(heard.error())));
            if (!heard || end_) return end();
            if (auto failure = own_failure()) {
                (void)channel_.send({kFailed, core::encode_error(*failure)}, soon());
                return std::unexpected(std::move(*failure));
            }
            if (now() - told_ >= options_.patience.alive)
                if (auto told = tell(); !told && !report_)
                    return std::unexpected(transfer::link_error(std::move(told.error())));
            pollfd entries[] = {{channel_.socket(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
            poll(entries, std::size(entries), Deadline::after(options_.patience.alive).poll_milliseconds());
            wake_.clear();
            take_result();
        }
    }

    // Errors: rank 0 is gone.
    Result<> hear() {
        while (!end_) {
            BELAY_TRY(message, channel_.try_receive());
            if (!message) break;
            heard_ = now();
            if (message->type == kStart && !receiver_) BELAY_CHECK(start(message->body));
            if (message->type == kEnd) end_ = std::move(message->body);
        }
        if (now() - heard_ > options_.patience.silence)
            return system_error("it has said nothing for {}", core::to_text(options_.patience.silence))
                .because(core::Cause::kTimedOut);
        return {};
    }

    Result<> start(std::string_view body) {
        BELAY_TRY(order, decode_start(body));
        BELAY_TRY(address, step_.root_address);
        receiver_ = std::make_unique<Receiver>(ReceiveSettings{.order = std::move(order),
                                                               .root_address = address,
                                                               .secret = secret_,
                                                               .rank = step_.rank,
                                                               .source = source_,
                                                               .destination = destination_,
                                                               .patience = options_.patience,
                                                               .memory_share = options_.memory_share,
                                                               .begun = options_.begun,
                                                               .stop = &stop_,
                                                               .stored = options_.faults.stored},
                                               *feeder_);
        worker_ = std::jthread([this] {
            auto received = core::without_exceptions([this] { return receiver_->run(); });
            const std::lock_guard lock(mutex_);
            received_ = std::move(received);
            wake_.notify();
        });
        return {};
    }

    void take_result() {
        const std::lock_guard lock(mutex_);
        if (!received_ || !*received_ || report_) return;
        report_ = receiver_->facts();
        report_->nodes = {
            {.name = step_.nodes[step_.rank], .rank = step_.rank, .figures = receiver_->figures()}};
        (void)channel_.send({kDone, encode_figures(receiver_->figures())}, soon());
    }

    std::optional<core::Error> own_failure() {
        if (auto failure = feeder_->failure()) return failure;
        const std::lock_guard lock(mutex_);
        if (received_ && !*received_) return received_->error();
        return std::nullopt;
    }

    Result<> tell() {
        told_ = now();
        return channel_.send({kProgress, encode_number(receiver_ ? receiver_->held_bytes() : 0)}, soon());
    }

    Result<CopyReport> end() {
        if (end_ && !end_->empty()) {
            auto why = core::decode_error(*end_);
            core::Error error = why ? std::move(*why) : std::move(why.error());
            return std::unexpected(std::move(error).context(step_.nodes[0]).because(core::Cause::kCancelled));
        }
        if (report_) return *report_;
        return system_error("{} did not wait for this node any longer", step_.nodes[0])
            .because(core::Cause::kTimedOut);
    }

    const fs::path& source_;
    const fs::path& destination_;
    const CopyStep& step_;
    const CopyOptions& options_;
    transfer::Channel channel_;
    std::string secret_;
    Wake wake_;
    core::Duration heard_;   // when rank 0 last said something
    core::Duration told_{};  // when it was last told
    std::atomic<bool> stop_ = false;
    std::unique_ptr<Feeder> feeder_;
    std::unique_ptr<Receiver> receiver_;
    std::optional<std::string> end_;    // what rank 0 said of it
    std::optional<CopyReport> report_;  // once this node has the copy
    std::mutex mutex_;
    std::optional<Result<>> received_;
    std::jthread worker_;
};

}  // namespace

Result<CopyReport> copy_as_member(const fs::path& source, const fs::path& destination, const CopyStep& step,
                                  const CopyOptions& options) {
    BELAY_TRY(wake, Wake::create());
    BELAY_TRY(address, step.root_address);
    std::string secret;
    const auto secret_of = [&](std::string_view offer, const Deadline& until) -> Result<std::string> {
        BELAY_TRY(told, step.source_of_secret()(offer, until));
        return secret = std::move(told);
    };
    auto joined = transfer::join(address, transfer::rendezvous_ports(rendezvous_name(step)), secret_of,
                                 step.rank, Deadline::after(options.patience.join));
    if (!joined)
        return std::unexpected(transfer::link_error(
            std::move(joined.error())
                .context(fmt::format("{} cannot join {}, where the nodes of the step meet",
                                     step.nodes[step.rank], step.nodes[0]))));
    CopyMember member(source, destination, step, options, std::move(*joined), std::move(secret),
                      std::move(wake));
    auto report = member.run();
    return report;
}

}  // namespace belay::stage

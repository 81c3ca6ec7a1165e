#include "agent/courier/courier.h"

#include "agent/courier/agent_facts.h"
#include "agent/courier/backlog.h"
#include "agent/courier/block_post.h"
#include "agent/courier/delivery.h"
#include "agent/courier/http_listener.h"
#include "agent/courier/metric_view.h"
#include "agent/courier/remote_feed.h"
#include "agent/courier/repeater.h"
#include "agent/courier/stream_tail.h"
#include "core/deadline.h"
#include "core/tell.h"
#include "core/units.h"
#include "metrics/remote/credentials.h"
#include "metrics/remote/http_post.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

namespace belay::agent {

namespace remote = metrics::remote;
using core::Result;
using metrics::Family;

namespace {

constexpr core::Duration kShortestStep = std::chrono::milliseconds(50);
constexpr core::Duration kLongestStep = std::chrono::seconds(5);
constexpr core::Duration kSpoolLooks = std::chrono::seconds(10);   // between two at the sizes of its files
constexpr core::Duration kForgetsEvery = std::chrono::minutes(1);  // ended series
constexpr core::Duration kTellsAgainAfter = std::chrono::minutes(10);  // of what it cannot read
constexpr core::Duration kSendsCurrent = std::chrono::seconds(2);      // what holds now, by remote write
constexpr core::Duration kEndLooks = std::chrono::milliseconds(20);

// After which a series has ended: some samples in a row are missing, of which none is just not written yet.
core::Duration silence_of(const CourierStart& start) {
    return 3 * start.interval + 2 * start.flush + std::chrono::seconds(5);
}

ShipOptions ship_options(const CourierOptions& options) {
    return {.when_idle = options.server_interval};
}

// What all its threads look at.
struct Shared {
    std::mutex mutex;
    MetricView view;
    AgentFacts facts;
    std::optional<core::Duration> rows_came;  // monotonic
};

class Courier {
  public:
    Courier(const CourierOptions& options, const CourierStart& start, CourierEnd& link, StreamTail tail,
            Backlog backlog, const MakeTransport& make_transport)
        : options_(options),
          start_(start),
          link_(link),
          tail_(std::move(tail)),
          backlog_(std::move(backlog)),
          shared_{
              .mutex = {},
              .view = MetricView({.silence = silence_of(start), .shows_processes = options.shows_processes}),
              .facts = {.node = start.from.stream.node,
                        .version = start.version,
                        .began = start.from.stream.began,
                        .restarts = start.restarts},
              .rows_came = {}} {
        for (const stream::Batch& rows : start.now) shared_.view.take(rows, clock_.monotonic());
        if (!options.server.empty()) set_up_delivery(make_transport);
        if (!options.remote_write.empty()) set_up_remote_write(make_transport);
    }

    ~Courier() { stopped_ = true; }
    Courier(const Courier&) = delete;
    Courier& operator=(const Courier&) = delete;

    Result<> listen() {
        if (options_.listener < 0) return {};
        core::Descriptor socket(fcntl(options_.listener, F_DUPFD_CLOEXEC, 3));
        if (!socket) return core::errno_error(errno, "cannot duplicate a socket");
        page_.emplace([this] { return all_families(); }, [this] { return trouble(); });
        BELAY_TRY(listener, HttpListener::start(std::move(socket), [this](const ScrapeRequest& request) {
                      return page_->answer(request);
                  }));
        listener_.emplace(std::move(listener));
        return {};
    }

    void run() {
        const core::Duration period = std::clamp(start_.flush / 2, kShortestStep, kLongestStep);
        do step();
        while (link_.wait(period));
        end(core::Deadline::after(options_.last_word));
    }

  private:
    void set_up_delivery(const MakeTransport& make_transport) {
        post_.emplace(BlockPostOptions{.server = options_.server,
                                       .token_file = options_.token_file,
                                       .user_agent = "belay-agent/" + start_.version},
                      make_transport(options_.server_ca, &stopped_), clock_);
        auto random = [random = std::mt19937(std::random_device{}())]() mutable {
            return std::uniform_real_distribution<double>(0, 1)(random);
        };
        delivery_.emplace(
            DeliveryOptions{.spool = start_.spool,
                            .host = post_->host(),
                            .ship = ship_options(options_),
                            .random = std::move(random)},
            [this](const stream::Piece& piece) { return post_->send(piece); },
            [this] { return post_->has_other_token(); }, [this](Note note) { link_.add(std::move(note)); },
            clock_);
        delivery_thread_.emplace([this] { return delivery_->step(); });
    }

    void set_up_remote_write(const MakeTransport& make_transport) {
        remote::SenderOptions sender{.url = options_.remote_write,
                                     .user_agent = "belay-agent/" + start_.version,
                                     .stopped = &stopped_};
        sender.tell = [this](const std::string& words) { link_.add({.message = words}); };
        if (!options_.remote_write_credentials.empty())
            sender.authorization = [this] {
                return remote::read_authorization(options_.remote_write_credentials,
                                                  remote::CredentialKind::kEither);
            };
        sender_.emplace(std::move(sender), make_transport(options_.remote_write_ca, &stopped_), clock_);
        metrics::Labels site;
        if (!start_.from.stream.cluster.empty()) site.push_back({"cluster", start_.from.stream.cluster});
        feed_.emplace(*sender_, silence_of(start_), std::move(site));
        sender_thread_.emplace([this] { return sender_->send_due(); });
    }

    // What has been written since the last step, to where it is wanted.
    void step() {
        const bool is_at_end = read_stream();
        look_at_spool();
        if (feed_) feed(is_at_end);
        const core::Duration now = clock_.monotonic();
        if (now - forgot_ < kForgetsEvery) return;
        forgot_ = now;
        std::lock_guard lock(shared_.mutex);
        shared_.view.forget_ended(now);
    }

    bool read_stream() {
        const uint64_t before = tail_.place().next_block;
        auto is_at_end = tail_.step([this](const stream::Batch& rows) {
            std::lock_guard lock(shared_.mutex);
            const core::Duration now = clock_.monotonic();
            shared_.rows_came = now;
            count_rows(shared_.facts, rows);
            std::vector<Family> families = shared_.view.take(rows, now);
            if (feed_) feed_->add(std::move(families));
        });
        if (!is_at_end) complain("the agent's own stream cannot be read", is_at_end.error());
        const uint64_t place = tail_.place().next_block;
        if (place != before) link_.add({.kind = NoteKind::kReadTo, .value = static_cast<double>(place)});
        return is_at_end.value_or(true);
    }

    void look_at_spool() {
        const core::Duration now = clock_.monotonic();
        if (looked_ && now - *looked_ < kSpoolLooks) return;
        looked_ = now;
        std::optional<ShipStanding> standing;
        if (delivery_) standing = delivery_->standing().value_or(ShipStanding());
        auto use = backlog_.look(standing);
        if (!use) return complain("the spool cannot be looked at", use.error());
        std::lock_guard lock(shared_.mutex);
        shared_.facts.spool = *use;
    }

    void feed(bool is_at_end) {
        std::vector<Family> current;
        const core::Duration now = clock_.monotonic();
        if (!sent_current_ || now - *sent_current_ >= kSendsCurrent) {
            sent_current_ = now;
            current = own_families();
            std::lock_guard lock(shared_.mutex);
            std::ranges::move(shared_.view.infos(now), std::back_inserter(current));
        }
        if (auto pushed = feed_->push(current, clock_.now(), is_at_end); !pushed)
            complain("metrics cannot be sent", pushed.error());
        sender_thread_->wake();
    }

    void complain(std::string_view what, const core::Error& error) {
        const core::Duration now = clock_.monotonic();
        if (complained_ && now - *complained_ < kTellsAgainAfter) return;
        complained_ = now;
        link_.add({.message = fmt::format("{}: {}", what, core::in_one_line(error))});
    }

    std::vector<Family> own_families() {
        std::lock_guard lock(shared_.mutex);
        AgentFacts& facts = shared_.facts;
        facts.series = shared_.view.series();
        facts.left_out_values = shared_.view.left_out();
        if (delivery_) facts.delivery = delivery_->counts();
        if (sender_) facts.remote_write = sender_->counts();
        return families_of(facts, clock_.now());
    }

    // For who scrapes.
    std::vector<Family> all_families() {
        std::vector<Family> families;
        {
            std::lock_guard lock(shared_.mutex);
            ++shared_.facts.scrapes;
            families = shared_.view.newest(clock_.monotonic());
        }
        std::ranges::move(own_families(), std::back_inserter(families));
        return families;
    }

    std::optional<std::string> trouble() {
        std::lock_guard lock(shared_.mutex);
        if (!shared_.rows_came) return "nothing is sampled yet";
        const core::Duration age = clock_.monotonic() - *shared_.rows_came;
        if (age <= silence_of(start_)) return std::nullopt;
        return "nothing was written for " + core::format_duration(age);
    }

    // What is left is sent, as far as there is time.
    void end(const core::Deadline& deadline) {
        for (bool is_at_end = false; !is_at_end && !deadline.is_over();) is_at_end = read_stream();
        if (feed_) {
            feed(true);
            if (auto ended = feed_->end(); !ended) complain("metrics cannot be sent", ended.error());
            sender_thread_->wake();
        }
        if (delivery_) {
            delivery_->end();
            delivery_thread_->wake();
        }
        while (!deadline.is_over() && !is_all_sent()) clock_.sleep_until(clock_.monotonic() + kEndLooks);
        stopped_ = true;
        delivery_thread_.reset();
        sender_thread_.reset();
        listener_.reset();
        link_.flush();
    }

    bool is_all_sent() const {
        return (!delivery_ || delivery_->is_done()) && (!sender_ || sender_->counts().waiting == 0);
    }

    const CourierOptions& options_;
    const CourierStart& start_;
    CourierEnd& link_;
    core::Clock& clock_ = core::system_clock();
    StreamTail tail_;
    Backlog backlog_;
    Shared shared_;
    std::atomic<bool> stopped_ = false;  // requests that are under way end
    std::optional<core::Duration> looked_, complained_, sent_current_;
    core::Duration forgot_ = clock_.monotonic();

    std::optional<BlockPost> post_;
    std::optional<Delivery> delivery_;
    std::optional<remote::Sender> sender_;
    std::optional<RemoteFeed> feed_;
    std::optional<ScrapePage> page_;
    // Threads, which use all of the above.
    std::optional<Repeater> delivery_thread_, sender_thread_;
    std::optional<HttpListener> listener_;
};

}  // namespace

remote::Transport make_http_transport(const std::filesystem::path& ca, const std::atomic<bool>* stopped) {
    // A piece is at most 4 MiB, and a thousand agents may catch up at once.
    return remote::http_post({.ca_file = ca, .timeout = std::chrono::minutes(1), .stopped = stopped});
}

Result<> run_courier(const CourierOptions& options, const CourierStart& start, CourierEnd& link,
                     const MakeTransport& make_transport) {
    BELAY_TRY(tail, StreamTail::open(start.spool, start.from));
    BELAY_TRY(backlog, Backlog::open(start.spool));
    Courier courier(options, start, link, std::move(tail), std::move(backlog), make_transport);
    BELAY_CHECK(courier.listen());
    courier.run();
    return {};
}

}  // namespace belay::agent

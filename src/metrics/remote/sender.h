// Sends series to a receiver of remote write 1.0: Prometheus, VictoriaMetrics, Mimir, Thanos.
//
//   Sender sender({.url = "https://metrics/api/v1/write"}, http_post({.ca_file = "/etc/belay/ca.pem"}), system_clock());
//   BELAY_CHECK(sender.push(series));             // from the thread that samples: never waits for the network
//   auto next = sender.send_due();                // from a thread of its own; in *next again, or after a push
//
// Batches are sent in the order in which they were pushed, one at a time, so that each series arrives in the order of
// time. What may pass (no answer, 429, 5xx) is tried again, after what Retry-After says or an exponential delay with
// jitter. Any other status would be the same next time: the batch is dropped. When the queue is full the oldest batch is
// dropped. Each of these is counted, and told once in a while.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "metrics/remote/series.h"
#include "metrics/remote/transport.h"
#include "metrics/remote/write_request.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace belay::metrics::remote {

// What a status means for what was sent (remote write 1.0, "Retries & Backoff").
enum class Verdict : uint8_t { kDelivered, kTryAgain, kRefused };
Verdict judge(int status);

struct SenderOptions {
    std::string url;
    BatchLimits batch = {};
    size_t queue_bytes =
        size_t{64} << 20;  // of compressed batches that wait, beside the one that is being sent
    core::Duration first_delay = std::chrono::seconds(1);  // doubled with each try
    core::Duration longest_delay = std::chrono::seconds(30);
    core::Duration longest_retry_after =
        std::chrono::minutes(5);  // one that asks for more is asked after this
    std::string user_agent = "belay";
    // The value of the header Authorization, asked for before each request, since tokens are renewed.
    std::function<core::Result<std::string>()> authorization = {};
    std::function<void(const std::string&)> tell =
        {};  // messages for people; empty: they are logged as warnings
    core::Duration quiet = std::chrono::minutes(10);  // between two messages about the same
    const std::atomic<bool>* stopped = nullptr;       // set: send_due() returns after the request it is at
    uint32_t seed = std::random_device{}();           // of the jitter
};

struct SenderCounts {
    uint64_t delivered = 0;  // samples, as all but the last two
    uint64_t refused = 0;    // by the receiver
    uint64_t dropped = 0;    // for want of room in the queue
    uint64_t too_large = 0;  // each alone more than a batch may have
    uint64_t waiting = 0;
    uint64_t requests = 0;
    uint64_t tries_again = 0;
    bool operator==(const SenderCounts&) const = default;
};

class Sender {
  public:
    // The clock must live longer than the sender.
    Sender(SenderOptions options, Transport transport, core::Clock& clock);

    // Puts them into the queue. From any thread. Errors: kSystem where they cannot be compressed.
    core::Result<> push(std::span<const Series> series, std::span<const Metadata> metadata = {});

    // Sends what is due, from one thread at a time. In how long to call it again; nothing when nothing waits.
    std::optional<core::Duration> send_due();

    SenderCounts counts() const;

  private:
    struct Entry {
        std::string body;
        size_t samples = 0;
    };

    std::optional<Entry> take_front();
    core::Result<PostAnswer> post(const Entry& entry);
    void settle(Entry entry, const core::Result<PostAnswer>& answer);
    void try_later(Entry entry, std::string_view retry_after);
    // With the mutex held. The message about it; empty where none is due.
    std::string drop_what_is_too_much();
    void tell(const std::string& message) const;

    // When something was last told; whether it may be told again, which is noted.
    using ToldAt = std::optional<core::Duration>;
    bool is_time_to_tell(ToldAt& last) const;

    const SenderOptions options_;
    const Transport transport_;
    core::Clock& clock_;
    const std::string host_;  // for messages

    // Of the thread that sends:
    std::mt19937 random_;
    int failed_tries_ = 0;       // of the first batch
    core::Duration next_try_{};  // on the monotonic clock
    ToldAt told_failure_, told_refusal_;

    mutable std::mutex mutex_;  // of what follows
    std::deque<Entry> queue_;
    size_t queued_bytes_ = 0;
    SenderCounts counts_;
    ToldAt told_full_;
};

}  // namespace belay::metrics::remote

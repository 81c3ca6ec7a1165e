#include "metrics/remote/sender.h"

#include "core/fetch/http.h"
#include "core/log.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace belay::metrics::remote {

namespace {

constexpr size_t kMostQuoted = 200;                                     // bytes of an answer in a message
constexpr core::Duration kLeastDelay = std::chrono::milliseconds(100);  // whatever Retry-After says

core::fetch::HttpOptions delays_of(const SenderOptions& options) {
    core::fetch::HttpOptions delays{.seed = 0};
    delays.first_delay = options.first_delay;
    delays.longest_delay = options.longest_delay;
    delays.longest_retry_after = options.longest_retry_after;
    return delays;
}

// The first line of an answer, for people.
std::string first_line(std::string_view body) {
    std::string_view line = core::utf8_prefix(core::trim(body.substr(0, body.find('\n'))), kMostQuoted);
    return line.empty() ? "" : ": " + core::printable(line);
}

}  // namespace

Verdict judge(int status) {
    if (status >= 200 && status < 300) return Verdict::kDelivered;
    return status == 429 || (status >= 500 && status < 600) ? Verdict::kTryAgain : Verdict::kRefused;
}

Sender::Sender(SenderOptions options, Transport transport, core::Clock& clock)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      clock_(clock),
      host_(core::printable(core::fetch::url_authority(options_.url))),
      random_(options_.seed) {}

core::Result<> Sender::push(std::span<const Series> series, std::span<const Metadata> metadata) {
    const Batches batches = encode(series, metadata, options_.batch);
    std::vector<Entry> entries;
    for (const Batch& batch : batches.batches) {
        BELAY_TRY(body, compress(batch.message));
        entries.push_back({std::move(body), batch.samples});
    }
    std::string message;
    {
        std::lock_guard lock(mutex_);
        counts_.too_large += batches.too_large;
        for (Entry& entry : entries) {
            queued_bytes_ += entry.body.size();
            counts_.waiting += entry.samples;
            queue_.push_back(std::move(entry));
        }
        message = drop_what_is_too_much();
    }
    tell(message);
    return {};
}

std::string Sender::drop_what_is_too_much() {
    uint64_t dropped = 0;
    while (queued_bytes_ > options_.queue_bytes && !queue_.empty()) {
        queued_bytes_ -= queue_.front().body.size();
        dropped += queue_.front().samples;
        queue_.pop_front();
    }
    counts_.waiting -= dropped;
    counts_.dropped += dropped;
    if (dropped == 0 || !is_time_to_tell(told_full_)) return {};
    return fmt::format("more metrics wait for {} than {} bytes hold: the oldest are dropped", host_,
                       options_.queue_bytes);
}

std::optional<Sender::Entry> Sender::take_front() {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= entry.body.size();
    return entry;
}

std::optional<core::Duration> Sender::send_due() {
    for (;;) {
        const core::Duration left = next_try_ - clock_.monotonic();
        {
            std::lock_guard lock(mutex_);
            if (queue_.empty()) return std::nullopt;
        }
        if (left > core::Duration::zero()) return left;
        if (options_.stopped != nullptr && *options_.stopped) return core::Duration::zero();
        auto entry = take_front();
        if (!entry) return std::nullopt;
        const core::Result<PostAnswer> answer = post(*entry);
        settle(std::move(*entry), answer);
    }
}

core::Result<PostAnswer> Sender::post(const Entry& entry) {
    PostRequest request{.url = options_.url,
                        // Remote write 1.0, "Protocol"
                        .headers = {{"Content-Encoding", "snappy"},
                                    {"Content-Type", "application/x-protobuf"},
                                    {"X-Prometheus-Remote-Write-Version", "0.1.0"},
                                    {"User-Agent", options_.user_agent}},
                        .authorization = {},
                        .body = entry.body};
    if (options_.authorization) {
        BELAY_TRY(authorization, options_.authorization());
        request.authorization = std::move(authorization);
    }
    {
        std::lock_guard lock(mutex_);
        ++counts_.requests;
    }
    return transport_(request);
}

void Sender::settle(Entry entry, const core::Result<PostAnswer>& answer) {
    const Verdict verdict = answer ? judge(answer->status) : Verdict::kTryAgain;
    if (verdict == Verdict::kTryAgain) {
        if (is_time_to_tell(told_failure_))
            tell("metrics wait and are sent again: " +
                 (answer ? fmt::format("{} answers {}{}", host_, answer->status, first_line(answer->body))
                         : answer.error().headline()));
        return try_later(std::move(entry),
                         answer ? std::string_view(answer->retry_after) : std::string_view());
    }
    failed_tries_ = 0;
    const bool refused = verdict == Verdict::kRefused;
    {
        std::lock_guard lock(mutex_);
        counts_.waiting -= entry.samples;
        (refused ? counts_.refused : counts_.delivered) += entry.samples;
    }
    if (refused && is_time_to_tell(told_refusal_))
        tell(fmt::format("{} refuses metrics with status {}{}: such samples are dropped", host_,
                         answer->status, first_line(answer->body)));
}

void Sender::try_later(Entry entry, std::string_view retry_after) {
    ++failed_tries_;
    const double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    const core::Duration delay =
        core::fetch::retry_delay(delays_of(options_), failed_tries_ + 1, retry_after, jitter, clock_.now())
            .value_or(options_.longest_retry_after);
    next_try_ = clock_.monotonic() + std::max(delay, kLeastDelay);
    std::string message;
    {
        std::lock_guard lock(mutex_);
        ++counts_.tries_again;
        queued_bytes_ += entry.body.size();
        queue_.push_front(std::move(entry));
        message = drop_what_is_too_much();
    }
    tell(message);
}

bool Sender::is_time_to_tell(ToldAt& last) const {
    const core::Duration now = clock_.monotonic();
    if (last && now - *last < options_.quiet) return false;
    last = now;
    return true;
}

void Sender::tell(const std::string& message) const {
    if (message.empty()) return;
    if (options_.tell)
        options_.tell(message);
    else
        core::log_warning("{}", message);
}

SenderCounts Sender::counts() const {
    std::lock_guard lock(mutex_);
    return counts_;
}

}  // namespace belay::metrics::remote

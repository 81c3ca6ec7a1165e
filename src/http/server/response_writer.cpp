#include "http/server/response_writer.h"

#include "core/log.h"
#include "http/response_head.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <unistd.h>
#include <utility>

namespace belay::http {

namespace {

constexpr size_t kWrittenAtOnce = size_t{64} << 10;
constexpr size_t kReadAtOnce = size_t{256} << 10;  // of a file

// At least a byte: a file that ended is an error too.
core::Result<std::string> read_part(int fd, uint64_t offset, size_t size) {
    std::string part(size, '\0');
    for (;;) {
        const ssize_t n = pread(fd, part.data(), part.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return core::errno_error(errno, "cannot read a file that is being sent");
        if (n == 0) return core::system_error("a file that is being sent has become shorter");
        part.resize(static_cast<size_t>(n));
        return part;
    }
}

}  // namespace

// Wakes the connection that sends a queue's events, once for all that came meanwhile; ends that when it goes away.
class EventReader {
  public:
    EventReader(const std::shared_ptr<EventQueue>& queue, const std::shared_ptr<Stream>& stream)
        : queue_(*queue) {
        queue->set_reader([pending = std::make_shared<std::atomic<bool>>(false),
                           scheduler = stream->scheduler(), stream, weak = std::weak_ptr(queue)] {
            if (pending->exchange(true)) return;
            scheduler->post([pending, stream, weak] {
                *pending = false;
                stream->stop_pause();
                const auto still = weak.lock();
                if (still && still->is_too_slow()) stream->close();  // it waits for a write that does not end
            });
        });
    }
    EventReader(const EventReader&) = delete;
    EventReader& operator=(const EventReader&) = delete;
    ~EventReader() { queue_.set_reader({}); }

  private:
    EventQueue& queue_;
};

ResponseWriter::ResponseWriter(Wire& wire, Service& service)
    : wire_(wire),
      service_(service),
      pace_(service.options.limits.write_timeout, service.options.limits.least_bytes_per_second) {}

Task<bool> ResponseWriter::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, kWrittenAtOnce);
        const core::Duration before = core::system_clock().monotonic();
        const IoResult result = co_await wire_.write(part, pace_.allowed(part.size()));
        if (!result.ok()) co_return false;
        pace_.add(core::system_clock().monotonic() - before, part.size());
        bytes.remove_prefix(part.size());
    }
    co_return true;
}

Task<bool> ResponseWriter::send(std::string head, Response& response, bool head_only) {
    const auto* queue = std::get_if<std::shared_ptr<EventQueue>>(&response.body);
    if (head_only || !may_have_body(response.status)) {
        if (queue != nullptr) (*queue)->set_reader({});
        co_return co_await write(head);
    }
    if (queue != nullptr) {
        const EventReader reader(*queue, wire_.shared_stream());
        const bool whole = co_await send_events(std::move(head), **queue);
        co_return whole;
    }
    if (const auto* file = std::get_if<FileBody>(&response.body))
        co_return co_await send_file(std::move(head), *file);
    if (const auto* generator = std::get_if<Generator>(&response.body))
        co_return co_await send_chunks(std::move(head), *generator);
    co_return co_await send_text(std::move(head), std::get<std::string>(response.body));
}

Task<bool> ResponseWriter::send_text(std::string head, const std::string& text) {
    if (text.size() <= kWrittenAtOnce) co_return co_await write(head += text);
    const bool begun = co_await write(head);
    if (!begun) co_return false;
    co_return co_await write(text);
}

Task<bool> ResponseWriter::send_file(std::string head, const FileBody& file) {
    std::string waiting = std::move(head);
    for (uint64_t sent = 0; sent < file.length;) {
        auto reading = run_blocking_unbounded(
            service_.workers, [fd = file.descriptor.get(), at = file.offset + sent,
                               size = static_cast<size_t>(std::min<uint64_t>(
                                   file.length - sent, kReadAtOnce))] { return read_part(fd, at, size); });
        const Checked<core::Result<std::string>> part = co_await reading;
        if (!part || !*part) {
            if (part) core::log_error("{}", part->error().headline());
            co_return false;
        }
        sent += (*part)->size();
        waiting += **part;
        const bool written = co_await write(waiting);
        if (!written) co_return false;
        waiting.clear();
    }
    co_return co_await write(waiting);  // the head of an empty file
}

Task<bool> ResponseWriter::send_chunks(std::string head, const Generator& generator) {
    std::string waiting = std::move(head);
    for (;;) {
        Task<core::Result<std::string>> task = generator();
        const core::Result<std::string> piece = co_await std::move(task);
        if (!piece) {
            core::log_error("a response was cut: {}", piece.error().headline());
            co_return false;
        }
        waiting += piece->empty() ? std::string(kLastChunk) : encode_chunk(*piece);
        const bool written = co_await write(waiting);
        if (!written || piece->empty()) co_return written;
        waiting.clear();
    }
}

Task<bool> ResponseWriter::send_events(std::string head, EventQueue& queue) {
    const core::Duration interval = service_.options.limits.heartbeat_interval;
    std::string waiting = std::move(head);
    core::Duration last = core::system_clock().monotonic();
    for (;;) {
        const EventQueue::Taken taken = queue.take();
        const core::Duration since = core::system_clock().monotonic() - last;
        const bool ends = taken.ended || service_.stopping;
        if (!taken.bytes.empty())
            waiting += encode_chunk(taken.bytes);
        else if (since >= interval)
            waiting += encode_chunk(kHeartbeat);
        if (ends) waiting += kLastChunk;
        bool written = false;
        if (!taken.too_slow) written = co_await write(waiting);
        if (!written && queue.is_too_slow()) ++service_.meters.dropped;
        if (!written || ends) co_return written;
        if (!waiting.empty()) last = core::system_clock().monotonic();
        if (waiting.empty())
            co_await wire_.pause(std::max<core::Duration>(interval - since, std::chrono::milliseconds(1)));
        waiting.clear();
    }
}

}  // namespace belay::http

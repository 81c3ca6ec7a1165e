#include "http/server/wire.h"

#include "core/deadline.h"

#include <chrono>

namespace belay::http {

namespace {

constexpr core::Duration kLongestGoodbye = std::chrono::seconds(2);
constexpr size_t kMostDiscarded = size_t{4} << 20;
constexpr size_t kDiscardedAtOnce = size_t{64} << 10;

}  // namespace

IoResult Wire::count(IoResult result) {
    if (result.end == IoEnd::kTimedOut) ++meters_.timed_out;
    return result;
}

Task<IoResult> Wire::handshake(core::Duration longest) {
    IoWait waiting([&](OnIo on_end) { stream_->handshake(longest, std::move(on_end)); });
    const IoResult result = co_await waiting;
    co_return count(result);
}

Task<IoResult> Wire::read(size_t most, core::Duration longest) {
    if (longest <= core::Duration::zero()) {
        stream_->close();
        co_return count({0, IoEnd::kTimedOut});
    }
    char* into = input.prepare(most);
    IoWait waiting([&](OnIo on_end) { stream_->read_some(into, most, longest, std::move(on_end)); });
    const IoResult result = co_await waiting;
    input.commit(result.bytes);
    meters_.received_bytes += result.bytes;
    co_return count(result);
}

Task<IoResult> Wire::write(std::string_view bytes, core::Duration longest) {
    if (longest <= core::Duration::zero()) {
        stream_->close();
        co_return count({0, IoEnd::kTimedOut});
    }
    IoWait waiting([&](OnIo on_end) { stream_->write(bytes, longest, std::move(on_end)); });
    const IoResult result = co_await waiting;
    sent_ += result.bytes;
    meters_.sent_bytes += result.bytes;
    co_return count(result);
}

Task<IoResult> Wire::pause(core::Duration longest) {
    IoWait waiting([&](OnIo on_end) { stream_->pause(longest, std::move(on_end)); });
    const IoResult result = co_await waiting;
    co_return result;
}

Task<IoResult> Wire::discard() {
    const core::Deadline deadline = core::Deadline::after(kLongestGoodbye);
    IoResult result;
    for (size_t discarded = 0; result.ok() && discarded < kMostDiscarded && !deadline.is_over();
         discarded += result.bytes) {
        input = {};
        char* into = input.prepare(kDiscardedAtOnce);
        const core::Duration left = deadline.left();
        IoWait waiting(
            [&](OnIo on_end) { stream_->read_some(into, kDiscardedAtOnce, left, std::move(on_end)); });
        result = co_await waiting;
        meters_.received_bytes += result.bytes;
    }
    co_return result;
}

Task<IoResult> Wire::say_goodbye(bool more_may_come) {
    // After close_notify, nothing more can be taken from a TLS stream.
    if (more_may_come && stream_->is_tls()) co_await discard();
    IoWait waiting([&](OnIo on_end) { stream_->finish_writing(kLongestGoodbye, std::move(on_end)); });
    const IoResult result = co_await waiting;
    if (more_may_come && !stream_->is_tls()) co_await discard();
    co_return result;
}

}  // namespace belay::http

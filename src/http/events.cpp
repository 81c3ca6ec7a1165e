#include "http/events.h"

#include "core/text.h"
#include "core/utf8.h"

#include <chrono>
#include <utility>

namespace belay::http {

namespace {

bool fits_one_line(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// A line ends with CR, LF or both; a reader of events takes all three so.
void append_data(std::string& out, std::string_view data) {
    for (;;) {
        const size_t end = data.find_first_of("\r\n");
        out += "data: ";
        out += data.substr(0, end);
        out += '\n';
        if (end == std::string_view::npos) return;
        data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
    }
}

}  // namespace

core::Result<std::string> encode_event(const Event& event) {
    if (!fits_one_line(event.event))
        return core::bad_input("the type of an event has more than one line, or a NUL");
    if (!fits_one_line(event.id))
        return core::bad_input("the id of an event has more than one line, or a NUL");
    std::string out;
    if (!event.event.empty()) out += "event: " + core::to_valid_utf8(event.event) + "\n";
    if (!event.id.empty()) out += "id: " + core::to_valid_utf8(event.id) + "\n";
    if (event.retry)
        out += fmt::format("retry: {}\n",
                           std::chrono::duration_cast<std::chrono::milliseconds>(*event.retry).count());
    append_data(out, core::to_valid_utf8(event.data));
    return out + "\n";
}

core::Result<> EventQueue::push(const Event& event) {
    BELAY_TRY(bytes, encode_event(event));
    std::lock_guard lock(mutex_);
    if (closed_) return core::system_error("nobody reads these events").because(core::Cause::kEnded);
    if (bytes.size() > most_bytes_ - waiting_.size()) {
        closed_ = too_slow_ = true;
        waiting_.clear();
        waiting_.shrink_to_fit();
        wake();
        return core::system_error("the reader of these events is too slow: {} bytes wait", most_bytes_)
            .because(core::Cause::kNoSpace);
    }
    waiting_ += bytes;
    wake();
    return {};
}

void EventQueue::close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    wake();
}

bool EventQueue::is_open() const {
    std::lock_guard lock(mutex_);
    return !closed_;
}

bool EventQueue::is_too_slow() const {
    std::lock_guard lock(mutex_);
    return too_slow_;
}

EventQueue::Taken EventQueue::take() {
    std::lock_guard lock(mutex_);
    return {.bytes = std::exchange(waiting_, {}), .ended = closed_, .too_slow = too_slow_};
}

void EventQueue::set_reader(std::function<void()> wake) {
    std::lock_guard lock(mutex_);
    if (!wake) closed_ = true;
    wake_ = std::move(wake);
}

void EventQueue::wake() {
    if (wake_) wake_();
}

}  // namespace belay::http

#include "progress/lines.h"

#include <algorithm>
#include <chrono>

namespace belay::progress {

void LineSplitter::feed(std::string_view bytes, const Handler& handler) {
    while (!bytes.empty()) {
        if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
        after_return_ = false;
        size_t end = bytes.find_first_of("\r\n");
        keep(bytes.substr(0, end));
        if (end == std::string_view::npos) return;
        hand_on(handler);
        after_return_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
    }
}

void LineSplitter::finish(const Handler& handler) {
    if (!pending_.empty()) hand_on(handler);
    after_return_ = false;
}

void LineSplitter::keep(std::string_view piece) {
    size_t room = kLongestLine - pending_.size();
    cut_ |= piece.size() > room;
    pending_ += piece.substr(0, room);
}

void LineSplitter::hand_on(const Handler& handler) {
    if (cut_) ++lines_cut_;
    handler(pending_);
    pending_.clear();
    cut_ = false;
}

bool RateLimit::admit(core::Duration now) {
    if (now < start_ || now - start_ >= std::chrono::seconds(1)) {
        start_ = now;
        admitted_ = 0;
    }
    if (admitted_ >= per_second_) {
        ++refused_;
        return false;
    }
    ++admitted_;
    return true;
}

}  // namespace belay::progress

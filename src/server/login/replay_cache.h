// Credentials that were accepted and could come again: each counts once.
#pragma once

#include "core/time.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace belay::server {

// Thread-safe.
class ReplayCache {
  public:
    // Each is kept for that long, which must be longer than it is valid. At most so many in all, and of one owner, so that
    // none takes all the room.
    ReplayCache(core::Duration kept, size_t most, size_t most_of_owner, core::Clock& clock)
        : kept_(kept), most_(most), most_of_owner_(most_of_owner), clock_(clock) {}

    enum class Answer {
        kFirst,
        kAgain,
        kFull,  // it cannot be told later whether this one was accepted: so it must not be
    };
    Answer take(const std::string& credential, uint32_t owner);
    size_t size() const;

  private:
    struct Entry {
        core::Duration until{};  // monotonic
        std::string digest;
        uint32_t owner = 0;
    };
    void forget_old();

    const core::Duration kept_;
    const size_t most_, most_of_owner_;
    core::Clock& clock_;
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  // the oldest first
    std::unordered_set<std::string> digests_;
    std::unordered_map<uint32_t, size_t> of_owner_;
};

}  // namespace belay::server

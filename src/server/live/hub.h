// Events of running jobs, from those who find them to those who read them (GET /jobs/{job}/events). Thread-safe.
//
//   BELAY_TRY(queue, hub.join(key, last_event_id));       // a reader; ends when its connection does
//   for (const std::string& key : hub.jobs_with_readers()) hub.publish(key, "progress", json);
//
// Each job's events have numbers. The last of them are kept, so that a reader whose connection was lost goes on where it was,
// and learns by an event "gap" if it cannot.
#pragma once

#include "core/error.h"
#include "http/events.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct HubLimits {
    size_t readers = 1000;  // of all jobs together
    size_t readers_of_job = 100;
    size_t kept_bytes = size_t{64} << 10;               // of a job's last events
    size_t queue_bytes = http::EventQueue::kMostBytes;  // that may wait for one reader
};

class LiveHub {
  public:
    explicit LiveHub(const HubLimits& limits = {}) : limits_(limits) {}

    // `last_event_id`: what a reader that comes again had last; what is not a number of ours counts as nothing. Errors: kNegative,
    // kNoSpace, where there are too many readers.
    core::Result<std::shared_ptr<http::EventQueue>> join(const std::string& job,
                                                         std::string_view last_event_id);
    // Jobs that somebody reads now; what belongs to others is forgotten.
    std::vector<std::string> jobs_with_readers();
    // `data` is JSON. A reader that does not keep up is dropped, and comes again.
    void publish(const std::string& job, std::string_view type, const std::string& data);
    // An event "end" of a job that is over, behind which its readers are sent away.
    void finish(const std::string& job, const std::string& data);
    size_t readers() const;

  private:
    struct Kept {
        uint64_t number = 0;
        http::Event event;
    };
    struct Job {
        uint64_t last = 0;
        std::deque<Kept> kept;
        size_t kept_bytes = 0;
        std::vector<std::shared_ptr<http::EventQueue>> readers;
    };
    static void drop_gone(Job& job);
    static void catch_up(const Job& job, std::string_view last_event_id, http::EventQueue& queue);
    void add(Job& job, std::string_view type, const std::string& data);

    HubLimits limits_;
    mutable std::mutex mutex_;
    std::map<std::string, Job> jobs_;
};

}  // namespace belay::server

// The courier: a process beside the one that samples, which brings what that writes to where it is wanted. It follows
// the agent's own stream in the spool (stream_tail.h), so sampling never waits for it, and
//   - sends the spool to belayd (delivery.h),
//   - shows the newest values to who scrapes them (http_listener.h),
//   - sends samples to a receiver of remote write (remote_feed.h).
#pragma once

#include "agent/courier/courier_link.h"
#include "core/error.h"
#include "core/time.h"
#include "metrics/remote/transport.h"
#include "stream/batch.h"
#include "stream/cursor.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace belay::agent {

struct CourierOptions {
    // belayd. Without an address nothing is sent.
    std::string server;
    std::filesystem::path token_file;
    std::filesystem::path server_ca;
    core::Duration server_interval = std::chrono::seconds(5);  // between two uploads

    // A socket that listens; -1: nobody can scrape.
    int listener = -1;
    bool shows_processes = false;

    // A receiver of remote write. Without an address nothing is sent.
    std::string remote_write;
    std::filesystem::path remote_write_credentials;  // empty: none
    std::filesystem::path remote_write_ca;

    // How long it may take to send what is left when the agent ends.
    core::Duration last_word = std::chrono::seconds(5);

    bool is_wanted() const { return !server.empty() || listener >= 0 || !remote_write.empty(); }
};

// What the process that samples knows when it starts a courier, for the first time or again.
struct CourierStart {
    std::filesystem::path spool;
    std::string version;
    stream::Cursor from;        // where it reads the agent's stream
    core::Duration interval{};  // of samples
    core::Duration flush{};     // of writes
    std::vector<stream::Batch>
        now;  // rows that were told before `from` and still hold: GPUs, shares of steps
    uint64_t restarts = 0;
};

// How connections are made; tests put others here.
using MakeTransport = std::function<metrics::remote::Transport(const std::filesystem::path& ca,
                                                               const std::atomic<bool>* stopped)>;
metrics::remote::Transport make_http_transport(const std::filesystem::path& ca,
                                               const std::atomic<bool>* stopped);

// Works until the other end of the link says so, and then at most `last_word` more. Errors: kSystem.
core::Result<> run_courier(const CourierOptions& options, const CourierStart& start, CourierEnd& link,
                           const MakeTransport& make_transport = make_http_transport);

}  // namespace belay::agent

// The agent of a node: samples it for all jobs that run there, and writes one stream into a spool.
#pragma once

#include "agent/courier/courier.h"
#include "agent/courier/listen_address.h"
#include "core/error.h"
#include "core/time.h"
#include "gpu/choose.h"
#include "stream/spool.h"

#include <filesystem>
#include <optional>
#include <string>

namespace belay::agent {

struct AgentOptions {
    std::filesystem::path spool;
    core::Duration interval = std::chrono::seconds(1);  // between samples; 10 ms to 1 h
    core::Duration flush = std::chrono::seconds(2);     // between writes; likewise
    std::optional<core::Duration> length;               // then it ends; nothing: it is ended by a signal
    // How long any one call about a file of the spool may take; to bring data to the disk, ten times that.
    core::Duration wait = std::chrono::seconds(30);
    // By which Slurm knows this node: only steps that say they run on it count. Nothing: the name of the
    // machine, and all steps on it.
    std::optional<std::string> node;
    std::string cluster;  // of the stream; steps that name another one do not count
    stream::SpoolLimits limits;
    gpu::SourceChoice gpus = {};
    // What leaves the node; its listener is opened by run_agent().
    CourierOptions courier = {};
    std::optional<ListenAddress> listen = {};  // nothing: nobody can scrape
};

// Samples until its time is over, or SIGTERM, SIGINT or SIGHUP comes; in a process of its own, which is given
// up where a file that it needs has no answer within `wait`. What leaves the node is the work of a third one
// (courier/courier.h). Says on standard output where it listens. Errors: kBadInput for a period or limits that it
// does not take; kSystem for an address that is in use, kTimedOut for a file without an answer; what was written
// before is whole. A disk that becomes full is waited for.
core::Result<> run_agent(const AgentOptions& options);

}  // namespace belay::agent

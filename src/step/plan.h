// What shall be done with a step before its tasks start: decided in srun, as the user, carried out on each
// node.
#pragma once

#include "core/time.h"
#include "observe/io_tracing.h"
#include "step/environment.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::step {

struct VettingPlan {
    std::string file;  // as given, for messages
    std::string text;  // of the protocol: nodes need not see the file
    core::Duration timeout{};
    std::string fallback_name = {};  // of a file without one (vet/protocol.h)
    bool operator==(const VettingPlan&) const = default;
};

struct RecordingPlan {
    std::string directory;  // absolute, of the record
    core::Duration interval{};
    core::Duration flush{};
    std::vector<std::string> progress_patterns;
    std::optional<observe::IoTracing> io = {};  // nothing: I/O is not traced
    bool operator==(const RecordingPlan&) const = default;
};

struct StagingPlan {
    std::string source;  // absolute: a file or a directory that the first node sees
    std::string
        destination;  // absolute, on each node, as record.directory with %j, %s, %r, and %n for the node
    // After which the plugin gives it up. The copy itself is bound by it only where it waits for another one to
    // the same place, in a step of one node.
    core::Duration longest_wait{};
    double memory_share = 0;  // stage.memory_share
    bool operator==(const StagingPlan&) const = default;
};

struct StepPlan {
    std::string secret;  // by which the nodes of this step know each other
    std::optional<EnvironmentPlan> environment;
    std::optional<VettingPlan> vetting;
    std::optional<RecordingPlan> recording;
    std::optional<StagingPlan> staging;
    bool operator==(const StepPlan&) const = default;
};

std::string encode(const StepPlan& plan);
// Errors: kSystem, since belay-step of the same version has written it, naming what is wrong. Any bytes are
// safe.
core::Result<StepPlan> decode_step_plan(std::string_view text);

// Whether the nodes must agree before any task starts. What is only recorded starts whatever its nodes know
// of each other.
bool needs_agreement(const StepPlan& plan);
// For the nodes to tell each other that all are ready, at most: the slowest may still make its container.
core::Duration longest_agreement(const StepPlan& plan);

// How long the tasks of a node wait until it is prepared, at most. Errors: kBadInput for a wrong protocol.
core::Result<core::Duration> longest_preparation(const StepPlan& plan);

}  // namespace belay::step

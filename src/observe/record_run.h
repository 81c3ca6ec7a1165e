// `belay record run`: one task's command under a recorder, in a record that all tasks of the job share.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "gpu/choose.h"
#include "observe/io_tracing.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe {

struct RecordRunOptions {
    std::filesystem::path record;
    core::Duration interval = std::chrono::seconds(1);  // between samples; 10 ms to 1 h
    core::Duration flush = std::chrono::seconds(2);     // between writes; 10 ms to 1 h
    std::vector<std::string> progress_patterns;
    std::vector<std::string> command;
    std::optional<IoTracing> io = {};  // nothing: I/O is not traced
    gpu::SourceChoice gpus = {};       // as in RecorderOptions
};

// Errors: kBadInput for a period that a recorder does not take.
core::Result<> check_period(std::string_view name, core::Duration period);

// Runs the command to its end and returns how it ended. Where the record cannot be written (a full disk, no
// permission), says so on stderr and becomes the command, unrecorded. Errors: kBadInput for options,
// patterns, or a directory that holds something else, before the command is started; kSystem if it cannot be
// started.
core::Result<core::ExitStatus> record_run(const RecordRunOptions& options);

}  // namespace belay::observe

// The entrypoint of an image (`entrypoint = true`): started once per node, in the container, with belay-entry
// as its command. What it exports becomes the tasks'; what it starts lives as long as the container.
#pragma once

#include "core/process.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::env {

// Where the container sees the directory that offer_entry() has filled.
inline constexpr const char* kEntryDirectory = BELAY_ENTRY_DIRECTORY;

// From "NAME=VALUE"; other entries are left out.
core::Environment variables_of(const std::vector<std::string_view>& entries);

core::Result<> offer_entry(const std::filesystem::path& directory);

struct Entered {
    core::Process process;        // the entrypoint, or what it has become
    core::Environment variables;  // of its command
};

// Why there is no command: how the entrypoint ended, or nothing if it did not in time; `printed` is the end
// of its output. Errors: kBadInput where it ended by itself; kSystem where it was killed or hangs, which a
// file server or too little memory does to a right one as well.
core::Error entrypoint_failure(const std::string& program, const std::optional<core::ExitStatus>& ended,
                               std::string_view printed);

// `init` is a process in the container, `directory` what offer_entry() filled; once `link` is hung up nobody
// waits for it. Errors: entrypoint_failure(); of Container::join and execute where it could not be started;
// kSystem.
core::Result<Entered> run_entrypoint(const std::vector<std::string>& entrypoint,
                                     const core::Environment& variables, const std::string& workdir,
                                     pid_t init, const std::filesystem::path& directory, int link);

// Kills all that descends from this process, which must be a reaper of orphans (PR_SET_CHILD_SUBREAPER).
void end_descendants();

}  // namespace belay::env

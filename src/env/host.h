// What an environment needs to know of the machine and of whoever asks for it; tests pass their own.
#pragma once

#include "core/error.h"
#include "core/process.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::env {

// A file whatever its name: device and inode.
using FileIdentity = std::pair<uint64_t, uint64_t>;

struct Files {
    std::function<core::Result<std::string>(const std::filesystem::path&)> read;
    // Errors: kSystem; its cause is kNotFound if it is not there.
    std::function<core::Result<FileIdentity>(const std::filesystem::path&)> identify;
    std::function<std::vector<std::string>(const std::filesystem::path& directory)>
        list;  // names, for "did you mean"
};

struct Host {
    core::Environment variables;
    std::filesystem::path directory;                        // of the caller, absolute
    std::vector<std::filesystem::path> system_directories;  // searched after the user's
    Files files;
};

// The files of this machine. EDF files of more than 1 MiB are refused.
Files real_files();
// What to say of a file that `identify` did not find: `not_there`, unless it may well be there.
std::string why_not(const core::Error& error, std::string not_there);
// The error where it is the machine's failure; nothing where the file is not there, or is not as it has to
// be.
std::optional<core::Error> failure_in(const core::Error& error);
// This process: its variables and directory. Errors: kSystem if it has no directory any more.
core::Result<Host> this_host(std::vector<std::filesystem::path> system_directories);

// "./x" and "../x" stand on the caller's directory, also in inherited files.
bool is_relative_to_caller(std::string_view path);
std::filesystem::path from_caller(std::string_view path, const Host& host);

}  // namespace belay::env

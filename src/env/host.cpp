#include "env/host.h"

#include "core/activity.h"
#include "core/file.h"

#include <cerrno>
#include <sys/stat.h>

namespace belay::env {

namespace fs = std::filesystem;

Files real_files() {
    constexpr size_t kLargestFile = size_t{1} << 20;
    return {.read = [](const fs::path& path) { return core::read_file(path, kLargestFile); },
            .identify = [](const fs::path& path) -> core::Result<FileIdentity> {
                core::note_activity("look at", path.native());
                struct stat status{};
                if (stat(path.c_str(), &status) != 0)
                    return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
                return FileIdentity{status.st_dev, status.st_ino};
            },
            .list =
                [](const fs::path& directory) {
                    core::note_activity("list", directory.native());
                    std::vector<std::string> names;
                    std::error_code error;
                    fs::directory_iterator entries(directory, error);
                    for (; !error && entries != fs::directory_iterator(); entries.increment(error))
                        names.push_back(entries->path().filename().string());
                    return names;
                }};
}

std::string why_not(const core::Error& error, std::string not_there) {
    if (error.cause() == core::Cause::kNotFound) return not_there;
    return error.message();
}

std::optional<core::Error> failure_in(const core::Error& error) {
    const bool failed = error.kind() == core::ErrorKind::kSystem && error.cause() != core::Cause::kNotFound;
    return failed ? std::optional(error) : std::nullopt;
}

core::Result<Host> this_host(std::vector<fs::path> system_directories) {
    BELAY_TRY(directory, core::current_directory());
    return Host{core::current_environment(), std::move(directory), std::move(system_directories),
                real_files()};
}

bool is_relative_to_caller(std::string_view path) {
    return path == "." || path == ".." || path.starts_with("./") || path.starts_with("../");
}

fs::path from_caller(std::string_view path, const Host& host) {
    if (!is_relative_to_caller(path)) return path;
    return (host.directory / path).lexically_normal();
}

}  // namespace belay::env

#include "env/search.h"

#include "core/text.h"

#include <algorithm>

namespace belay::env {

namespace fs = std::filesystem;

namespace {

std::string variable(const Host& host, const char* name) {
    auto found = host.variables.find(name);
    return found == host.variables.end() ? std::string() : found->second;
}

std::vector<fs::path> search_directories(const Host& host, const Place& place, Problems& problems) {
    std::vector<fs::path> directories;
    if (std::string own = variable(host, "EDF_PATH"); !own.empty()) {
        for (std::string_view part : core::split(own, ':')) {
            if (part.starts_with('/'))
                directories.emplace_back(part);
            else if (!part.empty())
                problems.push_back(make_problem(
                    "W_EDF_PATH", place,
                    fmt::format("\"{}\" in EDF_PATH is not an absolute path and is skipped", part)));
        }
    } else if (std::string home = variable(host, "HOME"); !home.empty()) {
        directories.push_back(fs::path(home) / ".edf");
    }
    directories.insert(directories.end(), host.system_directories.begin(), host.system_directories.end());
    return directories;
}

bool has_parent_part(std::string_view name) {
    return std::ranges::any_of(core::split(name, '/'), [](std::string_view part) { return part == ".."; });
}

std::string near_match(const fs::path& wanted, const std::vector<fs::path>& directories, const Host& host) {
    std::string file = wanted.filename().string();
    for (const fs::path& directory : directories) {
        std::vector<std::string> names = host.files.list(directory);
        std::erase_if(names, [](const std::string& name) { return !name.ends_with(".toml"); });
        std::vector<std::string_view> candidates(names.begin(), names.end());
        if (auto meant = core::nearest(file, candidates))
            return fmt::format("did you mean {}?", (directory / *meant).string());
    }
    return {};
}

}  // namespace

std::optional<fs::path> find_environment(std::string_view name, const Host& host, const Place& place,
                                         Problems& problems) {
    if (name.empty()) {
        problems.push_back(make_problem("E_NOTFOUND", place, "an empty text names no environment"));
        return std::nullopt;
    }
    bool is_path = name.starts_with('/') || is_relative_to_caller(name) || name.ends_with(".toml");
    if (is_path) {
        fs::path path = (host.directory / name).lexically_normal();
        auto found = host.files.identify(path);
        if (found) return path;
        problems.push_back(file_problem(place, found.error(),
                                        fmt::format("there is no file {}", path.string()),
                                        near_match(path, {path.parent_path()}, host)));
        return std::nullopt;
    }
    if (has_parent_part(name)) {
        problems.push_back(make_problem("E_NOTFOUND", place,
                                        fmt::format("the name \"{}\" must not contain \"..\"", name),
                                        fmt::format("for a file, write ./{}.toml", name)));
        return std::nullopt;
    }
    std::vector<fs::path> directories = search_directories(host, place, problems);
    fs::path file = fmt::format("{}.toml", name);
    std::vector<std::string> tried;
    std::vector<fs::path> parents;
    std::optional<core::Error> closed;  // the first that may not be looked into
    for (const fs::path& directory : directories) {
        auto found = host.files.identify(directory / file);
        if (found) return directory / file;
        // HOME may be another user's, which is not looked into; else another file of this name is not what
        // was meant.
        if (found.error().cause() == core::Cause::kDenied) {
            if (!closed) closed = std::move(found.error());
        } else if (found.error().cause() != core::Cause::kNotFound) {
            problems.push_back(file_problem(place, found.error(), {}));
            return std::nullopt;
        }
        tried.push_back(directory.string());
        parents.push_back((directory / file).parent_path());
    }
    std::string hint = near_match(file, parents, host);
    if (hint.empty()) hint = fmt::format("for a file in this directory, write ./{}.toml", name);
    std::string message = fmt::format("no environment \"{}\" in {}", name,
                                      tried.empty() ? "any directory" : core::join(tried, ", "));
    if (!closed) {
        problems.push_back(make_problem("E_NOTFOUND", place, std::move(message), std::move(hint)));
        return std::nullopt;
    }
    Problem problem = file_problem(place, *closed, {});
    problem.message = fmt::format("{}: {}", message, closed->message());
    problem.hint = std::move(hint);
    problems.push_back(std::move(problem));
    return std::nullopt;
}

}  // namespace belay::env

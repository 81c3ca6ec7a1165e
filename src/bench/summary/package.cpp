#include "bench/summary/package.h"

#include "core/json.h"
#include "core/python_json.h"
#include "core/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::bench {

namespace {

namespace fs = std::filesystem;
using core::Directory;
using core::FileType;
using core::Result;

constexpr std::string_view kParameters = "package_checker_params";
constexpr std::string_view kScalingFile = "scaling.json";
constexpr std::string_view kPruned = "pruned_results";
// What belongs into a folder of logs beside them: power/ is of the measurement of energy.
constexpr std::array<std::string_view, 4> kKnown = {kParameters, kScalingFile, kPruned, "power"};
constexpr size_t kMostParameterBytes = size_t{1} << 20;

std::string join_name(std::string_view folder, std::string_view name) {
    return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

bool is_log_name(std::string_view name) {
    return name.starts_with("result_") && name.ends_with(".txt") &&
           name.size() >= std::string_view("result_.txt").size();
}

// The directories in one, by name. What cannot be listed, links and what is too much become problems.
std::vector<std::string> folders_in(const Directory& root, const std::string& path,
                                    std::vector<std::string>& problems) {
    std::vector<std::string> folders;
    const auto here = root.enter(path);
    if (!here) {
        problems.push_back(here.error().message());
        return folders;
    }
    const auto names = here->list();
    if (!names) {
        problems.push_back(names.error().message());
        return folders;
    }
    for (const std::string& name : *names) {
        const auto facts = here->facts(name);
        if (!facts || !*facts) continue;  // gone by now
        if ((*facts)->type == FileType::kLink)
            problems.push_back(
                fmt::format("{} is a symbolic link, which is not followed: put what it leads to in "
                            "its place",
                            join_name(path, name)));
        if ((*facts)->type != FileType::kDirectory) continue;
        if (folders.size() == kMostFolders) {
            problems.push_back(fmt::format("{} holds more than {} folders: the others were not looked at",
                                           path.empty() ? "the package" : path, kMostFolders));
            break;
        }
        folders.push_back(name);
    }
    return folders;
}

bool is_folder(const Directory& root, const std::string& path) {
    const auto facts = root.facts(path);
    return facts && *facts && (*facts)->type == FileType::kDirectory;
}

// Why a folder that must be there cannot be used.
std::string missing_folder(const Directory& root, const std::string& path, std::string_view holds) {
    const auto facts = root.facts(path);
    if (!facts) return facts.error().message();
    if (!*facts) return fmt::format("{} is missing: it holds {}", path, holds);
    if ((*facts)->type == FileType::kLink)
        return fmt::format("{} is a symbolic link, which is not followed: put what it leads to in its place",
                           path);
    return fmt::format("{} is not a folder: it holds {}", path, holds);
}

// The bytes of a file that may be missing.
std::optional<std::string> read_if_there(const Directory& root, const std::string& path, size_t limit,
                                         std::vector<std::string>& problems) {
    const auto facts = root.facts(path);
    if (facts && !*facts) return std::nullopt;
    auto text = root.read_file(path, limit);
    if (text) return std::move(*text);
    problems.push_back(text.error().message());
    return std::nullopt;
}

void read_bypass(const Directory& root, const std::string& folder, bool official, Bypass& bypass,
                 std::vector<std::string>& problems) {
    const auto text = read_if_there(root, join_name(folder, kParameters), kMostParameterBytes, problems);
    if (!text) return;
    const Bypass more = parse_bypass(*text, official);
    bypass.rcp |= more.rcp;
    bypass.seeds |= more.seeds;
}

// Names of a folder from `path`, sorted: logs, at most kMostLogsOfFolder, and what else lies there.
void list_logs(const Directory& root, const std::string& path, std::string_view prefix,
               std::vector<std::string>& logs, std::vector<std::string>& others,
               std::vector<std::string>& problems) {
    const auto here = root.enter(path);
    const auto names = here ? here->list() : std::unexpected(here.error());
    if (!names) {
        problems.push_back(names.error().message());
        return;
    }
    size_t more = 0;
    for (const std::string& name : *names) {
        if (!is_log_name(name)) {
            if (std::ranges::find(kKnown, name) == kKnown.end()) others.push_back(name);
        } else if (logs.size() < kMostLogsOfFolder) {
            logs.push_back(join_name(prefix, name));
        } else {
            ++more;
        }
    }
    if (more > 0)
        problems.push_back(
            fmt::format("{} holds {} logs more than {}: they were not read", path, more, kMostLogsOfFolder));
}

void read_benchmark(const Directory& root, BenchmarkFolder& folder, bool official) {
    list_logs(root, folder.path, "", folder.logs, folder.others, folder.problems);
    read_bypass(root, folder.path, official, folder.bypass, folder.problems);
    const std::string pruned = join_name(folder.path, kPruned);
    std::vector<std::string> others;
    if (is_folder(root, pruned))
        list_logs(root, pruned, kPruned, folder.pruned_logs, others, folder.problems);
    const std::string scaling_file = join_name(folder.path, kScalingFile);
    if (const auto text = read_if_there(root, scaling_file, kMostSystemBytes, folder.problems)) {
        const auto factor = parse_scaling(*text, scaling_file);
        if (factor)
            folder.scaling_file = *factor;
        else
            folder.problems.push_back(factor.error().headline());
    }
}

void read_description(const Directory& root, const std::string& organisation, SystemFolder& system) {
    const std::string file = join_name(organisation, fmt::format("systems/{}.json", system.name));
    std::vector<std::string> problems;
    const auto text = read_if_there(root, file, kMostSystemBytes, problems);
    if (!text) {
        system.problems.push_back(problems.empty() ? fmt::format("{} is missing", file) : problems.front());
        return;
    }
    auto description = parse_system_description(*text, file);
    if (!description) {
        system.problems.push_back(description.error().headline());
        return;
    }
    if (!description->missing.empty())
        system.problems.push_back(
            fmt::format("{}: required fields are missing: {}", file, core::join(description->missing, ", ")));
    system.description = std::move(*description);
}

SystemFolder read_system(const Directory& root, const std::string& organisation, const std::string& name,
                         bool official) {
    SystemFolder system{.name = name};
    read_description(root, organisation, system);
    const std::string path = join_name(organisation, join_name("results", name));
    Bypass bypass;
    read_bypass(root, path, official, bypass, system.problems);
    for (const std::string& scaling : folders_in(root, path, system.problems)) {
        const std::string scaling_path = join_name(path, scaling);
        for (const std::string& benchmark : folders_in(root, scaling_path, system.problems)) {
            BenchmarkFolder folder{
                .system = name,
                .scaling = scaling,
                .benchmark = benchmark,
                .path = join_name(scaling_path, benchmark),
                .bypass = bypass,
                .has_code = is_folder(root, join_name(organisation, "benchmarks/" + benchmark))};
            read_benchmark(root, folder, official);
            system.benchmarks.push_back(std::move(folder));
        }
    }
    return system;
}

// Descriptions without results are checked as well, as the official package checker does.
void add_systems_without_results(const Directory& root, const std::string& organisation, Package& package) {
    const std::string path = join_name(organisation, "systems");
    if (!is_folder(root, path)) {
        package.problems.push_back(missing_folder(root, path, "the description of each system"));
        return;
    }
    const auto here = root.enter(path);
    const auto names = here ? here->list() : std::unexpected(here.error());
    if (!names) {
        package.problems.push_back(names.error().message());
        return;
    }
    for (const std::string& name : *names) {
        constexpr std::string_view kSuffix = ".json";
        if (!name.ends_with(kSuffix) || package.systems.size() >= kMostFolders) continue;
        const std::string system_name = name.substr(0, name.size() - kSuffix.size());
        if (std::ranges::find(package.systems, system_name, &SystemFolder::name) != package.systems.end())
            continue;
        SystemFolder system{.name = system_name};
        read_description(root, organisation, system);
        package.systems.push_back(std::move(system));
    }
}

Package read_package(const Directory& root, const std::string& path, std::string name, bool official) {
    Package package{.name = std::move(name)};
    const std::string results = join_name(path, "results");
    if (is_folder(root, results))
        for (const std::string& system : folders_in(root, results, package.problems))
            package.systems.push_back(read_system(root, path, system, official));
    else
        package.problems.push_back(missing_folder(root, results, "the logs"));
    add_systems_without_results(root, path, package);
    return package;
}

// The last names of the path: "org", "results", "SYSTEM", "strong", "oc20" where it is one of a package.
std::vector<std::string> last_names(const fs::path& path) {
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    std::vector<std::string> names;
    for (const fs::path& part : error ? path : whole) names.push_back(part.string());
    return names;
}

Package read_single_folder(const Directory& root, bool official) {
    const std::vector<std::string> names = last_names(root.path());
    const size_t count = names.size();
    const bool in_package = count >= 5 && names[count - 4] == "results" &&
                            (names[count - 2] == "strong" || names[count - 2] == "weak");
    BenchmarkFolder folder{.system = in_package ? names[count - 3] : std::string(),
                           .scaling = count >= 2 && names[count - 2] == "weak" ? "weak" : "strong",
                           .benchmark = in_package ? names[count - 1] : std::string(),
                           .has_code = true};
    read_benchmark(root, folder, official);
    Package package{.name = in_package ? names[count - 5] : std::string()};
    package.systems.push_back({.name = folder.system, .benchmarks = {folder}});
    return package;
}

}  // namespace

Bypass parse_bypass(std::string_view text, bool official) {
    Bypass bypass;
    const std::vector<std::string_view> lines = core::split(text, '\n');
    for (size_t at = 0; at < lines.size(); ++at) {
        if (official && at + 1 < lines.size()) continue;  // it ends with a newline
        const std::string_view line = official ? lines[at] : core::trim(lines[at]);
        bypass.rcp |= line == "rcp-bypass";
        bypass.seeds |= line == "seed-checker-bypass";
    }
    return bypass;
}

Result<double> parse_scaling(std::string_view text, std::string_view file) {
    BELAY_TRY(json, core::parse_json_file(text, file));
    const auto factor = json.is_object() ? json.find("scaling_factor") : json.end();
    if (!json.is_object() || factor == json.end() || !factor->is_number() || !(factor->get<double>() > 0))
        return core::bad_input("{}: \"scaling_factor\" is not a number above 0", file);
    return factor->get<double>();
}

std::string format_scaling(double factor) {
    return fmt::format("{{\"scaling_factor\": {}}}", core::write_python_float(factor));
}

Result<std::vector<Package>> walk_packages(const Directory& root, bool official) {
    BELAY_TRY(names, root.list());
    if (std::ranges::any_of(names, is_log_name)) return std::vector{read_single_folder(root, official)};
    if (is_folder(root, "results") || is_folder(root, "systems")) {
        const std::vector<std::string> parts = last_names(root.path());
        return std::vector{read_package(root, "", parts.empty() ? std::string() : parts.back(), official)};
    }
    std::vector<Package> packages;
    std::vector<std::string> problems;
    for (const std::string& name : folders_in(root, "", problems))
        if (is_folder(root, join_name(name, "results")) || is_folder(root, join_name(name, "systems")))
            packages.push_back(read_package(root, name, name, official));
    if (packages.empty())
        return core::bad_input("{} is not a submission package", root.path().string())
            .hint(
                "name a folder with systems/ and results/, one with such folders in it, or one with "
                "result_*.txt");
    packages.front().problems.insert(packages.front().problems.begin(), problems.begin(), problems.end());
    return packages;
}

}  // namespace belay::bench

#include "report/program_name.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace belay::report {

namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "sh", "dash"};

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// What follows the options and assignments of env(1).
std::span<const std::string> after_env(std::span<const std::string> command) {
    size_t i = 1;
    while (i < command.size() && (command[i].starts_with('-') || command[i].find('=') != std::string::npos))
        i += command[i] == "-u" || command[i] == "-C" ? 2 : 1;
    return command.subspan(std::min(i, command.size()));
}

// The script or module that an interpreter runs; empty for one that is typed in (-c).
std::string_view script_of(std::span<const std::string> command) {
    for (size_t i = 1; i < command.size(); ++i) {
        const std::string& word = command[i];
        if (word == "-m")
            return i + 1 < command.size() ? std::string_view(command[i + 1]) : std::string_view();
        if (word == "-W" || word == "-X") {
            ++i;
            continue;
        }
        if (!word.starts_with('-')) return file_name(word);
        if (word == "-" || word.ends_with('c')) return {};
    }
    return {};
}

}  // namespace

std::string program_name(std::span<const std::string> command) {
    while (!command.empty() && file_name(command[0]) == "env") {
        const auto rest = after_env(command);
        if (rest.empty()) break;
        command = rest;
    }
    if (command.empty()) return {};
    const std::string_view program = file_name(command[0]);
    const bool interprets =
        program.starts_with("python") || std::ranges::find(kShells, program) != kShells.end();
    const std::string_view script = interprets ? script_of(command) : std::string_view();
    return std::string(script.empty() ? program : script);
}

}  // namespace belay::report

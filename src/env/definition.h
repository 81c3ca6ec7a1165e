// What an environment definition file (EDF) says, before inheritance and before anything is expanded.
#pragma once

#include "core/time.h"
#include "env/problem.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::env {

template <typename T>
struct Written {
    T value;
    Place place;
    // Where in the line the text itself begins, after its quote; 0 if the file spells it otherwise (escapes,
    // lines), so that only the whole value can be pointed at.
    int text_column = 0;
};
using WrittenText = Written<std::string>;

enum class StartupScope { kNode, kTask };
enum class StartupFailure { kAbort, kWarn };

// A command that runs in the container before the tasks.
struct Startup {
    std::string name;
    std::vector<WrittenText> command;
    StartupScope once = StartupScope::kNode;
    core::Duration timeout = std::chrono::seconds(60);
    StartupFailure on_failure = StartupFailure::kAbort;
    Place place;
};

struct Definition {
    std::vector<WrittenText> bases;
    std::optional<WrittenText> image;
    std::optional<WrittenText> workdir;
    std::optional<Written<bool>> entrypoint;
    std::optional<Written<bool>> writable;
    std::vector<WrittenText> mounts;
    std::vector<WrittenText> devices;
    std::map<std::string, WrittenText> env;
    std::map<std::string, WrittenText> annotations;  // by flattened key
    std::vector<Startup> startup;
};

}  // namespace belay::env

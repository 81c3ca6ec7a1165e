// Environments and problems as the commands print them with --json; the shapes are stable.
#pragma once

#include "env/environment.h"

#include <nlohmann/json.hpp>

namespace belay::env {

// {"file","ok","problems":[…]}; "ok" as told, since --strict counts differently. A problem has a "cause"
// where the machine failed at something.
nlohmann::ordered_json to_json(std::string_view file, bool ok, const Problems& problems);

// {"image","workdir","entrypoint","writable","mounts",…}; `variables` are those of [env], expanded. With
// `explain` also
// {"origin":{…}}, where each value was written.
nlohmann::ordered_json to_json(const Environment& environment,
                               const std::map<std::string, std::string>& variables, bool explain);

}  // namespace belay::env

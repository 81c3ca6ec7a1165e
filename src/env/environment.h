// The environment of a job: merged, expanded and checked, ready to be planned. This is where EDF text ends:
// what comes after it works with values only.
#pragma once

#include "env/definition.h"
#include "env/host.h"
#include "env/mount.h"
#include "image/reference.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::env {

struct ResolvedStartup {
    std::string name;
    std::vector<std::string> command;
    StartupScope once = StartupScope::kNode;
    core::Duration timeout{};
    StartupFailure on_failure = StartupFailure::kAbort;
};

struct Environment {
    std::string name;                // as it was asked for
    std::vector<std::string> files;  // that it was read from, in the order in which they take effect
    std::string image;               // expanded, as written; "" runs on the host
    std::optional<image::Reference> reference;
    std::string workdir;  // "" leaves it to the image
    bool entrypoint = false;
    bool writable = true;
    std::vector<Mount> mounts;  // in merge order; of one destination only the last
    std::vector<std::string> devices;
    std::map<std::string, WrittenText> env;  // not expanded: these may also refer to what the image sets
    std::vector<std::string> unset;
    std::map<std::string, std::string> annotations;
    std::vector<ResolvedStartup> startup;
    std::map<std::string, std::string> origins;  // "image", "mounts[0]", "env.K" -> FILE:LINE

    bool runs_on_host() const { return image.empty(); }
};

// Finds, merges, expands and checks. Look at `problems` first: with an error in them, the result is as far as
// it went.
Environment load_environment(std::string_view name, const Host& host, Problems& problems);

// The variables that [env] sets. A name is looked up in the image's variables, then in the caller's; never in
// [env] itself. What cannot be expanded is reported and left out.
std::map<std::string, std::string> expand_variables(const Environment& environment,
                                                    const core::Environment& image,
                                                    const core::Environment& caller, Problems& problems);
// The same where the image is not at hand: a variable that the caller does not have is a warning, for the
// image may set it, and the value stays as it is written.
std::map<std::string, std::string> expand_without_image(const Environment& environment,
                                                        const core::Environment& caller, Problems& problems);

// For whoever is about to run it: what is not built yet is an error (E_UNSUPPORTED) now.
void refuse_unsupported(Problems& problems);

// Warnings count as errors, except that an environment which says `image = ""` means it.
bool passes_strictly(const Problems& problems);

}  // namespace belay::env

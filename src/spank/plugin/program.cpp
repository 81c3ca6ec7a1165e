// Where belay-step is, and what this node is called.
#include "spank/plugin/plugin.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace belay::spank {

namespace {

// From lib/ of a build, lib/slurm/ and lib/MULTIARCH/slurm/ of an installation to bin/.
constexpr const char* kProgramPlaces[] = {"../bin/belay-step", "../../bin/belay-step",
                                          "../../../bin/belay-step"};

}  // namespace

bool find_step_program(char* path, size_t size) {
    Dl_info facts;
    if (dladdr(reinterpret_cast<const void*>(&find_step_program), &facts) == 0 || facts.dli_fname == nullptr)
        return false;
    const char* slash = strrchr(facts.dli_fname, '/');
    int directory = slash == nullptr ? 0 : static_cast<int>(slash - facts.dli_fname) + 1;
    for (const char* place : kProgramPlaces) {
        int length = snprintf(path, size, "%.*s%s", directory, facts.dli_fname, place);
        if (length > 0 && static_cast<size_t>(length) < size && access(path, X_OK) == 0) return true;
    }
    path[0] = '\0';
    return false;
}

const char* node_name() {
    // slurmstepd has it from slurmd; where several nodes share a machine, the host's name would be wrong.
    const char* name = getenv("SLURMD_NODENAME");
    static char host[256];
    if (name != nullptr) return name;
    return gethostname(host, sizeof host) == 0 ? host : "this node";
}

}  // namespace belay::spank

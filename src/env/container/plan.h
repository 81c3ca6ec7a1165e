// What a container shall be, decided: a value that is executed without looking anything up again.
#pragma once

#include "core/units.h"
#include "env/environment.h"

#include <string>
#include <vector>

namespace belay::env {

// What an image says of itself (OCI image configuration, or the files that enroot leaves in a SquashFS
// image).
struct ImageFacts {
    core::Environment variables;
    std::vector<std::string> entrypoint;
    std::vector<std::string> command;
    std::string workdir;
};

struct Bind {
    std::string source;  // a SquashFS file if `squashfs`
    std::string destination;
    std::vector<std::string> options;  // of the OCI runtime specification: "rbind", "rro" …
    bool squashfs = false;
    bool if_present = false;  // left out where the node does not have the source
    bool is_file = false;     // as the node has it
    bool operator==(const Bind&) const = default;
};

// How a task's variables come about.
struct VariablePlan {
    core::Environment environment;   // what the definition sets, expanded
    std::vector<std::string> unset;  // what it takes away
    core::Environment image;
    bool operator==(const VariablePlan&) const = default;
};

struct ContainerPlan {
    std::string image_file;  // SquashFS
    bool writable = true;
    core::ByteSize overlay_size;  // of what tasks may write into the container's own files, in memory
    std::vector<Bind> binds;      // shallow destinations first, so that none is hidden
    std::string workdir;
    std::vector<std::string> entrypoint;  // started once per node; empty if none
    bool operator==(const ContainerPlan&) const = default;
};

// What becomes of a task's variables: first `unset`, then `set`.
struct VariableChanges {
    std::vector<std::string> unset;
    core::Environment set;
};
// What becomes of a host's variables in the container: definition over image over host. What Slurm and PMI
// tell the task always comes from the host, and the host's language settings stay outside, since the image
// may not have that language.
VariableChanges changes_in_container(const VariablePlan& plan);
core::Environment changed_by(const VariableChanges& changes, core::Environment variables);

struct PlanOptions {
    std::string image_file;
    core::ByteSize overlay_size;
};

ContainerPlan make_plan(const Environment& environment, const ImageFacts& image, const PlanOptions& options);

// config.json of the OCI bundle (runtime specification 1.0.2). The container's user namespace maps user and
// group of the caller, who is 0 in the namespace around it, to themselves. SquashFS binds are mounted before,
// at `squashfs_paths`.
std::string oci_config(const ContainerPlan& plan, const std::string& root,
                       const std::vector<std::string>& squashfs_paths, unsigned user, unsigned group);

}  // namespace belay::env

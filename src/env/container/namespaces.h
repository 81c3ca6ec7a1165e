// The namespaces and mounts of a container's holder. All of it acts on this process and vanishes with its
// namespaces: nothing is left on any disk, whatever is killed.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/units.h"

#include <filesystem>
#include <string_view>

namespace belay::env {

// User and group as which the caller came.
struct Identity {
    unsigned user = 0;
    unsigned group = 0;
};

// Puts this process, which must have one thread, into a user, a mount and a cgroup namespace of its own,
// where it is user 0 and what is mounted stays unseen outside. Errors: kSystem, with what the site must
// allow.
core::Result<Identity> enter_own_namespaces();

// A directory in memory for everything that belongs to the container, of at most `size` bytes. It covers a
// directory of the system that jobs do not use, in this mount namespace only. /sys without it is at
// SCRATCH/sys.
core::Result<std::filesystem::path> mount_scratch(core::ByteSize size);

// Mounts a SquashFS file with squashfuse_ll, which runs in the foreground as our child and dies with us.
// `image` is opened by the caller's rights. Errors: kSystem, with what squashfuse_ll said.
core::Result<core::Process> mount_squashfs(const std::filesystem::path& image,
                                           const std::filesystem::path& target);

// What is written to `target` lands in `upper`; `lower` shows through.
core::Result<> mount_overlay(const std::filesystem::path& lower, const std::filesystem::path& upper,
                             const std::filesystem::path& work, const std::filesystem::path& target);

// crun refuses hosts with both versions of cgroups (1.8): it gets to see version 2 only.
core::Result<> show_one_cgroup_version();

// What programs that we start get for an environment: nothing of the user's.
core::Environment own_programs_environment();

}  // namespace belay::env

// What the file systems of a site are made for.
#pragma once

#include "core/error.h"
#include "procfs/mountinfo.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::collect {

struct Tier {
    std::string mount_point;
    std::string name;
};

// From "MOUNT POINT=TIER". Errors: kBadInput.
core::Result<std::vector<Tier>> parse_tiers(std::span<const std::string> texts);

// As the site says; else memory and node by the type of the file system; empty where that does not tell.
std::string_view tier_of(const procfs::Mount& mount, std::span<const Tier> tiers);

}  // namespace belay::observe::collect

#include "observe/collect/tiers.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace belay::observe::collect {

using core::Result;

namespace {

constexpr std::string_view kTiers[] = {"memory", "node", "flash", "disk", "home"};

struct TierOfType {
    std::string_view type;
    std::string_view tier;
};
// Of those that the others on the network do not have.
constexpr TierOfType kByType[] = {
    {"tmpfs", "memory"}, {"ext4", "node"}, {"xfs", "node"},     {"btrfs", "node"},
    {"f2fs", "node"},    {"zfs", "node"},  {"overlay", "node"},
};

}  // namespace

Result<std::vector<Tier>> parse_tiers(std::span<const std::string> texts) {
    std::vector<Tier> tiers;
    for (const std::string& text : texts) {
        const size_t equals = text.rfind('=');
        const std::string name = equals == std::string::npos ? "" : text.substr(equals + 1);
        if (!text.starts_with('/') || std::ranges::find(kTiers, name) == std::end(kTiers))
            return core::bad_input("record.tiers: \"{}\" is not a mount point with its tier", text)
                .hint(fmt::format("for example \"/scratch=flash\"; tiers are {}", fmt::join(kTiers, ", ")));
        tiers.push_back({text.substr(0, equals), name});
    }
    return tiers;
}

std::string_view tier_of(const procfs::Mount& mount, std::span<const Tier> tiers) {
    if (const auto named = std::ranges::find(tiers, mount.mount_point, &Tier::mount_point);
        named != tiers.end())
        return named->name;
    const auto known = std::ranges::find(kByType, mount.type, &TierOfType::type);
    return known == std::end(kByType) ? std::string_view() : known->tier;
}

}  // namespace belay::observe::collect

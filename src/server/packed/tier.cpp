#include "server/packed/tier.h"

#include "server/packed/span_table.h"

#include <algorithm>

namespace belay::server {

namespace {

struct TierRow {
    Tier tier;
    std::string_view name;
    core::Duration width;
};
constexpr TierRow kTierRows[] = {
    {Tier::kRaw, "raw", {}},
    {Tier::kTenSeconds, "10s", std::chrono::seconds(10)},
    {Tier::kMinute, "60s", std::chrono::seconds(60)},
};

}  // namespace

std::string_view tier_name(Tier tier) {
    return kTierRows[static_cast<size_t>(tier)].name;
}

std::optional<Tier> tier_named(std::string_view name) {
    const auto found = std::ranges::find(kTierRows, name, &TierRow::name);
    return found == std::end(kTierRows) ? std::nullopt : std::optional(found->tier);
}

core::Duration width_of(Tier tier) {
    return kTierRows[static_cast<size_t>(tier)].width;
}

std::span<const schema::Table* const> tables_of(Tier tier) {
    return tier == Tier::kRaw ? schema::tables() : span_tables();
}

}  // namespace belay::server

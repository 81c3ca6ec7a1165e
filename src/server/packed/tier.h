// How finely rows are kept.
#pragma once

#include "core/time.h"
#include "schema/schema.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace belay::server {

enum class Tier : uint8_t {
    kRaw,         // rows as they were sampled
    kTenSeconds,  // spans of 10 s, made of them (spans.h)
    kMinute,      // spans of 60 s
};
inline constexpr std::array kTiers = {Tier::kRaw, Tier::kTenSeconds, Tier::kMinute};

// "raw", "10s", "60s".
std::string_view tier_name(Tier tier);
std::optional<Tier> tier_named(std::string_view name);
// Of its spans; 0 for raw rows.
core::Duration width_of(Tier tier);
// The tables that a file of the tier may have: those of the schema, or tables of spans made of them.
std::span<const schema::Table* const> tables_of(Tier tier);

}  // namespace belay::server

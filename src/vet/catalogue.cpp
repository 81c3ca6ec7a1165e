#include "vet/catalogue.h"

#include <array>

namespace belay::vet {

namespace {

constexpr std::string_view kVetnodePrefix = "vetnode.evaluations.";
constexpr std::array<std::string_view, 18> kKindNames{
    "text",      "integer",  "number",        "share",
    "boolean",   "duration", "seconds",       "size",
    "bandwidth", "list",     "patterns",      "classes",
    "map",       "size1024", "bandwidth1024", "bandwidth1024 or GB/s",
    "map",       "list"};

}  // namespace

std::span<const CheckType> catalogue() {
    static const std::vector<CheckType> kAll = [] {
        std::vector<CheckType> all;
        for (auto part : {host_check_types(), gpu_check_types(), device_check_types(), vetnode_check_types()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return kAll;
}

const CheckType* find_check_type(std::string_view type) {
    for (const CheckType& row : catalogue())
        if (row.type == type || (row.vetnode && row.type.substr(kVetnodePrefix.size()) == type)) return &row;
    return nullptr;
}

std::string_view kind_name(Kind kind) {
    return kKindNames[static_cast<size_t>(kind)];
}

std::string_view scope_name(Scope scope) {
    return scope == Scope::kNode ? "node" : "step";
}

std::string_view cost_name(Cost cost) {
    return cost == Cost::kInstant ? "instant" : cost == Cost::kShort ? "short" : "exclusive";
}

}  // namespace belay::vet

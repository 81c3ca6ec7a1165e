// Looking for names in what was read.
#include "bench/models/oc20/files/pickle.h"

namespace belay::bench::oc20 {

bool Pickle::is_name(Number value, std::string_view module, std::string_view name) const {
    const Value& found = values_[value];
    return found.kind == Kind::kName && found.module == module && found.text == name;
}

std::optional<Pickle::Number> Pickle::find(Number dictionary, std::string_view key) const {
    const Value& found = values_[dictionary];
    if (found.kind != Kind::kDictionary) return std::nullopt;
    for (size_t i = found.parts.size(); i >= 2; i -= 2) {
        const Value& candidate = values_[found.parts[i - 2]];
        if (candidate.kind == Kind::kText && candidate.text == key) return found.parts[i - 1];
    }
    return std::nullopt;
}
}  // namespace belay::bench::oc20

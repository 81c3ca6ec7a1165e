// The SQL of a rule with its $names put in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

// Names after "$" in the order of their first use; not those in texts ('...').
std::vector<std::string> names_in(std::string_view sql);

// The SQL with each $name replaced by what `value_of` gives; one that it does not know stays.
std::string substitute(std::string_view sql,
                       const std::function<std::optional<std::string>(std::string_view)>& value_of);

// As SQL: exact, and whole even after a minus sign.
std::string number_literal(double value);
std::string time_literal(int64_t microseconds);

}  // namespace belay::findings

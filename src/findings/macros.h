// What several rules ask, as macros of SQL that a site's rules may use as well.
#pragma once

#include <span>
#include <string_view>

namespace belay::findings {

struct Macro {
    std::string_view head;  // name and parameters
    std::string_view doc;   // what it gives, and of a table its columns
    std::string_view sql;   // an expression, or TABLE and a query, of the record's tables and of series
};

std::span<const Macro> macros();

}  // namespace belay::findings

// Tables that SQL makes of the series and of what programs print, once for all rules.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "schema/schema.h"

#include <span>
#include <string_view>

namespace belay::findings {

struct DerivedColumn {
    std::string_view name;
    std::string_view unit;  // "" for none
    std::string_view doc;
    std::string_view sql = {};  // of which it is made; empty: by the SQL of its table, or it is a key
};
struct DerivedTable {
    std::string_view name;
    std::string_view doc;
    const schema::Table* source;  // the periodic table whose coverage counts for it; nullptr for none
    std::span<const DerivedColumn>
        columns;  // behind time and node; node_series has those of host_series, too
};
std::span<const DerivedTable> derived_tables();

// Makes them, of the tables of series and with the macros of prepare(). Errors: kSystem.
core::Result<> add_derived_tables(record::Archive& archive);

}  // namespace belay::findings

// Which tables rules may name beside those of the record, and of what they are made.
#pragma once

#include <string>
#include <vector>

namespace belay::findings {

// The periodic tables of the record from which these are made: whose coverage counts for them.
std::vector<std::string> tables_behind(const std::vector<std::string>& tables);

// What a prepared table consists of, for people who write rules.
struct PreparedColumn {
    std::string name;
    std::string unit;
    std::string doc;
};
struct PreparedTable {
    std::string name;
    std::string doc;
    std::vector<PreparedColumn> columns;
};
std::vector<PreparedTable> prepared_tables();

}  // namespace belay::findings

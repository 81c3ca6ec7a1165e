// --ruleset, the same for all commands that take logs by the rules of a round of MLPerf HPC.
#pragma once

#include "bench/compliance/rules.h"
#include "core/command.h"

#include <string>
#include <utility>

namespace belay::cli {

// What it is without the option.
inline std::string newest_ruleset() {
    return std::string(bench::rule_set_names().back());
}

inline void add_ruleset(core::CommandDeclaration& command, std::string& ruleset,
                        std::string meaning = "the rules of a round of MLPerf HPC") {
    const auto names = bench::rule_set_names();
    command.choice("--ruleset", ruleset, {names.begin(), names.end()}, std::move(meaning));
}

}  // namespace belay::cli

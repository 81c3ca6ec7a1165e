// The whole summary of submission packages: reads them, has each log checked, and judges each folder.
//
//   BELAY_TRY(rules, RuleSet::named("3.0.0"));
//   auto check = [&](std::string_view file, std::string_view bytes) { return check_log(rules, file, bytes, {}); };
//   BELAY_TRY(rows, summarize("NVIDIA", check, {.judge = {.round = 3}}));
#pragma once

#include "bench/summary/row.h"
#include "core/error.h"

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace belay::bench {

// The verdict on one log; called from several threads at once.
using LogCheck = std::function<LogVerdict(std::string_view file, std::string_view bytes)>;

struct SummarizeOptions {
    JudgeOptions judge;
    size_t threads = 1;  // each holds one log
    bool write_scaling =
        false;  // leave scaling.json where the RCP test gives a factor, and remove it elsewhere
};

// By organisation, system, strong before weak, benchmark. A log that cannot be read is one that does not comply.
// Errors: kBadInput where `directory` cannot be opened or is not a package; kSystem where it cannot be listed, or scaling.json
// cannot be written.
core::Result<std::vector<SummaryRow>> summarize(const std::filesystem::path& directory, const LogCheck& check,
                                                const SummarizeOptions& options);

// Whether any row has an error.
bool has_errors(std::span<const SummaryRow> rows);

}  // namespace belay::bench

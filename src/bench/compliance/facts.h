// What runs are compared by, read from the events of a log.
#pragma once

#include "bench/compliance/check.h"
#include "bench/compliance/mllog_reader.h"
#include "core/error.h"

#include <optional>
#include <span>
#include <string_view>

namespace belay::bench {

// The keys that facts are made of. A set of rules numbers them first, in this order.
enum class FactKey : int {
    kBenchmark,
    kDivision,
    kOrganisation,
    kPlatform,
    kStatus,
    kRunStart,
    kRunStop,
    kStagingStart,
    kStagingStop,
    kEpochStart,
    kEpochStop,
    kBlockStart,
    kBlockStop,
    kEvalStart,
    kEvalStop,
    kEvalError,
    kEvalAccuracy,
    kGlobalBatchSize,
    kTrainSamples,
    kEvalSamples,
    kNodes,
    kAcceleratorsPerNode,
    kRanks,
    kModelParameters,
    kSeed,
    kResumedFromStep,
    kTrackedStats,
};
std::span<const std::string_view> fact_keys();

// The fact that is the number under a key; null for a key whose fact is something else.
std::optional<double> LogFacts::* number_fact(std::string_view key);

// The minutes are those of the official summarizer: from the last run_start before the first run_stop. The epochs
// are those of its RCP test: epoch_num of the last eval_error or eval_accuracy before a run_stop with status
// "success", to three decimals. Intervals that the run's end cut off end there; what follows it does not count. Times
// that are not finite are not known here, whatever the verdict says of them.
LogFacts facts_of(const LogLines& log);

// The same of bytes, for those who want no verdict. Errors: kBadInput where no line is MLLOG.
core::Result<LogFacts> facts_of_log(std::string_view bytes, std::string_view file);

}  // namespace belay::bench

// proc_N.csv of gssr-record, line by line, as values.
#pragma once

#include "record/import/gssr_row.h"

#include <optional>
#include <string_view>
#include <vector>

namespace belay::record {

class GssrCsv {
  public:
    // Columns are found by their names, in any order; those that nobody knows are left out. Nothing if the
    // line is no header: without timestamp, gpuId and at least one field.
    static std::optional<GssrCsv> from_header(std::string_view line);

    // Nothing if the line is not a whole row: another number of columns than the header's, no time, no GPU. A
    // cell that is not a number is missing.
    std::optional<GssrRow> parse(std::string_view line) const;

    // The versions before 2026-01-20 wrote min, max, avg into the header and min, avg, max below it; rows are
    // read as what they are.
    bool has_exchanged_header() const { return exchanged_; }

  private:
    std::vector<int> slots_;  // of each column: where its number goes, -1 for nowhere
    bool exchanged_ = false;
};

}  // namespace belay::record

// Rows of Belay's tables as metric families (table_metrics.h says how).
#pragma once

#include "metrics/model.h"
#include "stream/batch.h"

#include <map>
#include <vector>

namespace belay::metrics {

// Whether anything of a table is shown.
bool is_shown(const schema::Table& table);

// All families that rows may become, without samples, in the order of the tables: names, types, units, helps.
std::vector<Family> declared_families();

class RowMapper {
  public:
    // In the order of declared_families(), each sample with the time of its row, in the order of the rows; families
    // without a value are left out, and missing values give no samples. Nothing for a table that is not exported.
    // A counter that went back a little, as iowait does, stays where it was, because its readers would take any
    // decrease for a new beginning.
    std::vector<Family> families_of(const stream::Batch& rows);

  private:
    // Of counters that may go back, by series; at most kMostHeld.
    std::map<Labels, double> held_;
};

}  // namespace belay::metrics

// The newest value of each series of the agent's tables: what who asks now is shown, and what of it is sent.
//
//   MetricView view({.silence = 12s});
//   std::vector<metrics::Family> samples = view.take(rows, now);     // as metrics, with the times of the rows
//   std::vector<metrics::Family> page = view.newest(now);            // without times: it is what holds now
//
// A series of which nothing came for a while has ended: the value of a GPU that is gone is not shown. Times are those at
// which rows came, on the monotonic clock, so that a wall clock that is set does not end or keep anything. Not thread-safe.
#pragma once

#include "core/time.h"
#include "metrics/model.h"
#include "metrics/row_mapper.h"
#include "stream/batch.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::agent {

struct MetricViewOptions {
    // After which a series has ended; one that comes less often, after three times the time between two values.
    core::Duration silence{};
    // One series for each process and column: many, which end with the processes.
    bool shows_processes = false;
    size_t most_series = 100'000;
};

class MetricView {
  public:
    explicit MetricView(MetricViewOptions options);

    // Takes the rows in and answers with them as metrics, each value with the time of its row. Rows of `gpu_device` and
    // `allocation` are kept, and told by infos(): they hold until the GPU is silent or the share has ended.
    std::vector<metrics::Family> take(const stream::Batch& rows, core::Duration now);
    // Of each series that has not ended.
    std::vector<metrics::Family> newest(core::Duration now) const;
    std::vector<metrics::Family> infos(core::Duration now) const;
    // Gives the memory of ended series back.
    void forget_ended(core::Duration now);

    size_t series() const { return series_; }
    // Values that were left out because there were too many series.
    uint64_t left_out() const { return left_out_; }

  private:
    struct Value {
        double number = 0;
        core::Duration came{};
        core::Duration gap{};  // between the last two
        bool lasts = false;    // an info
    };
    struct Shown {
        metrics::Family family;  // without samples
        std::map<metrics::Labels, Value> values;
    };

    bool has_ended(const metrics::Labels& labels, const Value& value, core::Duration now) const;
    void keep(const std::vector<metrics::Family>& families, core::Duration now, bool lasts);
    void drop(const std::vector<metrics::Family>& families);
    void take_shares(const stream::Batch& rows, core::Duration now);
    void note_devices(const stream::Batch& rows, core::Duration now);
    std::vector<metrics::Family> select(core::Duration now, bool with_values) const;

    MetricViewOptions options_;
    metrics::RowMapper mapper_;
    std::vector<Shown> shown_;                       // in the order in which they are declared
    std::map<std::string, size_t> place_;            // in shown_, by name
    std::map<std::string, core::Duration> devices_;  // when a GPU was last sampled
    size_t series_ = 0;
    uint64_t left_out_ = 0;
};

}  // namespace belay::agent

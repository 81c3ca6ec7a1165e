// What of a table cannot be sampled is told once; the rest of it goes on.
#pragma once

#include "core/tell.h"
#include "observe/collect/collector.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::observe::hardware {

class ToldOnce {
  public:
    ToldOnce(collect::EventSink sink, const schema::Table& table) : sink_(std::move(sink)), table_(&table) {}

    // "table power: WHAT: WHY". `what` tells one part of a table from another.
    void tell(std::string_view what, const core::Error& error) {
        if (std::ranges::find(told_, what) != told_.end()) return;
        told_.emplace_back(what);
        if (sink_)
            sink_({.kind = "collector_failed",
                   .severity = "info",
                   .subject = std::string(table_->name),
                   .code = stream::error_number(error),
                   .message = fmt::format("table {}: {}: {}", table_->name, what, core::in_one_line(error))});
    }

  private:
    collect::EventSink sink_;
    const schema::Table* table_;
    std::vector<std::string> told_;
};

}  // namespace belay::observe::hardware

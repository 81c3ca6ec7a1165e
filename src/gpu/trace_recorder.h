// Writes what a source says as a trace, part by part.
#pragma once

#include "gpu/source.h"

#include <string>
#include <vector>

namespace belay::gpu {

class TraceRecorder {
  public:
    // The source must live longer.
    TraceRecorder(Source& source, std::string note) : source_(source), note_(std::move(note)) {}

    // What stands before the rows.
    std::string head();
    // Rows and XIDs at this time since the beginning; a device that is lost has one row more.
    std::string tick(double seconds);

    size_t rows() const { return rows_; }

  private:
    Source& source_;
    std::string note_;
    std::vector<bool> lost_;
    size_t rows_ = 0;
};

}  // namespace belay::gpu

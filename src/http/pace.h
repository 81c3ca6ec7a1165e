// How long a peer may take. A bound on each read alone would let somebody who sends a byte now and then hold a connection for
// ever; a bound on the whole would refuse large bodies. So the time allowed grows with what has come (as
// mod_reqtimeout's "body=20,MinRate=500" of Apache httpd).
#pragma once

#include "core/time.h"

#include <algorithm>
#include <cstdint>

namespace belay::http {

class Pace {
  public:
    Pace(core::Duration at_first, uint64_t least_bytes_per_second)
        : left_(at_first),
          longest_(at_first),
          rate_(static_cast<double>(std::max<uint64_t>(least_bytes_per_second, 1))) {}

    // How long the next wait may be; not positive: the peer is too slow. `bytes`: a wait that ends only with so many of them.
    core::Duration allowed(uint64_t bytes = 0) const { return left_ + earned(bytes); }
    // After a wait that brought so many bytes. What is saved up is at most the time that was allowed at first.
    void add(core::Duration waited, uint64_t bytes) {
        left_ = std::min(longest_, left_ - waited + earned(bytes));
    }

  private:
    core::Duration earned(uint64_t bytes) const {
        constexpr double kMostSeconds = 1e9;  // no sum overflows
        return core::Duration(
            static_cast<int64_t>(std::min(static_cast<double>(bytes) / rate_, kMostSeconds) * 1e9));
    }

    core::Duration left_;
    core::Duration longest_;
    double rate_;
};

}  // namespace belay::http

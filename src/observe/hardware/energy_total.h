// A counter of energy that goes on where the hardware's wraps or begins anew. Without a unit: what goes in
// comes out.
#pragma once

#include <cstdint>
#include <optional>

namespace belay::observe::hardware {

class EnergyTotal {
  public:
    // Of a counter that goes from its range back to 0 (RAPL). One that went back has wrapped once, as far as
    // anybody can tell: more than one range between two readings is not seen. Where no range is known, or it
    // was beyond it, it began anew. Nothing beyond 63 bits.
    std::optional<int64_t> unwrapped(int64_t reading, std::optional<int64_t> range) {
        if (last_ && reading < *last_) add(range && *range >= *last_ ? *range : *last_);
        return at(reading);
    }

    // Of a counter that says itself when it begins anew: one that went back without that is not believed.
    std::optional<int64_t> steady(int64_t reading) {
        if (last_ && reading < *last_) return std::nullopt;
        return at(reading);
    }
    // It began anew since the last reading: what it counted until then stays.
    void begin_anew() {
        if (last_) add(*last_);
        last_.reset();
    }

  private:
    std::optional<int64_t> at(int64_t reading) {
        last_ = reading;
        int64_t total = 0;
        if (!before_ || __builtin_add_overflow(*before_, reading, &total)) return std::nullopt;
        return total;
    }
    void add(int64_t counted) {
        int64_t sum = 0;
        if (!before_ || __builtin_add_overflow(*before_, counted, &sum))
            before_.reset();
        else
            before_ = sum;
    }

    std::optional<int64_t> before_ = 0;  // what was counted before the hardware's counter was at 0 last
    std::optional<int64_t> last_;
};

}  // namespace belay::observe::hardware

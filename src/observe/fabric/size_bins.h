// What packets by size say about the traffic of a Slingshot adapter: how many packets, and how many bytes at
// least.
#pragma once

#include "core/file.h"
#include "observe/fabric/slingshot_counters.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::observe::fabric {

// What was read of a bin; nothing where the driver has none of that name.
struct SizeBinCount {
    bool is_there = false;
    std::optional<int64_t> packets;
};
using SizeBinCounts = std::array<SizeBinCount, kSizeBinCount>;

struct BinnedTraffic {
    std::optional<int64_t> packets;  // with all bins
    std::optional<int64_t>
        bytes_at_least;  // with all bins that are there: one that is missed once would take its
                         // packets back
};
BinnedTraffic traffic_of(const SizeBinCounts& counts);

// The bins of one direction, hni_rx_ok_ or hni_tx_ok_, which stay open.
class SizeBins {
  public:
    explicit SizeBins(std::string_view prefix) : prefix_(prefix) {}

    // Opens those that are there, once any is.
    void look(int directory);
    // False where the device is gone.
    bool read();
    const BinnedTraffic& traffic() const { return traffic_; }

  private:
    std::string_view prefix_;
    std::array<core::Descriptor, kSizeBinCount> open_;
    bool is_open_ = false;
    BinnedTraffic traffic_;
};

}  // namespace belay::observe::fabric

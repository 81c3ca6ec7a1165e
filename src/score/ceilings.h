// Ceilings of the models of GPUs: data with date and provenance (ceilings.toml), to which a site adds its
// own.
#pragma once

#include "core/error.h"
#include "score/window.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::score {

enum class Link : uint8_t { kPcie, kNvlink, kC2c };
inline constexpr size_t kLinks = 3;
inline constexpr std::array<std::string_view, kLinks> kLinkNames = {"pcie", "nvlink", "c2c"};

struct DeviceCeilings {
    std::string match;    // part of the device's name
    std::string profile;  // of MIG, "1g.10gb"; empty for a whole GPU
    bool calibrated = false;
    std::string date;    // of the measurement, or of the data sheet's reading
    std::string driver;  // it was measured with
    std::string source;
    double spread = 0;  // of repeated measurements, relative
    Ceilings ceilings;
    std::array<double, kLimits> peak{};  // FLOP/s of the pipes, B/s of DRAM; 0 if not known
    std::array<double, kLinks>
        links{};  // B/s, both directions together, as data sheets tell it; 0 if not known
};

// Errors: kBadInput with file, line and column, for unknown keys and wrong values too.
core::Result<std::vector<DeviceCeilings>> parse_ceilings(std::string_view text, const std::string& file);

// Those that come with Belay.
const std::vector<DeviceCeilings>& builtin_ceilings();

// The longest match; of equal ones the last, so that a site's, which are read after ours, win. For a profile
// of MIG without an entry those of the whole GPU, uncalibrated. For a device that nobody knows, an
// uncalibrated entry with ceilings of 1 and an empty `match`.
DeviceCeilings find_ceilings(const std::vector<DeviceCeilings>& known, std::string_view device,
                             std::string_view profile = "");

}  // namespace belay::score

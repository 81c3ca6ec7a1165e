// One row of a recording of gssr: what DCGM summed up for one GPU and one window, and what that is in the
// table `gpu`.
#pragma once

#include "stream/batch.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <string_view>

namespace belay::record {

enum class GssrField : uint8_t {
    kUtilization,
    kMemoryFree,
    kMemoryUsed,
    kMemoryReserved,
    kMemoryTotal,  // of the Python generation only
    kSmActive,
    kSmOccupancy,
    kTensor,
    kFp64,
    kFp32,
    kFp16,
    kDram,
    kPcieSent,
    kPcieReceived,
    kNvlinkReceived,
    kNvlinkSent,
    kC2cSent,
    kC2cReceived,
    kEnergy,  // mJ in the window, not the counter
    kPower,
    kCount,
};
inline constexpr size_t kGssrFields = static_cast<size_t>(GssrField::kCount);

struct GssrFieldFacts {
    GssrField field;
    std::string_view dcgm;  // name of the macro, as the CSV has it; empty if it is in no CSV
    std::string_view tag;   // of DCGM, as the JSON has it; empty if it is in no JSON
};
extern const std::array<GssrFieldFacts, kGssrFields> kGssrFieldFacts;

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// In the units of DCGM; NaN is missing.
struct Summary {
    double minimum = kMissing;
    double average = kMissing;
    double maximum = kMissing;
};

struct GssrRow {
    double timestamp = 0;  // s, from the recorder's start or from 1970: the end of the window
    int64_t gpu = 0;       // on its node
    std::array<Summary, kGssrFields> values{};

    Summary& operator[](GssrField field) { return values[static_cast<size_t>(field)]; }
    const Summary& operator[](GssrField field) const { return values[static_cast<size_t>(field)]; }
};

// Whether anything ran on the GPU.
bool is_active(const GssrRow& row);
// Whether it was busy enough to tell the beginning of work from a driver's own doings.
bool is_busy(const GssrRow& row);

// Makes missing what cannot be a measurement: DCGM's blanks, negative numbers, shares above 1. Returns the
// fields that had a wrong value and no blank.
std::bitset<kGssrFields> drop_impossible(GssrRow& row);

// gssr-record writes 0 for everything above 2·10⁹: makes missing what is 0 though it may not be. Returns the
// rates that this was done to.
std::bitset<kGssrFields> drop_clipped(GssrRow& row);

// Adds a row to a batch of the table `gpu`. `energy_joules` is the running total, NaN for none.
void add_gpu_row(stream::Batch& rows, core::Time time, std::string_view node, std::string_view device,
                 const GssrRow& row, double energy_joules);

}  // namespace belay::record

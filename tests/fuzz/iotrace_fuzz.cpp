// A trace into which a process wrote what it liked: the input overwrites parts of a good one, each with two
// bytes that say where.
#include "iotrace/trace_file.h"
#include "many_parsers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string good = [] {
        iotrace::IoTotals totals{
            .programs = 1, .threads = 1, .devices = {{.device = {8, 3}, .counters = {12}}}};
        totals.devices.push_back({.of = iotrace::DeviceTotals::Of::kNone, .counters = {0, 5}});
        return iotrace::encode(totals);
    }();
    static std::string bytes = good;
    constexpr size_t kPiece = 8;
    for (size_t at = 0; at + 2 + kPiece <= size; at += 2 + kPiece) {
        const size_t place = (static_cast<size_t>(data[at]) | static_cast<size_t>(data[at + 1]) << 8) *
                             kPiece % (bytes.size() - kPiece);
        std::memcpy(bytes.data() + place, data + at + 2, kPiece);
    }
    const auto totals = iotrace::decode(bytes);
    require(totals || !totals.error().render().empty());
    if (totals)
        for (const iotrace::DeviceTotals& device : totals->devices)
            require(device.random_read_calls() <= device.read_calls());
    for (size_t at = 0; at + 2 + kPiece <= size; at += 2 + kPiece) {
        const size_t place = (static_cast<size_t>(data[at]) | static_cast<size_t>(data[at + 1]) << 8) *
                             kPiece % (bytes.size() - kPiece);
        std::memcpy(bytes.data() + place, good.data() + place, kPiece);
    }
    return 0;
}

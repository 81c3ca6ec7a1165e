// Durations, sizes and bandwidths as people write them. Powers of 1000 and of 1024 are kept apart: "10GB" is
// 10,000,000,000 bytes, "10GiB" 10,737,418,240; a unit that could mean either ("10G") is refused, as are bits
// and bytes mixed up ("10 Gb/s").
//
// to_text() is exact, parse_x(to_text(x)) == x, and what configuration shows; format_x() rounds to three
// digits for people to read.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::core {

struct ByteSize {
    uint64_t bytes = 0;
    auto operator<=>(const ByteSize&) const = default;
};

struct Bandwidth {
    uint64_t bits_per_second = 0;
    double bytes_per_second() const { return static_cast<double>(bits_per_second) / 8; }
    auto operator<=>(const Bandwidth&) const = default;
};

// "500ms", "0.1s", "2m", "1h30m", "1d 12h": parts from the longest to the shortest, units d h m s ms us ns,
// not negative. Errors: kBadInput, naming the units.
Result<Duration> parse_duration(std::string_view text);
// "1h30m", "1m0.5s", "100ms"; exact to the nanosecond. A negative duration gets a "-", which is not parsed
// again.
std::string to_text(Duration duration);
// "1.23 s", "45.6 ms", and from a minute on "1m05s", "3h20m", "2d04h".
std::string format_duration(Duration duration);

// "512B", "1.5 GB", "10GiB": B, kB MB GB TB PB EB of 1000, KiB MiB GiB TiB PiB EiB of 1024. Errors:
// kBadInput.
Result<ByteSize> parse_size(std::string_view text);
// With the largest unit that is exact: "1500MB", "64KiB".
std::string to_text(ByteSize size);
std::string format_decimal(ByteSize size);  // "1.50 GB"
std::string format_binary(ByteSize size);   // "1.40 GiB"

// "10 GB/s", "1.5GiB/s", "100 Gbit/s": the units of sizes and bit kbit Mbit Gbit Tbit, per second. Errors:
// kBadInput.
Result<Bandwidth> parse_bandwidth(std::string_view text);
// With the largest unit that is exact: "100Gbit/s".
std::string to_text(Bandwidth bandwidth);
std::string format_bytes_per_second(double bytes_per_second);  // "1.50 GB/s"
std::string format_bits_per_second(double bits_per_second);    // "12.0 Gbit/s"

}  // namespace belay::core

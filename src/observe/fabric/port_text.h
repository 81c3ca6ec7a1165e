// What the files of a port say, from text to values: one file of /sys each, which has one line.
//
// A text may be cut anywhere; a number or a name without its newline could be half of one, and is nothing, as
// is everything that the drivers do not write. None of these allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::observe::fabric {

// A whole number of 0 or more: "4294967295". Nothing for "N/A (no PMA)", which older kernels write where the
// driver has no such counter, for -1, and beyond 63 bits.
std::optional<int64_t> parse_counter(std::string_view text);

// The count of "COUNT@SECONDS.NANOSECONDS", as cxi_ss1 writes it, the time being when it was read; also of a
// COUNT alone.
std::optional<int64_t> parse_telemetry(std::string_view text);

// What stands behind the number in "4: ACTIVE" and "5: LinkUp"; "" where the text is something else.
std::string_view parse_numbered_name(std::string_view text);

// bit/s from "200 Gb/sec (4X HDR)" or "2.5 Gb/sec (1X SDR)"; nothing for 0.
std::optional<int64_t> parse_rate(std::string_view text);

// A line of printable ASCII of at most 64 characters, without blanks at its ends; "" for anything else.
std::string_view parse_name(std::string_view text);

// "up", "down", "starting" …: cxi_ss1 writes that without a newline, and for Cassini 2 "NOT IMPLEMENTED!!".
// "" for all but lower-case words.
std::string_view parse_link_word(std::string_view text);

}  // namespace belay::observe::fabric

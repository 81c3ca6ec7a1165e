// What files of both versions of cgroups look like.
#pragma once

#include "observe/cgroup/readings.h"
#include "procfs/keyed.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::observe::cgroup {

// A file as it was read; nothing where it could not be.
using Text = std::optional<std::string_view>;

// Of a file of one line with one number; nothing for "max".
std::optional<int64_t> only_count(Text text);

// Of a file of lines "key value": those of these keys, in their order; nothing for one that is not there.
template <size_t N>
std::array<std::optional<int64_t>, N> keyed_counts(Text text, const procfs::Keyed (&wanted)[N]) {
    std::array<std::optional<int64_t>, N> values;
    procfs::parse_keyed(text.value_or(""), wanted, values);
    return values;
}

// Adds up counts. The sum is nothing once one of them is, or once it is beyond 63 bits.
class Sum {
  public:
    void add(std::optional<int64_t> count);
    std::optional<int64_t> value() const { return value_; }

  private:
    std::optional<int64_t> value_ = 0;
};

// Whether a sum over its lines can be right: a text that was cut lacks some.
inline bool is_whole(std::string_view text) {
    return text.empty() || text.ends_with('\n');
}

void take_processes(Text text, Readings& readings);
void take_cpuset(Text text, Readings& readings);

}  // namespace belay::observe::cgroup

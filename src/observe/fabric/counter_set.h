// The counters of one port: which files they stand in is a table of CounterSource, the first of those of a
// column that can be read is taken, and stays taken while the port is there: two sources of one quantity do
// not count from the same beginning.
//
//   CounterSet counters(kRdmaSources, parse_counter);
//   now and then:       counters.look(port.get());   // which there are; reads the slow ones
//   every tick:         if (!counters.read()) …      // the port is gone
//   for a row:          counters.set(rows, saturated);
//
// Files that are read at every tick stay open; of the others, which are many, none. Not thread-safe.
#pragma once

#include "core/file.h"
#include "schema/tables/fabric.h"
#include "stream/batch.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::fabric {

enum class Pace : uint8_t { kSlow, kEveryTick };
enum class Combine : uint8_t { kSum, kHighest };

struct CounterSource {
    size_t column = 0;  // of the table fabric; sources of one column stand together, the preferred one first
    std::string_view directory;
    std::array<std::string_view, 5> files = {};  // all of them make the value; "" behind the last
    uint8_t numbered = 0;                        // instead: files[0] with 0, 1 … behind it, so many
    Combine combine = Combine::kSum;
    int64_t factor = 1;
    uint8_t bits = 0;  // where it stays at its highest value: how wide it is
    Pace pace = Pace::kSlow;
};

using CounterParser = std::optional<int64_t> (*)(std::string_view text);

class CounterSet {
  public:
    CounterSet(std::span<const CounterSource> sources, CounterParser parse);

    void look(int directory);
    // False where the kernel says that the device is gone (ENODEV).
    bool read();
    // Sets them in the last row, and adds the names of those that stand at their highest value.
    void set(stream::Batch& rows, std::string& saturated) const;
    // Whether a file may not be read that is there.
    bool is_denied() const { return is_denied_; }

  private:
    struct Quantity {
        std::span<const CounterSource> sources;
        const CounterSource* taken = nullptr;
        std::vector<core::Descriptor> open;  // of the source taken, where it is read at every tick
        std::optional<int64_t> raw;
    };

    bool take(Quantity& quantity, const CounterSource& source, int directory);
    std::optional<int64_t> read_source(const CounterSource& source, int directory,
                                       std::vector<core::Descriptor>* open);

    CounterParser parse_;
    std::vector<Quantity> quantities_;
    bool is_denied_ = false;
};

// How many files make the value of a source.
constexpr size_t file_count(const CounterSource& source) {
    if (source.numbered > 0) return source.numbered;
    size_t count = 0;
    while (count < source.files.size() && !source.files[count].empty()) ++count;
    return count;
}
// Nothing where one is missing: a sum without it would go back. Nor beyond 63 bits.
std::optional<int64_t> combined(std::optional<int64_t> sum, std::optional<int64_t> next, Combine combine);

// Sources of one column stand together, and each names a file.
consteval bool are_in_order(std::span<const CounterSource> sources) {
    for (size_t i = 0; i < sources.size(); ++i) {
        if (sources[i].files[0].empty()) return false;
        for (size_t before = 0; before + 1 < i; ++before)
            if (sources[before].column == sources[i].column && sources[i - 1].column != sources[i].column)
                return false;
    }
    return true;
}

}  // namespace belay::observe::fabric

// Sets columns of a batch by their name, at the cost of one look-up for each name and table.
#pragma once

#include "stream/batch.h"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace belay::second_generator {

// A whole number of B, pages or events.
inline int64_t whole(double value) {
    return static_cast<int64_t>(std::llround(value));
}
// The kernel counts CPU time in ticks.
inline double ticks(double seconds) {
    return std::floor(seconds * 100 + 1e-6) / 100;
}
inline double microseconds(double seconds) {
    return std::floor(seconds * 1e6) / 1e6;
}

class Columns {
  public:
    explicit Columns(const schema::Table& table) : rows(table), table_(table) {}
    void begin(core::Time time, std::string_view node) {
        rows.add_row(time, node);
        next_ = 2;
    }
    // Columns are mostly set in the order of the table.
    template <typename T>
    void set(std::string_view name, const T& value) {
        rows.set(find(name), value);
    }
    stream::Batch rows;

  private:
    size_t find(std::string_view name) {
        const size_t count = table_.columns.size();
        for (size_t i = 0; i < count; ++i) {
            const size_t at = (next_ + i) % count;
            if (table_.columns[at].name != name) continue;
            next_ = at + 1;
            return at;
        }
        std::abort();  // a name that the table does not have
    }

    const schema::Table& table_;
    size_t next_ = 2;
};

}  // namespace belay::second_generator

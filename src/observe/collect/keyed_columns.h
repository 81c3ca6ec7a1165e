// The columns that stand in a file of lines "key value": which key goes where is declared with them.
#pragma once

#include "procfs/keyed.h"
#include "schema/schema.h"
#include "stream/batch.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace belay::observe::collect {

// In what a file gives bytes.
enum class KeyedBytes : uint8_t { kPlain, kKibibytes };

class KeyedColumns {
  public:
    // Those of `quantities` that are sampled in `file`; the first quantity is column `first` of its table.
    KeyedColumns(std::span<const schema::Quantity> quantities, size_t first, std::string_view file,
                 KeyedBytes bytes);

    // Sets them in the last row.
    void set(std::string_view text, stream::Batch& rows);

  private:
    std::vector<procfs::Keyed> wanted_;
    std::vector<size_t> columns_;
    std::vector<std::optional<int64_t>> values_;
};

// What a table that is filled so has to keep to.
consteval bool keys_are_of_whole_numbers(std::span<const schema::Quantity> quantities) {
    for (const schema::Quantity& quantity : quantities)
        if (!quantity.sampling.key.empty() && quantity.type != schema::ColumnType::kInteger) return false;
    return true;
}

}  // namespace belay::observe::collect

#include "observe/collect/keyed_columns.h"

namespace belay::observe::collect {

KeyedColumns::KeyedColumns(std::span<const schema::Quantity> quantities, size_t first, std::string_view file,
                           KeyedBytes bytes) {
    for (size_t i = 0; i < quantities.size(); ++i) {
        const schema::Quantity& quantity = quantities[i];
        if (quantity.sampling.file != file || quantity.sampling.key.empty()) continue;
        wanted_.push_back({quantity.sampling.key, bytes == KeyedBytes::kKibibytes && quantity.unit == "B"});
        columns_.push_back(first + i);
    }
    values_.resize(wanted_.size());
}

void KeyedColumns::set(std::string_view text, stream::Batch& rows) {
    procfs::parse_keyed(text, wanted_, values_);
    for (size_t i = 0; i < columns_.size(); ++i) rows.set(columns_[i], values_[i]);
}

}  // namespace belay::observe::collect

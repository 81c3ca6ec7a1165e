#include "server/packed/row_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

namespace belay::server {

RowOrder rows_by_time(const stream::Batch& batch) {
    RowOrder order(batch.rows());
    std::iota(order.begin(), order.end(), 0U);
    const auto time = [&](uint32_t row) { return time_of(batch, row); };
    if (!std::ranges::is_sorted(order, {}, time)) std::ranges::stable_sort(order, {}, time);
    return order;
}

std::string key_of(const stream::Batch& batch, std::span<const size_t> keys, size_t row) {
    std::string key;
    for (const size_t column : keys) {
        const stream::ColumnValues& values = batch.values(column);
        key.push_back(static_cast<char>(values.present[row]));
        if (values.present[row] == 0) continue;
        if (!values.texts.empty()) {
            const std::string& text = values.texts[row];
            for (size_t i = 0; i < sizeof(uint32_t); ++i)
                key.push_back(static_cast<char>(text.size() >> (8 * i) & 0xFF));
            key += text;
            continue;
        }
        const uint64_t bits = values.reals.empty() ? static_cast<uint64_t>(values.integers[row])
                                                   : std::bit_cast<uint64_t>(values.reals[row]);
        for (size_t i = 0; i < sizeof bits; ++i) key.push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
    }
    return key;
}

std::vector<uint32_t> things_of(const stream::Batch& batch, std::span<const size_t> keys) {
    std::vector<uint32_t> things(batch.rows(), 0);
    if (keys.empty()) return things;
    std::unordered_map<std::string, uint32_t> numbers;
    for (size_t row = 0; row < batch.rows(); ++row)
        things[row] = numbers.try_emplace(key_of(batch, keys, row), static_cast<uint32_t>(numbers.size()))
                          .first->second;
    return things;
}

RowOrder rows_by_thing(std::span<const uint32_t> rows, std::span<const uint32_t> things) {
    RowOrder order(rows.begin(), rows.end());
    std::ranges::stable_sort(order, {}, [&](uint32_t row) { return things[row]; });
    return order;
}

stream::Batch gathered(const stream::Batch& batch, std::span<const uint32_t> rows) {
    stream::Batch out(batch.table());
    const auto take = [&](auto& to, const auto& from) {
        if (from.empty()) return;  // not the vector of the column's type
        to.reserve(rows.size());
        for (const uint32_t row : rows) to.push_back(from[row]);
    };
    for (size_t i = 0; i < batch.table().columns.size(); ++i) {
        take(out.values(i).present, batch.values(i).present);
        take(out.values(i).integers, batch.values(i).integers);
        take(out.values(i).reals, batch.values(i).reals);
        take(out.values(i).texts, batch.values(i).texts);
    }
    out.set_rows(rows.size());
    return out;
}

}  // namespace belay::server

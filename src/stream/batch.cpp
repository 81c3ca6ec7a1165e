#include "stream/batch.h"

#include "core/utf8.h"

#include <cassert>
#include <cmath>

namespace belay::stream {

Batch::Batch(const schema::Table& table) : table_(&table), columns_(table.columns.size()) {}

void Batch::add_row(core::Time time, std::string_view node) {
    for (size_t i = 0; i < columns_.size(); ++i) {
        columns_[i].present.push_back(0);
        switch (table_->columns[i].type) {
            case schema::ColumnType::kText:
                columns_[i].texts.emplace_back();
                break;
            case schema::ColumnType::kReal:
                columns_[i].reals.push_back(0);
                break;
            default:
                columns_[i].integers.push_back(0);
                break;
        }
    }
    ++rows_;
    set(0, time);
    set(1, node);
}

void Batch::set(size_t column, double value) {
    assert(table_->columns[column].type == schema::ColumnType::kReal);
    if (!std::isfinite(value)) return;
    columns_[column].reals.back() = value;
    columns_[column].present.back() = 1;
}

void Batch::set(size_t column, int64_t value) {
    if (table_->columns[column].type == schema::ColumnType::kReal)
        return set(column, static_cast<double>(value));
    assert(table_->columns[column].type == schema::ColumnType::kInteger);
    columns_[column].integers.back() = value;
    columns_[column].present.back() = 1;
}

void Batch::set(size_t column, bool value) {
    assert(table_->columns[column].type == schema::ColumnType::kBoolean);
    columns_[column].integers.back() = value ? 1 : 0;
    columns_[column].present.back() = 1;
}

void Batch::set(size_t column, std::string_view value) {
    assert(table_->columns[column].type == schema::ColumnType::kText);
    columns_[column].texts.back() = core::to_valid_utf8(value);
    columns_[column].present.back() = 1;
}

void Batch::set(size_t column, core::Time value) {
    assert(table_->columns[column].type == schema::ColumnType::kTimestamp);
    columns_[column].integers.back() = core::to_nanoseconds(value);
    columns_[column].present.back() = 1;
}

Batch Batch::slice(size_t first, size_t count) const {
    Batch part(*table_);
    part.append(*this, first, count);
    return part;
}

void Batch::append(const Batch& other) {
    append(other, 0, other.rows_);
}

void Batch::append(const Batch& other, size_t first, size_t count) {
    assert(table_ == other.table_);
    auto add = [&](auto& to, const auto& from) {
        if (from.empty()) return;  // not the vector of the column's type
        auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
        to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    for (size_t i = 0; i < columns_.size(); ++i) {
        add(columns_[i].present, other.columns_[i].present);
        add(columns_[i].integers, other.columns_[i].integers);
        add(columns_[i].reals, other.columns_[i].reals);
        add(columns_[i].texts, other.columns_[i].texts);
    }
    rows_ += count;
}

void Batch::clear() {
    rows_ = 0;
    for (ColumnValues& values : columns_) {
        values.present.clear();
        values.integers.clear();
        values.reals.clear();
        values.texts.clear();
    }
}

}  // namespace belay::stream

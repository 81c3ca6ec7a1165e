#include "record/archive/row_source.h"

#include "core/program.h"

#include <algorithm>
#include <vector>

namespace belay::record {

using core::Result;

namespace {

// What every call of the function sees. It outlives the database, which frees it.
struct Function {
    const DuckdbApi* api;
    RowSource source;
    std::shared_ptr<RowFailure> failure;
};

// One reading of the rows.
struct Reading {
    RowCursor cursor;
    std::vector<idx_t>
        columns;  // of the table, in the order of the chunk's; beyond the last for none of them
};

template <typename T>
void free_one(void* object) {
    delete static_cast<T*>(object);  // NOLINT(cppcoreguidelines-owning-memory): DuckDB owned it
}

duckdb_type type_of(schema::ColumnType type) {
    switch (type) {
        case schema::ColumnType::kTimestamp:
            return DUCKDB_TYPE_TIMESTAMP;
        case schema::ColumnType::kText:
            return DUCKDB_TYPE_VARCHAR;
        case schema::ColumnType::kReal:
            return DUCKDB_TYPE_DOUBLE;
        case schema::ColumnType::kBoolean:
            return DUCKDB_TYPE_BOOLEAN;
        case schema::ColumnType::kInteger:
            break;
    }
    return DUCKDB_TYPE_BIGINT;
}

// One column of a run, written into a vector from row `at` on.
class VectorWriter {
  public:
    VectorWriter(const DuckdbApi* api, duckdb_vector vector, idx_t at)
        : api_(api), vector_(vector), at_(at) {}

    void write(schema::ColumnType type, const stream::ColumnValues& values, size_t first, size_t count) {
        void* data = api_->vector_get_data(vector_);
        switch (type) {
            case schema::ColumnType::kText:
                for (size_t i = 0; i < count; ++i) {
                    const std::string& text = values.texts[first + i];
                    api_->vector_assign_string_element_len(vector_, at_ + i, text.data(), text.size());
                }
                break;
            case schema::ColumnType::kReal:
                std::ranges::copy_n(values.reals.begin() + static_cast<ptrdiff_t>(first),
                                    static_cast<ptrdiff_t>(count), static_cast<double*>(data) + at_);
                break;
            case schema::ColumnType::kBoolean:
                for (size_t i = 0; i < count; ++i)
                    static_cast<bool*>(data)[at_ + i] = values.integers[first + i] != 0;
                break;
            case schema::ColumnType::kTimestamp:
                for (size_t i = 0; i < count; ++i)
                    static_cast<int64_t*>(data)[at_ + i] = values.integers[first + i] / 1000;
                break;
            case schema::ColumnType::kInteger:
                std::ranges::copy_n(values.integers.begin() + static_cast<ptrdiff_t>(first),
                                    static_cast<ptrdiff_t>(count), static_cast<int64_t*>(data) + at_);
                break;
        }
        write_nulls(values.present, first, count);
    }

    void write_nulls(size_t count) {
        for (size_t i = 0; i < count; ++i) set_null(i);
    }

  private:
    void write_nulls(const std::vector<uint8_t>& present, size_t first, size_t count) {
        for (size_t i = 0; i < count; ++i)
            if (present[first + i] == 0) set_null(i);
    }
    void set_null(size_t row) {
        if (validity_ == nullptr) {
            api_->vector_ensure_validity_writable(vector_);
            validity_ = api_->vector_get_validity(vector_);
        }
        api_->validity_set_row_invalid(validity_, at_ + row);
    }

    const DuckdbApi* api_;
    duckdb_vector vector_;
    idx_t at_;
    uint64_t* validity_ = nullptr;
};

void write_run(const Function& function, const Reading& reading, const RowRun& run, duckdb_data_chunk chunk,
               idx_t at) {
    const auto columns = function.source.table->columns;
    for (idx_t i = 0; i < reading.columns.size(); ++i) {
        VectorWriter writer(function.api, function.api->data_chunk_get_vector(chunk, i), at);
        const idx_t column = reading.columns[i];
        if (column < columns.size())
            writer.write(columns[column].type, run.batch->values(column), run.first, run.count);
        else
            writer.write_nulls(run.count);
    }
}

Result<> fill(const Function& function, Reading& reading, duckdb_data_chunk chunk) {
    const idx_t most = function.api->vector_size();
    idx_t filled = 0;
    while (filled < most) {
        BELAY_TRY(run, reading.cursor(most - filled));
        if (run.count == 0) break;
        write_run(function, reading, run, chunk, filled);
        filled += run.count;
    }
    function.api->data_chunk_set_size(chunk, filled);
    return {};
}

// How DuckDB calls it; it knows no other API than the one that called.
void bind(duckdb_bind_info info);
void init(duckdb_init_info info);
void run(duckdb_function_info info, duckdb_data_chunk chunk);

const DuckdbApi* loaded_api() {
    return duckdb_api().value();  // it was loaded, or nobody would call
}

void bind(duckdb_bind_info info) {
    const DuckdbApi* api = loaded_api();
    const auto& function = *static_cast<Function*>(api->bind_get_extra_info(info));
    for (const schema::Column& column : function.source.table->columns) {
        duckdb_logical_type type = api->create_logical_type(type_of(column.type));
        api->bind_add_result_column(info, std::string(column.name).c_str(), type);
        api->destroy_logical_type(&type);
    }
    api->bind_set_cardinality(info, function.source.rows, true);
}

void init(duckdb_init_info info) {
    const DuckdbApi* api = loaded_api();
    const auto& function = *static_cast<Function*>(api->init_get_extra_info(info));
    auto begun = core::without_exceptions([&]() -> Result<> {
        auto reading = std::make_unique<Reading>(Reading{.cursor = function.source.begin(), .columns = {}});
        for (idx_t i = 0; i < api->init_get_column_count(info); ++i)
            reading->columns.push_back(api->init_get_column_index(info, i));
        api->init_set_max_threads(info, 1);  // the rows have an order
        api->init_set_init_data(info, reading.release(), free_one<Reading>);
        return {};
    });
    if (begun) return;
    api->init_set_error(info, begun.error().message().c_str());
    function.failure->keep(std::move(begun.error()));
}

void run(duckdb_function_info info, duckdb_data_chunk chunk) {
    const DuckdbApi* api = loaded_api();
    const auto& function = *static_cast<Function*>(api->function_get_extra_info(info));
    auto& reading = *static_cast<Reading*>(api->function_get_init_data(info));
    auto filled = core::without_exceptions([&] { return fill(function, reading, chunk); });
    if (filled) return;
    api->function_set_error(info, filled.error().message().c_str());
    function.failure->keep(std::move(filled.error()));
}

}  // namespace

RowSource rows_in(const stream::Batch& batch) {
    return {.table = &batch.table(), .rows = batch.rows(), .begin = [&batch] {
                return [&batch, at = size_t{0}](size_t most) mutable -> Result<RowRun> {
                    const size_t count = std::min(most, batch.rows() - at);
                    at += count;
                    return RowRun{&batch, at - count, count};
                };
            }};
}

void RowFailure::keep(core::Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
}

std::optional<core::Error> RowFailure::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(error_, std::nullopt);
}

Result<> register_rows(const DuckdbApi* api, duckdb_connection connection, const std::string& name,
                       RowSource source, std::shared_ptr<RowFailure> failure) {
    auto function = std::make_unique<Function>(Function{api, std::move(source), std::move(failure)});
    duckdb_table_function made = api->create_table_function();
    api->table_function_set_name(made, name.c_str());
    api->table_function_set_extra_info(made, function.release(), free_one<Function>);
    api->table_function_set_bind(made, bind);
    api->table_function_set_init(made, init);
    api->table_function_set_function(made, run);
    api->table_function_supports_projection_pushdown(made, true);
    const bool is_registered = api->register_table_function(connection, made) == DuckDBSuccess;
    api->destroy_table_function(&made);
    if (!is_registered) return core::system_error("DuckDB does not take the table function {}", name);
    return {};
}

}  // namespace belay::record

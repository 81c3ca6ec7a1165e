// For the tests of this folder: files of /proc in a temporary directory, and cells of a batch by name.
#pragma once

#include "core/file.h"
#include "observe/collect/collector.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace belay::observe::collect::testing {

namespace fs = std::filesystem;

inline core::Time at_second(int64_t seconds) {
    return core::time_from_nanoseconds(seconds * 1'000'000'000);
}

// A directory with proc/ and sys/ below it, whose files are rewritten in place as the kernel does it.
class FakeRoot {
  public:
    FakeRoot() : directory_(std::move(*core::TemporaryDirectory::create("belay-collect"))) {}

    fs::path proc() const { return directory_.path() / "proc"; }
    fs::path sys() const { return directory_.path() / "sys"; }

    void write(const fs::path& name, std::string_view text) const {
        fs::path path = directory_.path() / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::trunc) << text;
    }
    void remove(const fs::path& name) const { fs::remove_all(directory_.path() / name); }

    // Takes over the files of a capture in testdata/.
    void load(std::string_view capture) const {
        fs::path from = fs::path(BELAY_TESTDATA) / capture;
        ASSERT_TRUE(fs::exists(from)) << from;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from))
            if (entry.is_regular_file())
                write(fs::relative(entry.path(), from), *core::read_file(entry.path()));
    }

    CollectOptions options() const {
        CollectOptions options;
        options.proc = proc();
        options.sys = sys();
        options.boot_time = at_second(1'000'000);
        return options;
    }

  private:
    core::TemporaryDirectory directory_;
};

inline size_t column_index(const stream::Batch& rows, std::string_view name) {
    const auto& columns = rows.table().columns;
    auto found = std::ranges::find(columns, name, &schema::Column::name);
    EXPECT_TRUE(found != columns.end()) << name;
    return static_cast<size_t>(found - columns.begin());
}

inline bool is_null(const stream::Batch& rows, size_t row, std::string_view name) {
    return rows.values(column_index(rows, name)).present.at(row) == 0;
}
inline std::optional<int64_t> integer(const stream::Batch& rows, size_t row, std::string_view name) {
    if (is_null(rows, row, name)) return std::nullopt;
    return rows.values(column_index(rows, name)).integers.at(row);
}
inline std::optional<double> real(const stream::Batch& rows, size_t row, std::string_view name) {
    if (is_null(rows, row, name)) return std::nullopt;
    return rows.values(column_index(rows, name)).reals.at(row);
}
inline std::optional<std::string> text(const stream::Batch& rows, size_t row, std::string_view name) {
    if (is_null(rows, row, name)) return std::nullopt;
    return rows.values(column_index(rows, name)).texts.at(row);
}

// The first row whose text or number in a column is as wanted.
inline std::optional<size_t> row_where(const stream::Batch& rows, std::string_view name,
                                       std::string_view wanted) {
    for (size_t row = 0; row < rows.rows(); ++row)
        if (text(rows, row, name) == wanted) return row;
    return std::nullopt;
}
inline std::optional<size_t> row_where(const stream::Batch& rows, std::string_view name, int64_t wanted) {
    for (size_t row = 0; row < rows.rows(); ++row)
        if (integer(rows, row, name) == wanted) return row;
    return std::nullopt;
}

// One tick of one collector.
inline stream::Batch sampled(Collector& collector, core::Time time) {
    stream::Batch rows(collector.table());
    core::Result<> result = collector.collect({time, "n1"}, rows);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return rows;
}

}  // namespace belay::observe::collect::testing

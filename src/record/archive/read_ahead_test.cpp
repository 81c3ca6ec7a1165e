#include "record/archive/row_source.h"
#include "record/archive/testing.h"

#include <cerrno>
#include <new>

#include <gtest/gtest.h>

namespace belay::record {
namespace {

core::Error first_error(const RowSource& source) {
    const RowCursor cursor = read_ahead(source).begin();
    for (;;) {
        auto run = cursor(100);
        if (!run) {
            EXPECT_FALSE(cursor(100)) << "it stays";
            return std::move(run.error());
        }
        if (run->count == 0) return {core::ErrorKind::kNegative, "no error"};
    }
}

TEST(record, rows_that_are_read_ahead_come_in_order_and_end) {
    stream::Batch batch(schema::kHost);
    for (int i = 0; i < 100; ++i) batch.add_row(kStart + std::chrono::seconds(i), "n1");
    const RowCursor cursor = read_ahead(rows_in(batch)).begin();
    size_t count = 0;
    for (auto run = cursor(30).value(); run.count > 0; run = cursor(30).value()) count += run.count;
    EXPECT_EQ(count, 100U);
    EXPECT_EQ(cursor(30).value().count, 0U) << "the end stays";
}

TEST(record, what_goes_wrong_in_reading_ahead_comes_behind_the_rows) {
    stream::Batch batch(schema::kHost);
    batch.add_row(kStart, "n1");
    const RowSource source{.table = &schema::kHost, .begin = [&batch]() -> RowCursor {
                               return [&batch, given = false](size_t) mutable -> core::Result<RowRun> {
                                   if (std::exchange(given, true)) return core::errno_error(EIO, "no more");
                                   return RowRun{&batch, 0, 1};
                               };
                           }};
    EXPECT_EQ(first_error(source).errno_value(), EIO);
}

// An exception in the thread would end the program.
TEST(record, exceptions_in_reading_ahead_are_errors) {
    const RowSource at_once{.table = &schema::kHost, .begin = []() -> RowCursor { throw std::bad_alloc(); }};
    EXPECT_EQ(first_error(at_once).kind(), core::ErrorKind::kSystem);
    const RowSource later{.table = &schema::kHost, .begin = []() -> RowCursor {
                              return [](size_t) -> core::Result<RowRun> { throw std::bad_alloc(); };
                          }};
    EXPECT_EQ(first_error(later).kind(), core::ErrorKind::kSystem);
}

}  // namespace
}  // namespace belay::record

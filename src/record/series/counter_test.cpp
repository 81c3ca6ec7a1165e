#include "record/series/counter.h"

#include "record/archive/database.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace belay::record {
namespace {

using schema::Sampled;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Of all steps that are known; missing where none is.
double total(std::initializer_list<double> readings, Sampled kind = Sampled::kCounter,
             Counter counter = Counter()) {
    double sum = kNone;
    for (double reading : readings)
        if (const double step = counter.step(reading, kind); !std::isnan(step))
            sum = std::isnan(sum) ? step : sum + step;
    return sum;
}

TEST(series, a_counter_went_as_far_as_its_readings_differ) {
    EXPECT_EQ(total({100, 103, 103, 110}), 10);
    EXPECT_EQ(total({7, 7}), 0) << "and that is known";
}

TEST(series, one_reading_alone_tells_nothing) {
    EXPECT_TRUE(std::isnan(total({100})));
    EXPECT_TRUE(std::isnan(total({kNone, 100, kNone})));
    EXPECT_EQ(total({100}, Sampled::kCounter, Counter(0)), 100) << "unless it is known when it was 0";
}

TEST(series, a_missing_reading_loses_nothing_of_an_increase) {
    EXPECT_EQ(total({100, kNone, kNone, 109, 110}), 10);
}

TEST(series, of_a_counter_that_began_anew_one_step_is_not_known) {
    EXPECT_EQ(total({100, 105, 3, 5}), 7) << "nobody knows what it was when it began anew";
    EXPECT_EQ(total({100, kNone, 3, 5}), 2) << "nor where that is seen late";
    EXPECT_TRUE(std::isnan(total({100, 3})));
}

TEST(series, a_counter_that_wrapped_began_anew) {
    constexpr double kTop = 4'294'967'295;
    EXPECT_EQ(total({kTop - 10, kTop, 5, 6}), 11);
}

TEST(series, an_unsteady_counter_that_went_back_did_not_go_on) {
    EXPECT_EQ(total({100, 101, 100.5, 102}, Sampled::kUnsteadyCounter), 2.5);
}

// Both rules on counters that begin anew, stand still and are missing at times.
TEST(series, sql_and_cpp_have_one_rule_of_increases) {
    auto database = Database::open().value();
    ASSERT_TRUE(database.execute(std::string(kIncreaseMacro)));
    ASSERT_TRUE(
        database.execute("CREATE TABLE readings (node VARCHAR, device VARCHAR, time BIGINT, n BIGINT)"));
    std::mt19937_64 random(3);
    constexpr size_t kThings = 6;
    std::vector<Counter> counters(kThings);
    std::vector<int64_t> now(kThings, 50);
    std::string expected;
    std::string rows;
    for (int time = 0; time < 300; ++time)
        for (size_t thing = 0; thing < kThings; ++thing) {
            const uint64_t what = random() % 8;
            now[thing] =
                what == 0 ? static_cast<int64_t>(random() % 40) : now[thing] + static_cast<int64_t>(what / 2);
            const bool is_there = random() % 5 != 0;
            const double step = counters[thing].step(is_there ? static_cast<double>(now[thing]) : kNone);
            rows += fmt::format("{}('n{}', 'd{}', {}, {})", rows.empty() ? "" : ", ", thing / 3, thing % 3,
                                time, is_there ? std::to_string(now[thing]) : "NULL");
            expected += std::isnan(step) ? "- " : fmt::format("{} ", step);
        }
    ASSERT_TRUE(database.execute("INSERT INTO readings VALUES " + rows));
    auto answer =
        database.query("SELECT increase(n, (node, device), time) FROM readings ORDER BY time, node, device");
    ASSERT_TRUE(answer) << answer.error().message();
    std::string found;
    for (const auto& row : answer->rows) {
        const double step = as_double(row[0]);
        found += std::isnan(step) ? "- " : fmt::format("{} ", step);
    }
    EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace belay::record

#include "findings/detect/detector.h"

#include "findings/detect/dips.h"
#include "findings/detect/series.h"
#include "findings/detect/trend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace belay::findings {
namespace {

using record::QueryResult;
using record::Value;

constexpr double kStart = 1.7e9;

Parameters defaults(const Detector& detector) {
    std::map<std::string, double, std::less<>> values;
    for (const DetectorParameter& parameter : detector.parameters)
        values[std::string(parameter.name)] = parameter.default_value;
    return Parameters(values);
}

QueryResult detect(std::string_view name, const QueryResult& rows) {
    const Detector* detector = find_detector(name);
    return detector->detect(rows, defaults(*detector));
}

// A row per second, with what `column` gives for each name.
QueryResult series(int seconds, std::vector<std::string> columns,
                   const std::function<Value(int second, size_t column)>& value) {
    QueryResult rows{.columns = {"time", "node"}, .rows = {}};
    rows.columns.insert(rows.columns.end(), columns.begin(), columns.end());
    for (int second = 0; second < seconds; ++second) {
        std::vector<Value> row = {time_of(kStart + second), std::string("n1")};
        for (size_t i = 0; i < columns.size(); ++i) row.push_back(value(second, i));
        rows.rows.push_back(std::move(row));
    }
    return rows;
}

double cell(const QueryResult& rows, size_t row, std::string_view column) {
    auto at = static_cast<size_t>(std::ranges::find(rows.columns, column) - rows.columns.begin());
    return record::as_double(rows.rows.at(row).at(at));
}

TEST(findings_detect, every_detector_says_what_it_takes_and_gives) {
    std::set<std::string_view> names;
    for (const Detector& detector : detectors()) {
        EXPECT_TRUE(names.insert(detector.name).second) << detector.name;
        QueryResult none;
        for (std::string_view column : detector.needs) none.columns.emplace_back(column);
        QueryResult rows = detector.detect(none, defaults(detector));
        EXPECT_TRUE(rows.rows.empty()) << detector.name;
        for (std::string_view column : detector.gives)
            EXPECT_NE(std::ranges::find(rows.columns, column), rows.columns.end())
                << detector.name << " " << column;
    }
}

TEST(findings_detect, series_come_in_the_order_of_their_names) {
    QueryResult rows{.columns = {"time", "node", "task", "value"}, .rows = {}};
    for (const char* node : {"n2", "n1"})
        for (int64_t task : {1, 0})
            rows.rows.push_back(
                {core::time_from_nanoseconds(0), std::string(node), task, 1.0 * static_cast<double>(task)});
    std::vector<std::string> names;
    for (const Series& one : split_series(rows)) {
        names.push_back(fmt::format("{} {}", one.node, *one.task));
        EXPECT_EQ(one["value"].at(0), static_cast<double>(*one.task)) << "with its own values";
    }
    EXPECT_EQ(names, (std::vector<std::string>{"n1 0", "n1 1", "n2 0", "n2 1"}));
}

TEST(findings_detect, dips_end_where_a_value_is_missing) {
    std::vector<double> times = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<double> values = {1, 0, 0, 1, 0, std::nan(""), 0, 0, 0};
    std::vector<Dip> dips = find_dips(times, values, 0.5, 2);
    ASSERT_EQ(dips.size(), 2u);
    EXPECT_EQ(dips[0].start, 1);
    EXPECT_EQ(dips[0].end, 3);
    EXPECT_EQ(dips[1].start, 6);
    EXPECT_EQ(dips[1].end, 9);
}

TEST(findings_detect, a_stall_needs_both_dips_and_io) {
    for (bool has_io : {true, false})
        for (bool has_dips : {true, false}) {
            auto found =
                detect("data_stall", series(200, {"value", "io_pressure"}, [&](int t, size_t column) {
                           bool dip = t % 20 < 5;
                           if (column == 0) return Value(has_dips && dip ? 0.05 : 0.9);
                           return Value(has_io && dip ? 0.8 : 0.01);
                       }));
            EXPECT_EQ(found.rows.size(), has_io && has_dips ? 1u : 0u) << has_io << has_dips;
            if (!found.rows.empty()) {
                EXPECT_NEAR(cell(found, 0, "dip_share"), 0.25, 0.01);
            }
        }
}

// I/O pressure in every dip, of which one in `known_of` samples is known.
double overlap_where_known(int known_of) {
    auto found =
        detect("data_stall", series(400, {"value", "io_pressure", "reads"}, [&](int t, size_t column) {
                   bool dip = t % 20 < 6;
                   if (column == 0) return Value(dip ? 0.05 : 0.9);
                   if (column == 2) return Value(100.0);
                   return t % 6 % known_of != 0 ? Value() : Value(dip ? 0.8 : 0.01);
               }));
    return found.rows.empty() ? std::nan("") : cell(found, 0, "overlap_share");
}

TEST(findings_detect, what_is_not_known_of_a_dip_is_no_answer) {
    EXPECT_EQ(overlap_where_known(1), 1);
    EXPECT_EQ(overlap_where_known(2), 1) << "half of it is unknown, the other half waited";
    EXPECT_TRUE(std::isnan(overlap_where_known(6))) << "a sixth says nothing of the rest";
    auto without_pressure = detect("data_stall", series(400, {"value", "reads"}, [](int t, size_t column) {
                                       bool dip = t % 20 < 6;
                                       if (column == 0) return Value(dip ? 0.05 : 0.9);
                                       return Value(t % 20 == 0 ? 1e9 : 1e3);
                                   }));
    EXPECT_TRUE(without_pressure.rows.empty()) << "few reads are an answer where nothing else was measured";
}

TEST(findings_detect, pauses_tell_period_length_and_cost) {
    auto found = detect("pauses", series(300, {"value", "writes"}, [](int t, size_t column) {
                            bool pause = t % 50 >= 44;
                            if (column == 0) return Value(pause ? 0.0 : 0.9);
                            return Value(pause ? 1e9 : 1e3);
                        }));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(cell(found, 0, "pauses"), 5) << "the last of six is the end";
    EXPECT_EQ(cell(found, 0, "period_seconds"), 50);
    EXPECT_EQ(cell(found, 0, "pause_seconds"), 6);
    EXPECT_NEAR(cell(found, 0, "cost_share"), 30 / 294.0, 0.001);
    EXPECT_NEAR(cell(found, 0, "written_bytes"), 6e9, 1e6);
}

// Half of the checkpoints are too quick to show. Comparing the series with itself at every lag would take
// hours.
TEST(findings_detect, pauses_of_two_days_may_be_missed) {
    std::mt19937 random(9);
    std::set<int> missed;
    for (int i = 0; i < 172'800 / 300; ++i)
        if (random() % 3 == 0) missed.insert(i);
    auto found = detect("pauses", series(172'800, {"value", "writes"}, [&](int t, size_t column) {
                            bool pause = t % 300 >= 270 && !missed.contains(t / 300);
                            if (column == 0) return Value(pause ? 0.0 : 0.9);
                            return Value(pause ? 1e9 : 1e3);
                        }));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(cell(found, 0, "pause_seconds"), 30);
    EXPECT_TRUE(detect("pauses", series(172'800, {"value", "writes"},
                                        [&](int t, size_t column) {
                                            bool pause = (t * 2654435761U >> 20) % 40 == 0;
                                            return column == 0 ? Value(pause ? 0.0 : 0.9)
                                                               : Value(pause ? 1e9 : 1e3);
                                        }))
                    .rows.empty())
        << "these come at any time";
}

// Whatever its start and its noise: memory that rises on and on is a leak, memory that stays is none.
TEST(findings_detect, a_leak_is_told_from_a_plateau) {
    std::mt19937 random(5);
    for (int round = 0; round < 40; ++round) {
        double base = 1e9 * (1 + random() % 20);
        double noise = base * 0.002;
        std::normal_distribution<double> normal(0, noise);
        auto memory = [&](auto shape) {
            return detect("leak", series(120, {"value", "limit"}, [&](int t, size_t column) {
                              return Value(column == 0 ? base + shape(t) + normal(random) : 64e9);
                          }));
        };
        double rate = 1e7 * (1 + random() % 5);
        auto leaking = memory([&](int t) { return rate * t + base * 0.001 * t; });
        ASSERT_EQ(leaking.rows.size(), 1u) << round;
        EXPECT_NEAR(cell(leaking, 0, "bytes_per_second"), rate + base * 0.001, 0.2 * (rate + base * 0.001));
        EXPECT_TRUE(memory([](int) { return 0.0; }).rows.empty()) << round;
        EXPECT_TRUE(memory([&](int t) { return base * (1 - std::exp(-t / 8.0)); }).rows.empty()) << round;
        EXPECT_TRUE(memory([&](int t) { return base * 0.01 * (t % 30); }).rows.empty()) << round;
    }
}

TEST(findings_detect, a_change_may_take_the_whole_run) {
    const auto found = [](int count, const std::function<double(int)>& value) {
        return detect("change", series(count, {"value", "activity"}, [&](int t, size_t column) {
                          return column == 0 ? Value(value(t)) : Value(0.9);
                      }));
    };
    const QueryResult grown = found(20, [](int t) { return 1 + 0.2 * t + 0.05 * (t % 3); });
    ASSERT_EQ(grown.rows.size(), 1U);
    EXPECT_GT(cell(grown, 0, "change_share"), 2);
    EXPECT_TRUE(found(20, [](int t) { return 1 + 0.005 * t; }).rows.empty()) << "too little";
    EXPECT_TRUE(found(20, [](int t) { return 1 + (t * 7 % 11); }).rows.empty()) << "up and down";
    EXPECT_TRUE(found(20, [](int t) { return 5 - 0.2 * t; }).rows.empty());
    EXPECT_TRUE(found(8, [](int t) { return 1 + t; }).rows.empty()) << "too few";
}

TEST(findings_detect, a_change_that_keeps_things_busy_is_only_noted) {
    auto severity = [](std::vector<std::string> columns, double after) {
        const QueryResult found = detect("change", series(60, columns, [&](int t, size_t column) {
                                             if (column == 0)
                                                 return Value((t < 30 ? 1.0 : 2.0) + 0.01 * (t % 3));
                                             return t % 5 == 0 ? Value() : Value(t < 30 ? 0.8 : after);
                                         }));
        EXPECT_EQ(found.rows.size(), 1U);
        return found.rows.at(0).at(
            static_cast<size_t>(std::ranges::find(found.columns, "severity") - found.columns.begin()));
    };
    EXPECT_EQ(record::as_text(severity({"value", "activity"}, 0.79)), "info");
    EXPECT_EQ(record::as_text(severity({"value", "activity"}, 0.5)), "");
    EXPECT_EQ(record::as_text(severity({"value"}, 0)), "");
}

TEST(findings_detect, what_others_use_counts_for_the_time_left) {
    auto left = [](bool is_shared) {
        auto found = detect("leak", series(120, {"value", "limit", "used"}, [&](int t, size_t column) {
                                if (column == 0) return Value(1e9 + 1e7 * t);
                                if (column == 1) return Value(64e9);
                                return is_shared ? Value(40e9 + 1e7 * t) : Value();
                            }));
        return cell(found, 0, "left_seconds");
    };
    EXPECT_NEAR(left(false), (64e9 - 2.2e9) / 1e7, 20);
    EXPECT_NEAR(left(true), (64e9 - 41.2e9) / 1e7, 20);
}

TEST(findings_detect, without_a_limit_nobody_knows_when_it_is_full) {
    auto found = detect("leak", series(120, {"value", "limit"}, [&](int t, size_t column) {
                            return column == 0 ? Value(1e9 + 1e7 * t) : Value();
                        }));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_TRUE(std::isnan(cell(found, 0, "left_seconds")));
}

TEST(findings_detect, growth_does_not_depend_on_where_it_began) {
    for (double base : {0.0, 1e9, 1e11}) {
        std::vector<double> times;
        std::vector<double> values;
        for (int t = 0; t < 100; ++t) {
            times.push_back(t);
            values.push_back(base + 1e6 * t);
        }
        Growth growth = growth_of(times, values);
        EXPECT_NEAR(growth.slope, 1e6, 1);
        EXPECT_NEAR(growth.last - growth.first, 9e7, 1);
    }
}

QueryResult steps(int ranks, int count, double late, double jitter) {
    QueryResult rows{.columns = {"time", "node", "task", "step"}, .rows = {}};
    std::mt19937 random(3);
    std::uniform_real_distribution<double> noise(-jitter, jitter);
    for (int step = 1; step <= count; ++step)
        for (int rank = 0; rank < ranks; ++rank)
            rows.rows.push_back({time_of(kStart + step + noise(random) + (rank == 2 ? late : 0)),
                                 std::string("n"), int64_t{rank}, int64_t{step}});
    return rows;
}

TEST(findings_detect, the_straggler_is_who_comes_last) {
    QueryResult found = detect("straggler", steps(4, 100, 0.3, 0.02));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(cell(found, 0, "task"), 2);
    EXPECT_NEAR(cell(found, 0, "lag_seconds"), 0.3, 0.02);
    EXPECT_TRUE(detect("straggler", steps(4, 100, 0, 0.02)).rows.empty());
    EXPECT_TRUE(detect("straggler", steps(4, 100, 0.01, 0.001)).rows.empty()) << "a hundredth of a step";
    EXPECT_NEAR(cell(found, 0, "lag_share"), 0.3, 0.02);
    QueryResult every_tenth = steps(4, 1000, 0.3, 0.02);
    std::erase_if(every_tenth.rows, [](const auto& row) {
        return record::as_double(row[3]) / 10 != std::floor(record::as_double(row[3]) / 10);
    });
    EXPECT_NEAR(cell(detect("straggler", every_tenth), 0, "lag_share"), 0.3, 0.02) << "of a step, not of ten";
    EXPECT_TRUE(detect("straggler", steps(1, 100, 0.3, 0.02)).rows.empty());
    EXPECT_TRUE(detect("straggler", steps(4, 8, 0.3, 0.02)).rows.empty()) << "too few steps";
}

TEST(findings_detect, a_rank_that_falls_behind_is_not_waited_for) {
    QueryResult rows = steps(4, 100, 0, 0.02);
    for (auto& row : rows.rows)
        if (std::get<int64_t>(row[2]) == 1)
            row[0] =
                std::get<core::Time>(row[0]) + std::chrono::milliseconds(200 * std::get<int64_t>(row[3]));
    EXPECT_TRUE(detect("straggler", rows).rows.empty());
}

TEST(findings_detect, an_episode_is_no_straggler) {
    QueryResult rows = steps(4, 100, 0, 0.02);
    for (auto& row : rows.rows)
        if (std::get<int64_t>(row[2]) == 1 && std::get<int64_t>(row[3]) <= 70 &&
            std::get<int64_t>(row[3]) > 5)
            row[0] = std::get<core::Time>(row[0]) + std::chrono::milliseconds(300);
    EXPECT_TRUE(detect("straggler", rows).rows.empty());
}

TEST(findings_detect, an_outlier_differs_from_peers_and_not_from_itself) {
    auto peers = [](std::vector<double> values) {
        QueryResult rows{.columns = {"node", "device", "value"}, .rows = {}};
        for (size_t i = 0; i < values.size(); ++i)
            rows.rows.push_back({std::string("n"), fmt::format("GPU-{}", i), values[i]});
        return rows;
    };
    QueryResult found = detect("outlier", peers({1.9, 1.91, 1.9, 1.6, 1.89, 1.9}));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(record::as_text(found.rows[0][3]), "GPU-3");
    EXPECT_TRUE(detect("outlier", peers({1.9, 1.91, 1.9, 1.86, 1.89, 1.9})).rows.empty());
    EXPECT_TRUE(detect("outlier", peers({1.9, 1.2})).rows.empty()) << "two cannot say which";
    EXPECT_TRUE(detect("outlier", peers({1, 2, 3, 4, 5, 6})).rows.empty()) << "all differ";
    EXPECT_TRUE(detect("outlier", peers({2, 2, 2, 2})).rows.empty());
}

TEST(findings_detect, peers_are_those_of_the_same_class) {
    QueryResult rows{.columns = {"node", "device", "value", "class"}, .rows = {}};
    auto add = [&](const char* device, double value, const char* model) {
        rows.rows.push_back({std::string("n"), std::string(device), value, std::string(model)});
    };
    for (double value : {1.9, 1.91, 1.89, 1.9, 1.9}) add("fast", value, "A");
    for (double value : {1.4, 1.41, 1.39}) add("slow", value, "B");
    EXPECT_TRUE(detect("outlier", rows).rows.empty());
    add("odd", 1.2, "B");
    add("alone", 0.5, "C");
    QueryResult found = detect("outlier", rows);
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(record::as_text(found.rows[0][3]), "odd");
    EXPECT_EQ(cell(found, 0, "peers"), 3);
}

QueryResult job_that_stops(int stops, int seconds, double after, double every = 1) {
    QueryResult rows{.columns = {"time", "node", "task", "step", "run_end", "activity", "traffic"},
                     .rows = {}};
    int step = 0;
    for (double t = 0; t < stops; t += every)
        for (int64_t rank = 0; rank < 2; ++rank)
            rows.rows.push_back({time_of(kStart + t), std::string("n"), rank, int64_t{++step} / 2,
                                 kStart + seconds, Value(), Value()});
    for (int t = 0; t < seconds; ++t)
        rows.rows.push_back({time_of(kStart + t), std::string("n"), Value(), Value(), Value(),
                             t < stops ? 0.9 + 0.1 * (t % 3) : after * (0.9 + 0.1 * (t % 3)), 1e7});
    return rows;
}

TEST(findings_detect, a_hang_is_long_and_still) {
    EXPECT_FALSE(detect("hang", job_that_stops(60, 90, 0.02)).rows.empty());
    EXPECT_TRUE(detect("hang", job_that_stops(60, 90, 1)).rows.empty()) << "something goes on";
    EXPECT_TRUE(detect("hang", job_that_stops(85, 90, 0.02)).rows.empty()) << "5 s are no hang";
    EXPECT_TRUE(detect("hang", job_that_stops(3400, 3800, 0.02)).rows.empty()) << "nor 400 s in an hour";
    EXPECT_FALSE(detect("hang", job_that_stops(3000, 3800, 0.02)).rows.empty());
    EXPECT_TRUE(detect("hang", job_that_stops(600, 1400, 0.02, 120)).rows.empty()) << "steps of two minutes";
    QueryResult outside_slurm = job_that_stops(60, 90, 0.02);
    for (auto& row : outside_slurm.rows) row[2] = Value();
    EXPECT_EQ(detect("hang", outside_slurm).rows.size(), 1u);
    QueryResult found = detect("hang", job_that_stops(60, 90, 0.02));
    EXPECT_NEAR(cell(found, 0, "quiet_seconds"), 31, 1);
}

}  // namespace
}  // namespace belay::findings

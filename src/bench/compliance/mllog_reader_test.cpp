#include "bench/compliance/mllog_reader.h"

#include "bench/compliance/python_reader.h"
#include "core/python_json.h"

#include <cmath>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::bench {
namespace {

using Kind = PythonValue::Kind;

const KeySet& known_keys() {
    static const KeySet keys = [] {
        KeySet made;
        for (const char* key : {"seed", "eval_error", "run_stop", "caf\xc3\xa9"}) made.add(key);
        return made;
    }();
    return keys;
}

std::string event_line(const std::string& value, const std::string& key = "seed") {
    return fmt::format(R"(:::MLLOG {{"time_ms": 5, "key": "{}", "value": {}, "metadata": {{}}}})", key,
                       value);
}

// Both ways must say the same.
void expect_both_ways(const std::string& text, const std::function<void(const LogLines&)>& check) {
    for (ReadingWay way : {ReadingWay::kFast, ReadingWay::kExact}) {
        SCOPED_TRACE(way == ReadingWay::kFast ? "fast" : "exact");
        check(read_log(text, known_keys(), way));
    }
}

std::string value_text(const std::string& json) {
    std::string shown_both[2];
    for (ReadingWay way : {ReadingWay::kFast, ReadingWay::kExact}) {
        const LogLines log = read_log(event_line(json), known_keys(), way);
        shown_both[static_cast<size_t>(way)] = log.events.size() == 1
                                                   ? shown(log.events[0].value)
                                                   : (log.problems.empty() ? "?" : log.problems[0].text);
    }
    EXPECT_EQ(shown_both[0], shown_both[1]) << json;
    return shown_both[0];
}

TEST(bench_mllog, lines_end_with_any_of_pythons_universal_newlines) {
    const std::string one = event_line("1"), two = event_line("2"), three = event_line("3");
    expect_both_ways(one + "\r\n" + two + "\r" + three + "\n\nx\n" + event_line("4"),
                     [](const LogLines& log) {
                         ASSERT_EQ(log.events.size(), 4u);
                         for (int64_t i = 0; i < 4; ++i) {
                             EXPECT_EQ(log.events[static_cast<size_t>(i)].value.integer(), i + 1);
                             EXPECT_EQ(log.events[static_cast<size_t>(i)].line, i + 1);
                         }
                         EXPECT_EQ(log.bad_lines, 0);
                     });
}

TEST(bench_mllog, a_line_counts_where_it_holds_the_token_and_the_last_one_counts) {
    expect_both_ways("0: " + event_line("1") + "\nMLLOG {}\n:::MLLOG broken :::MLLOG x" + event_line("2") +
                         "\n::MLLOG {}\n",
                     [](const LogLines& log) {
                         EXPECT_EQ(log.lines, 2);
                         ASSERT_EQ(log.events.size(), 2u);
                         EXPECT_EQ(log.events[1].value.integer(), 2);
                     });
    // Also where the token stands within a text of the JSON, which is then cut.
    expect_both_ways(event_line("\":::MLLOG x\""), [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 1); });
}

TEST(bench_mllog, blanks_of_latin1_are_taken_off_the_end_and_only_those_of_json_before_the_value) {
    expect_both_ways(event_line("1") + " \t\x0b\x1c\x1f\x85\xa0\n",
                     [](const LogLines& log) { EXPECT_EQ(log.events.size(), 1u); });
    std::string blanks = event_line("1");
    blanks.insert(9, " \t ");
    expect_both_ways(blanks, [](const LogLines& log) { EXPECT_EQ(log.events.size(), 1u); });
    blanks.insert(9, "\x0b");
    expect_both_ways(blanks, [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 1); });
}

TEST(bench_mllog, values_are_what_python_makes_of_them) {
    struct Case {
        const char *json, *text;
    };
    for (const Case& one : {
             Case{"NaN", "NaN"},
             Case{"Infinity", "Infinity"},
             Case{"-Infinity", "-Infinity"},
             Case{"-0", "0"},
             Case{"1e400", "Infinity"},
             Case{"-1e400", "-Infinity"},
             Case{"1e-400", "0.0"},
             Case{"9223372036854775808", "9223372036854775808"},
             Case{"18446744073709551616", "18446744073709551616"},
             Case{"0.1", "0.1"},
             Case{"1.0", "1.0"},
             Case{"5E-1", "0.5"},
             Case{"true", "true"},
             Case{"null", "null"},
             Case{"[1, [2.5, null], {\"a\": 1}]", "[1, [2.5, null], {\"a\": 1}]"},
             Case{"{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\": 3, \"b\": 2}"},
             Case{"{}", "{}"},
             Case{"[]", "[]"},
             Case{"\"caf\\u00e9 \\ud83d\\ude00\"", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
             Case{"\"\\u0041\\n\"", "\"A?\""},
             Case{"\"\xe9\"", "\"\xc3\xa9\""},  // a byte is a character
         })
        EXPECT_EQ(value_text(one.json), one.text) << one.json;
}

TEST(bench_mllog, what_python_refuses_is_a_problem_of_its_line) {
    for (const char* json : {"01",
                             "1.",
                             ".5",
                             "+1",
                             "-",
                             "-NaN",
                             "nan",
                             "1 2",
                             "[1,]",
                             "{\"a\":1,}",
                             "{a: 1}",
                             "'a'",
                             "\"\t\"",
                             "\"\\x41\"",
                             "\"\\u12\"",
                             "\"",
                             "[",
                             "tru",
                             "\x0c"
                             "1",
                             "1\x0c"}) {
        expect_both_ways(event_line(json), [&](const LogLines& log) {
            EXPECT_EQ(log.bad_lines, 1) << json;
            EXPECT_TRUE(log.events.empty());
        });
    }
    expect_both_ways(event_line(std::string(4300, '7')),
                     [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 0); });
    expect_both_ways(event_line(std::string(4301, '7')),
                     [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 1); });
    const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    expect_both_ways(event_line(nested(500)), [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 0); });
    expect_both_ways(event_line(nested(100000)), [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 1); });
}

TEST(bench_mllog, lines_of_unknown_keys_must_still_be_valid) {
    expect_both_ways(event_line("tru", "unknown"), [](const LogLines& log) { EXPECT_EQ(log.bad_lines, 1); });
    expect_both_ways(event_line("1", "unknown"), [](const LogLines& log) {
        EXPECT_EQ(log.bad_lines, 0);
        EXPECT_EQ(log.parsed_lines, 1);
        EXPECT_TRUE(log.events.empty());
    });
    expect_both_ways(R"(:::MLLOG {"time_ms": 1, "key": ["seed"], "value": 1, "metadata": 0})",
                     [](const LogLines& log) { EXPECT_EQ(log.parsed_lines, 1); });
}

TEST(bench_mllog, the_last_of_repeated_members_counts) {
    expect_both_ways(
        R"(:::MLLOG {"key": "x", "time_ms": "a", "value": 1, "metadata": {}, "key": "seed", "time_ms": 2, "value": 3, "metadata": {"a": 1, "a": 2}})",
        [](const LogLines& log) {
            ASSERT_EQ(log.events.size(), 1u);
            EXPECT_EQ(log.events[0].time_ms, 2);
            EXPECT_EQ(log.events[0].value.integer(), 3);
            EXPECT_EQ(log.events[0].metadata.member("a")->integer(), 2);
        });
    std::string many = "{\"m0\": -1";
    for (int i = 0; i < 200; ++i) many += fmt::format(", \"m{}\": {}", i % 100, i);
    expect_both_ways(event_line(many + "}"), [](const LogLines& log) {
        ASSERT_EQ(log.events.size(), 1u);
        EXPECT_EQ(log.events[0].value.members().size(), 100u);
        EXPECT_EQ(log.events[0].value.member("m7")->integer(), 107);
    });
}

TEST(bench_mllog, a_time_may_be_a_text_with_a_number) {
    const auto time_of = [](const std::string& json) -> std::optional<double> {
        std::optional<double> times[2];
        for (ReadingWay way : {ReadingWay::kFast, ReadingWay::kExact}) {
            const LogLines log = read_log(
                fmt::format(R"(:::MLLOG {{"time_ms": {}, "key": "seed", "value": 1, "metadata": 0}})", json),
                known_keys(), way);
            if (!log.events.empty()) times[static_cast<size_t>(way)] = log.events[0].time_ms;
        }
        EXPECT_EQ(times[0].has_value(), times[1].has_value());
        return times[0];
    };
    EXPECT_EQ(time_of("1700000000000"), 1.7e12);
    EXPECT_EQ(time_of("1.5"), 1.5);
    EXPECT_EQ(time_of("true"), 1);
    EXPECT_EQ(time_of("\" 17e11\\n\""), 1.7e12);
    EXPECT_EQ(time_of("\"1_000\""), 1000);
    EXPECT_EQ(time_of("\"+5\""), 5);
    EXPECT_EQ(time_of("\"-Infinity\""), -HUGE_VAL);
    EXPECT_EQ(time_of("\"1e999\""), HUGE_VAL);
    EXPECT_TRUE(std::isnan(time_of("\"nan\"").value()));
    for (const char* bad : {"\"\"", "\"1.2.3\"", "\"_1\"", "\"1__0\"", "\"0x10\"", "\"--1\"", "\"nan(1)\"",
                            "\"1 2\"", "null", "[]", "{}"})
        EXPECT_FALSE(time_of(bad)) << bad;
    EXPECT_FALSE(time_of("1" + std::string(400, '0'))) << "too large for a float";
}

TEST(bench_mllog, keys_are_compared_as_characters) {
    expect_both_ways(event_line("1", "caf\\u00e9"),
                     [](const LogLines& log) { EXPECT_EQ(log.events.size(), 1u); });
    expect_both_ways(event_line("1", "caf\xe9"),
                     [](const LogLines& log) { EXPECT_EQ(log.events.size(), 1u); });
    expect_both_ways(event_line("1", "caf\xc3\xa9"), [](const LogLines& log) {
        EXPECT_TRUE(log.events.empty()) << "two characters in Latin-1";
    });
}

TEST(bench_mllog, a_set_of_keys_finds_what_was_added_and_nothing_else) {
    std::vector<std::string> names;
    for (int i = 0; i < 500; ++i) names.push_back(fmt::format("key_{}", i * i));
    names.emplace_back("");
    KeySet keys;
    for (const std::string& name : names) keys.add(name);
    EXPECT_EQ(keys.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(keys.find(names[i]), static_cast<int>(i));
    EXPECT_EQ(keys.add("key_1"), 1);
    for (const char* name : {"key_2", "key", "key_11", "KEY_1"}) EXPECT_EQ(keys.find(name), KeySet::kUnknown);
}

TEST(bench_mllog, equality_is_pythons) {
    std::pmr::monotonic_buffer_resource arena;
    const auto value = [&](std::string_view json) { return read_python_value(json, arena).value(); };
    struct Case {
        const char *left, *right;
        bool same;
    };
    for (const Case& one : {
             Case{"1", "1.0", true},
             Case{"1", "true", true},
             Case{"0.0", "false", true},
             Case{"1", "\"1\"", false},
             Case{"null", "null", true},
             Case{"null", "false", false},
             Case{"NaN", "NaN", true},
             Case{"[1, NaN]", "[true, NaN]", true},
             Case{"[1]", "[1, 1]", false},
             Case{"{\"a\": 1, \"b\": 2}", "{\"b\": 2.0, \"a\": 1}", true},
             Case{"{\"a\": 1}", "{\"b\": 1}", false},
             Case{"9007199254740993", "9007199254740992.0", false},
             Case{"1000000000000000000000000000000", "1e30",
                  false},  // 1e30 is 1000000000000000019884624838656
             Case{"1000000000000000019884624838656", "1e30", true},
             Case{"9223372036854775808", "9223372036854775808.0", true},
             Case{"9223372036854775807", "9223372036854775808", false},
             Case{"\"\\ud800\"", "\"\\ud801\"", false},
             Case{"\"A\"", "\"\\u0041\"", true},
         })
        EXPECT_EQ(same(value(one.left), value(one.right)), one.same) << one.left << " " << one.right;
}

// Lines made of pieces that parsers disagree about.
TEST(bench_mllog, simdjson_and_the_exact_reader_say_the_same_of_random_lines) {
    std::mt19937 random(3);
    const std::vector<std::string> pieces = {"{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             ":",
                                             "\"",
                                             "\\",
                                             "\\u00e9",
                                             "\\ud800",
                                             "1",
                                             "-",
                                             "0",
                                             ".",
                                             "e5",
                                             "true",
                                             "null",
                                             "NaN",
                                             "\"key\": \"seed\"",
                                             "\"time_ms\": 1",
                                             "\"value\": ",
                                             "\"metadata\": {}",
                                             ", ",
                                             " ",
                                             "\t",
                                             "\x0c",
                                             "\x1a",
                                             "\xc3\xa9",
                                             "99999999999999999999",
                                             "1e999",
                                             ":::MLLOG "};
    for (int i = 0; i < 4000; ++i) {
        std::string value, line;
        for (size_t count = random() % 6; count > 0; --count) value += pieces[random() % pieces.size()];
        line = i % 2 == 0 ? event_line(value) : ":::MLLOG " + value;
        const LogLines fast = read_log(line, known_keys(), ReadingWay::kFast);
        const LogLines exact = read_log(line, known_keys(), ReadingWay::kExact);
        ASSERT_EQ(fast.bad_lines, exact.bad_lines) << line;
        ASSERT_EQ(fast.events.size(), exact.events.size()) << line;
        for (size_t at = 0; at < fast.events.size(); ++at)
            ASSERT_TRUE(same(fast.events[at].value, exact.events[at].value)) << line;
    }
}

}  // namespace
}  // namespace belay::bench

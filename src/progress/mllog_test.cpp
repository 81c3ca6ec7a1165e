#include "progress/mllog.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>

namespace belay::progress {
namespace {

using testing::HasSubstr;

// Every expectation here was printed by CPython 3.11's json.dumps.
TEST(progress, mllog_line_has_the_bytes_python_writes) {
    Json value = Json::array({"é\u2028\x7f\"\\/\b\f\n\r\t\x01😀", 0.1, 1e-5, 1e16, 1e22, 123456789012345.0,
                              -0.0, 0.0001, 1.0, 5e-324, 1.7976931348623157e308, std::nan(""), -HUGE_VAL,
                              nullptr, true, Json::array(), Json::object()});
    Json metadata = {{"file", "a.py"}, {"lineno", 3}};
    EXPECT_EQ(
        format_mllog_line(1700000000123, kPointInTime, "x", value, metadata),
        R"(:::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": "POINT_IN_TIME", "key": "x", )"
        R"("value": ["\u00e9\u2028\u007f\"\\/\b\f\n\r\t\u0001\ud83d\ude00", 0.1, 1e-05, 1e+16, 1e+22, )"
        R"(123456789012345.0, -0.0, 0.0001, 1.0, 5e-324, 1.7976931348623157e+308, NaN, -Infinity, null, true, )"
        R"([], {}], "metadata": {"file": "a.py", "lineno": 3}})");
}

TEST(progress, mllog_event_is_found_behind_prefixes) {
    auto event = parse_mllog_line(
        "3: x :::MLLOG {\"bad\" :::MLLOG {\"namespace\": \"\", \"time_ms\": \"1700000000000\", "
        "\"event_type\": "
        "\"POINT_IN_TIME\", \"key\": \"eval_error\", \"value\": 0.125, \"metadata\": {\"epoch_num\": 3}} "
        "\xa0\r");
    ASSERT_TRUE(event && *event) << event.error().message();
    EXPECT_EQ((*event)->time_ms, 1.7e12);
    EXPECT_EQ((*event)->event_type, kPointInTime);
    EXPECT_EQ((*event)->key, "eval_error");
    EXPECT_EQ((*event)->value, Json(0.125));
    EXPECT_EQ((*event)->metadata, Json({{"epoch_num", 3}}));
}

TEST(progress, mllog_bytes_are_latin1) {
    EXPECT_EQ((*parse_mllog_line(":::MLLOG {\"key\": \"\xe9\"}"))->key, "é");
}

TEST(progress, mllog_absent_members_are_told_from_null) {
    auto event = parse_mllog_line(R"(:::MLLOG {"value": null, "key": 5, "time_ms": "soon"})");
    ASSERT_TRUE(event && *event);
    EXPECT_EQ((*event)->value, Json(nullptr));
    EXPECT_FALSE((*event)->metadata);
    EXPECT_FALSE((*event)->key);
    EXPECT_FALSE((*event)->time_ms);
    EXPECT_FALSE((*parse_mllog_line(R"(:::MLLOG {"time_ms": NaN})"))->time_ms);
}

TEST(progress, mllog_lines_without_token_are_none) {
    for (std::string_view line : {"", "step 3", ":::MLLOG", "::MLLOG {}", ":::MLLOGS {}"}) {
        auto event = parse_mllog_line(line);
        ASSERT_TRUE(event) << line;
        EXPECT_FALSE(*event) << line;
    }
}

TEST(progress, mllog_malformed_lines_are_errors) {
    for (std::string_view line : {":::MLLOG ", ":::MLLOG []", ":::MLLOG {}}", ":::MLLOG {\"a\": :::MLLOG 1"})
        EXPECT_FALSE(parse_mllog_line(line)) << line;
}

TEST(progress, mllog_text_counts_token_lines) {
    auto lines =
        parse_mllog("hello\r:::MLLOG {\"key\": \"a\"}\r\n\r\n:::MLLOG {\nx\n0: :::MLLOG {\"key\": \"b\"}");
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0].event->key, "a");
    EXPECT_FALSE(lines[1].event);
    EXPECT_EQ(lines[2].number, 3);
    EXPECT_EQ(lines[2].event->key, "b");
}

Json random_json(std::mt19937_64& random, int depth) {
    auto random_text = [&] {
        static const std::string kPieces[] = {"a",  "\"",     "\\",        "\n",   "\x01", "é",
                                              "😀", "\u2028", ":::MLLOG ", "\x7f", "/"};
        std::string text;
        for (size_t i = random() % 6; i > 0; --i) text += kPieces[random() % std::size(kPieces)];
        return text;
    };
    switch (random() % (depth > 0 ? 8 : 6)) {
        case 0:
            return nullptr;
        case 1:
            return random() % 2 == 0;
        case 2:
            return static_cast<int64_t>(random()) >> (random() % 64);
        case 3:
            return random();
        case 4:
            return std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % 600));
        case 5:
            return random_text();
        case 6: {
            Json array = Json::array();
            for (size_t i = random() % 4; i > 0; --i) array.push_back(random_json(random, depth - 1));
            return array;
        }
        default: {
            Json object = Json::object();
            for (size_t i = random() % 4; i > 0; --i) object[random_text()] = random_json(random, depth - 1);
            return object;
        }
    }
}

// Whatever is written reads back the same, except that a token inside a string hides what stands before it.
TEST(progress, mllog_written_lines_read_back_the_same) {
    std::mt19937_64 random(20240607);
    int read = 0;
    for (int i = 0; i < 3000; ++i) {
        Json value = random_json(random, 4);
        Json metadata = {{"file", "t.cpp"}, {"lineno", i}, {"more", random_json(random, 2)}};
        std::string line = format_mllog_line(1'700'000'000'000 + i, kIntervalEnd, "key", value, metadata);
        ASSERT_EQ(line.find_first_of("\r\n"), std::string::npos);
        if (line.rfind(kMllogToken) != 0) continue;
        auto event = parse_mllog_line("12: " + line + "\n");
        ASSERT_TRUE(event && *event) << line;
        ASSERT_EQ((*event)->value, value) << line;
        ASSERT_EQ((*event)->metadata, metadata) << line;
        ASSERT_EQ((*event)->time_ms, 1'700'000'000'000.0 + i);
        ++read;
    }
    EXPECT_GT(read, 1500);
}

}  // namespace
}  // namespace belay::progress

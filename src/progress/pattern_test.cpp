#include "progress/pattern.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

Pattern compiled(std::string_view expression) {
    core::Result<Pattern> pattern = Pattern::compile(expression);
    EXPECT_TRUE(pattern.has_value()) << pattern.error().render();
    return *pattern;
}

core::Error fault_of(std::string_view expression) {
    core::Result<Pattern> pattern = Pattern::compile(expression);
    EXPECT_FALSE(pattern.has_value()) << expression;
    return pattern.has_value() ? core::Error(core::ErrorKind::kSystem, "none") : pattern.error();
}

TEST(progress, pattern_fills_the_fields_of_its_groups) {
    Pattern pattern =
        compiled(R"(step (?P<step>\d+)/(?P<total>\d+) loss (?P<loss>\S+) at (?P<seconds>[\d.]+) s)");
    std::optional<ProgressEvent> event = pattern.match("12:00 step 5/100 loss 0.25 at 1.5 s per step");
    ASSERT_TRUE(event.has_value());
    ProgressEvent expected{.source = kFromPattern, .kind = kTrain};
    expected.step = 5;
    expected.total_steps = 100;
    expected.loss = 0.25;
    expected.step_seconds = 1.5;
    EXPECT_EQ(*event, expected);
    EXPECT_FALSE(pattern.match("step 5 of 100").has_value());
}

TEST(progress, every_group_name_reaches_a_field) {
    for (std::string_view name : group_names()) {
        Pattern pattern = compiled(fmt::format("x(?P<{}>\\d+)", name));
        std::optional<ProgressEvent> event = pattern.match("x4");
        ASSERT_TRUE(event.has_value()) << name;
        ProgressEvent nothing{.source = event->source, .kind = event->kind};
        EXPECT_NE(*event, nothing) << name;
    }
}

TEST(progress, pattern_converts_units) {
    EXPECT_EQ(compiled(R"(\(ms\): (?P<milliseconds>[\d.]+))").match("elapsed (ms): 250.0")->step_seconds,
              0.25);
    EXPECT_EQ(compiled(R"((?P<steps_per_second>[\d.]+)it/s)").match("4.0it/s")->step_seconds, 0.25);
    EXPECT_EQ(compiled(R"(tps: (?P<tokens_per_second>[\d,]+))").match("tps: 10,050")->tokens_per_second,
              10050);
}

TEST(progress, pattern_with_a_metric_is_an_evaluation) {
    Pattern pattern = compiled(R"((?:loss (?P<loss>[\d.]+) )?accuracy (?P<metric>[\d.]+))");
    EXPECT_EQ(pattern.match("accuracy 0.5")->kind, kEvaluation);
    EXPECT_EQ(pattern.match("loss 1.5 accuracy 0.5")->kind, kTrain);
}

TEST(progress, pattern_without_a_number_is_no_match) {
    EXPECT_FALSE(compiled(R"(loss (?P<loss>\S+))").match("loss is low").has_value());
    EXPECT_FALSE(compiled(R"(step (?P<step>\d*))").match("step ").has_value());
}

TEST(progress, pattern_notes_a_loss_that_is_not_a_number) {
    std::optional<ProgressEvent> event = compiled(R"(loss (?P<loss>\S+))").match("loss nan");
    ASSERT_TRUE(event.has_value());
    EXPECT_FALSE(event->loss.has_value());
    EXPECT_EQ(event->text, R"({"loss":"NaN"})");
}

TEST(progress, a_name_may_stand_in_several_alternatives) {
    Pattern pattern = compiled(R"(step (?P<step>\d+)|iteration (?P<step>\d+))");
    EXPECT_EQ(pattern.match("step 3")->step, 3);
    EXPECT_EQ(pattern.match("iteration 4")->step, 4);
}

TEST(progress, pattern_must_say_more_than_the_label) {
    Pattern pattern = compiled(R"((?P<step>\d+))");
    EXPECT_FALSE(pattern.match("0: loading", 3).has_value());
    EXPECT_EQ(compiled(R"(^(?P<step>\d+): loss)").match("12: loss 0.5", 4)->step, 12);
}

struct Faulty {
    std::string_view expression;
    int column;
    std::string_view hint;  // a part of it
};

TEST(progress, faulty_patterns_are_refused_with_place_and_hint) {
    constexpr Faulty kFaulty[] = {
        {R"(step (?P<step>\d+)", 6, "close the ("},
        {R"(step ([(]x(?P<step>\d+))", 6, "close the ("},
        {R"(step (?P<step>\d+)))", 19, "open it"},
        {R"(step [a-z(?P<step>\d+))", 6, "close the ["},
        {R"(step [z-a](?P<step>\d+))", 7, "lower to the higher"},
        {R"(step ** (?P<step>\d+))", 6, "before it"},
        {R"(* (?P<step>\d+))", 1, "put before it"},
        {R"(step \y(?P<step>\d+))", 6, "back-references"},
        {R"((?P<step>\d+)\)", 14, "backslash"},
        {R"(step (?<step>\d+))", 6, "(?P<step>...)"},
        {R"(step (?=x)(?P<step>\d+))", 6, "look-ahead"},
        {R"((?P<step>\d+)(?P<los>\d+))", 18, "did you mean \"loss\"?"},
        {R"(step (?P<banana>\d+))", 10, "may be named step, total"},
        {R"(step (\d+))", 1, "(?P<step>"},
        {"", 1, "(?P<step>"},
        {R"((?P<step>\d{5000}))", 12, "1000"},
    };
    for (const Faulty& faulty : kFaulty) {
        core::Error error = fault_of(faulty.expression);
        EXPECT_EQ(error.kind(), core::ErrorKind::kBadInput);
        ASSERT_TRUE(error.position().has_value()) << faulty.expression;
        EXPECT_EQ(error.position()->line_text, faulty.expression);
        EXPECT_EQ(error.position()->column, faulty.column) << error.render();
        EXPECT_NE(error.hint_text().find(faulty.hint), std::string::npos) << error.render();
    }
}

TEST(progress, error_of_several_patterns_says_which) {
    std::vector<std::string> expressions = {R"((?P<step>\d+))", "("};
    core::Result<std::vector<Pattern>> patterns = compile_patterns(expressions);
    ASSERT_FALSE(patterns.has_value());
    EXPECT_EQ(patterns.error().position()->file, "progress pattern 2");
    expressions.pop_back();
    EXPECT_EQ(compile_patterns(expressions)->size(), 1u);
}

TEST(progress, pattern_takes_any_bytes) {
    Pattern pattern = compiled(R"(step (?P<step>\d+))");
    EXPECT_EQ(pattern.match("\xFF\xFE step 7")->step, 7);
    EXPECT_FALSE(pattern.match(std::string_view("\0\0", 2)).has_value());
}

}  // namespace
}  // namespace belay::progress

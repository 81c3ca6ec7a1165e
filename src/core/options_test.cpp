#include "core/options.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A command with a variable of each kind.
struct Command {
    std::string text = "as before", record;
    int number = 1;
    uint64_t seed = 2;
    double share = 0.5;
    std::optional<int> workers;
    std::optional<double> seconds;
    std::vector<std::string> tags, files;
    std::vector<int64_t> gpus;
    bool strict = false, verbose = false;
    Options options;

    Command() {
        options.add_option("-t,--text", text, "a text")->type_name("TEXT");
        options.add_option("-n,--number", number, "a number");
        options.add_option("--seed", seed, "a seed");
        options.add_option("--share", share, "a share");
        options.add_option("--workers", workers, "how many")->between(1, 64)->type_name("N");
        auto* length = options.add_option("--seconds", seconds, "how long")->type_name("S");
        options.add_option("-T,--tag", tags, "a tag");
        options.add_option("--gpu", gpus, "a GPU")->type_name("N");
        options.add_flag("-v,--verbose", verbose, "say more");
        options.add_flag("-s,--strict", strict, "refuse more")->needs(length);
        options.add_option("RECORD", record, "the record");
        options.add_option("WORDS", files, "words");
    }

    // As Application does it.
    Result<> take(const std::vector<std::string>& words) {
        CommandModel model{.full_name = "belay", .page = {.name = "", .summary = ""}, .runnable = true};
        for (const OptionModel& option : options.models())
            (option.is_positional() ? model.positionals : model.options).push_back(option);
        BELAY_TRY(parsed, parse_words(model, words));
        return options.bind(parsed.given);
    }

    // The message, with the hint, of words that are refused.
    static std::string refusal(const std::vector<std::string>& words) {
        Command command;
        Result<> taken = command.take(words);
        if (taken) return "taken";
        EXPECT_EQ(taken.error().kind(), ErrorKind::kBadInput);
        return taken.error().render();
    }
};

TEST(core, options_that_are_not_given_leave_their_variables) {
    Command command;
    ASSERT_TRUE(command.take({}));
    EXPECT_EQ(command.text, "as before");
    EXPECT_EQ(command.number, 1);
    EXPECT_EQ(command.workers, std::nullopt);
    EXPECT_FALSE(command.verbose);
    command.tags = {"one"};
    ASSERT_TRUE(command.take({"--text", "x"}));
    EXPECT_THAT(command.tags, ElementsAre("one"));
    ASSERT_TRUE(command.take({"--tag", "two"}));
    EXPECT_THAT(command.tags, ElementsAre("two")) << "what was there is replaced";
}

TEST(core, options_take_each_kind_of_value) {
    Command command;
    ASSERT_TRUE(command.take({"--text=a b", "--number", "-5",        "--seed", "18446744073709551615",
                              "--share",    "1e-3",     "--workers", "64",     "--seconds=-2.5",
                              "--tag",      "a",        "-Tb",       "--gpu",  "1",
                              "--gpu=0",    "-v",       "r",         "f",      "g"}));
    EXPECT_EQ(command.text, "a b");
    EXPECT_EQ(command.number, -5);
    EXPECT_EQ(command.seed, UINT64_MAX);
    EXPECT_EQ(command.share, 1e-3);
    EXPECT_EQ(command.workers, 64);
    EXPECT_EQ(command.seconds, -2.5);
    EXPECT_THAT(command.tags, ElementsAre("a", "b"));
    EXPECT_THAT(command.gpus, ElementsAre(1, 0));
    EXPECT_TRUE(command.verbose);
    EXPECT_EQ(command.record, "r");
    EXPECT_THAT(command.files, ElementsAre("f", "g"));
}

TEST(core, options_take_whole_numbers_in_decimal_digits_only) {
    Command command;
    ASSERT_TRUE(command.take({"-n-2147483648"}));
    EXPECT_EQ(command.number, INT32_MIN);
    ASSERT_TRUE(command.take({"-n", "010"}));
    EXPECT_EQ(command.number, 10) << "not octal";
    EXPECT_EQ(Command::refusal({"-n", "3x"}),
              "belay: --number: \"3x\" is not a whole number\nhint: a whole number is written in decimal "
              "digits\n");
    for (const char* text : {"1e3", "0x10", "+5", "1.0", "1_000", "5 ", "--5", "-"})
        EXPECT_THAT(Command::refusal({"-n", text}), HasSubstr("is not a whole number")) << text;
    for (const char* text : {"", " 5", "many", "true", "nan", "[1]"})
        EXPECT_THAT(Command::refusal({"-n", text}), HasSubstr("is not a number")) << text;
    EXPECT_THAT(Command::refusal({"--number="}), StartsWith("belay: --number: \"\" is not a number"));
    EXPECT_THAT(Command::refusal({"--workers="}), StartsWith("belay: --workers: \"\" is not a number"));
    EXPECT_THAT(Command::refusal({"--gpu", "0", "--gpu", "x"}), StartsWith("belay: --gpu: \"x\" is not"));
}

TEST(core, options_refuse_numbers_out_of_range) {
    EXPECT_EQ(Command::refusal({"-n", "99999999999"}),
              "belay: --number: \"99999999999\" is not in range: -2147483648 to 2147483647\n");
    EXPECT_EQ(Command::refusal({"--seed", "18446744073709551616"}),
              "belay: --seed: \"18446744073709551616\" is not in range: 0 to 18446744073709551615\n");
    EXPECT_THAT(Command::refusal({"--seed", "-1"}), HasSubstr("\"-1\" is not in range: 0 to"));
    EXPECT_THAT(Command::refusal({"--gpu", "9223372036854775808"}), HasSubstr("is not in range"));
    for (const char* text : {"0", "65", "-1", "99999999999999999999"})
        EXPECT_EQ(Command::refusal({"--workers", text}),
                  fmt::format("belay: --workers: \"{}\" is not in range: 1 to 64\n", text));
    EXPECT_THAT(Command::refusal({"--workers", "2x"}), HasSubstr("\"2x\" is not a whole number"));
}

TEST(core, options_take_finite_numbers_only) {
    for (const char* text : {"", "x", "1.5x", "+1", "0x10", "nan", "inf", "-inf", "1e999", "1,5", " 1"}) {
        EXPECT_EQ(Command::refusal({"--share", text}),
                  fmt::format("belay: --share: \"{}\" is not a number or not in range\n", text));
        EXPECT_THAT(Command::refusal({"--seconds", text}), StartsWith("belay: --seconds: ")) << text;
    }
}

TEST(core, options_take_texts_as_they_are) {
    for (const char* text : {"", "-x", "--", "--tag", "[a,b]", "[]", "a,b", "\n", "=", "%%", "{}"}) {
        Command command;
        ASSERT_TRUE(command.take({"--text", text, "-T", text, std::string("--tag=") + text})) << text;
        EXPECT_EQ(command.text, text);
        EXPECT_THAT(command.tags, ElementsAre(text, text));
        EXPECT_THAT(command.files, IsEmpty()) << text;
    }
    Command command;
    ASSERT_TRUE(command.take({"-vto", "-T=a", "r", "[a,b]", "", "--", "-b", "--", "--text"}));
    EXPECT_EQ(command.text, "o");
    EXPECT_THAT(command.tags, ElementsAre("=a"));
    EXPECT_EQ(command.record, "r");
    EXPECT_THAT(command.files, ElementsAre("[a,b]", "", "-b", "--", "--text"));
}

TEST(core, options_with_one_value_are_given_once) {
    EXPECT_EQ(Command::refusal({"--text", "a", "-tb"}),
              "belay: option \"--text\" is given more than once, with \"a\" and \"b\"\nhint: it takes one "
              "value\n");
    EXPECT_THAT(Command::refusal({"--workers", "1", "--workers", "1"}), HasSubstr("more than once"));
    Command command;
    EXPECT_TRUE(command.take({"-v", "-vv", "--verbose"})) << "a flag says the same again";
    std::string last;
    Options options;
    options.add_option("--last", last, "")->last_counts();
    EXPECT_TRUE(options.bind(std::vector<GivenValue>{{"--last", "a"}, {"--last", "b"}}));
    EXPECT_EQ(last, "b");
}

TEST(core, options_say_which_option_they_need) {
    EXPECT_EQ(Command::refusal({"-s"}),
              "belay: option \"--strict\" needs option \"--seconds S\": how long\n");
    EXPECT_EQ(Command::refusal({"-s", "--seconds", "1"}), "taken");
    EXPECT_EQ(Command::refusal({"--seconds", "1"}), "taken");
}

TEST(core, options_are_plain_data_for_help) {
    std::vector<OptionModel> models = Command().options.models();
    EXPECT_THAT(models[0].names, ElementsAre("-t", "--text"));
    EXPECT_EQ(models[0].name_and_value(), "--text TEXT");
    EXPECT_EQ(models[1].value_name, "INT");
    EXPECT_EQ(models[2].value_name, "UINT");
    EXPECT_EQ(models[3].value_name, "FLOAT");
    EXPECT_FALSE(models[0].repeatable);
    EXPECT_TRUE(models[6].repeatable);
    EXPECT_EQ(models[6].value_name, "TEXT");
    EXPECT_FALSE(models[8].takes_value());
    EXPECT_TRUE(models.back().is_positional());
    EXPECT_EQ(models.back().value_name, "");
    std::string text;
    Options options;
    options.add_option("--long,-l", text, "");
    EXPECT_THAT(options.models()[0].names, ElementsAre("-l", "--long"));
}

TEST(core, options_declared_wrongly_end_the_program) {
    std::string text;
    Options options;
    options.add_option("-o,--output", text, "");
    EXPECT_DEATH(options.add_option("--other,-o", text, ""), "option declared twice: -o");
    for (const char* names : {"", "-", "--", "-ab", "a,b", "-a,B", "-a, --b"})
        EXPECT_DEATH(options.add_option(names, text, ""), "name of an option") << names;
}

}  // namespace
}  // namespace belay::core

#include "spank/plain/instruction.h"

#include "spank/plain/wire.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;
using namespace std::string_view_literals;

// Each instruction in words, then what is wrong, if anything.
std::vector<std::string> read_all(std::string text) {
    std::vector<std::string> words;
    char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
        Instruction instruction{};
        if (const char* mistake = take_instruction(at, end, instruction)) {
            words.emplace_back(mistake);
            break;
        }
        std::string word(1, static_cast<char>(instruction.kind));
        for (const char* part : {instruction.name, instruction.value, instruction.directory})
            if (part != nullptr) word += " " + std::string(part);
        words.push_back(word);
    }
    return words;
}

}  // namespace

TEST(spank, instructions_are_read_in_order) {
    EXPECT_THAT(read_all("uGONE\0sA=1\0sB=\0oC=x=y\0c/work\0r\0"s),
                ElementsAre("u GONE", "s A 1", "s B ", "o C x=y", "c /work", "r"));
    EXPECT_THAT(read_all(""), ElementsAre());
}

TEST(spank, instructions_that_are_wrong_are_told) {
    const struct {
        std::string_view text;
        const char* mistake;
    } cases[] = {
        {"sA=1"sv, "cut off"},         {"c/work"sv, "cut off"},       {"\0"sv, "empty instruction"},
        {"sA\0"sv, "without a value"}, {"s=1\0"sv, "without a name"}, {"u\0"sv, "without a name"},
        {"x\0"sv, "does not know"},    {"\xff\0"sv, "does not know"},
    };
    for (const auto& [text, mistake] : cases)
        EXPECT_THAT(read_all(std::string(text)), ElementsAre(HasSubstr(mistake))) << mistake;
}

TEST(spank, instructions_before_a_wrong_one_are_read) {
    EXPECT_THAT(read_all("r\0sA=1\0sB=1"s), ElementsAre("r", "s A 1", HasSubstr("cut off")));
}

}  // namespace belay::spank

#include "spank/plain/words.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::ElementsAre;

// As execve(2) takes them. What the functions return is never freed by the plugin; here it is.
class Words {
  public:
    Words(std::initializer_list<const char*> words) : words_(words.begin(), words.end()) {
        for (std::string& word : words_) pointers_.push_back(word.data());
        pointers_.push_back(nullptr);
    }
    char** get() { return pointers_.data(); }

  private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

// Frees all but those that were the caller's.
std::vector<std::string> taken(char** words, size_t owned_from, size_t owned_to) {
    std::vector<std::string> texts;
    for (size_t i = 0; words[i] != nullptr; ++i) {
        texts.emplace_back(words[i]);
        if (i >= owned_from && i < owned_to) free(words[i]);
    }
    free(words);
    return texts;
}

}  // namespace

TEST(spank, the_program_gets_a_verb_numbers_and_the_command) {
    Words command{"python", "train.py", ""};
    const int numbers[] = {17, -1, 2147483647};
    EXPECT_THAT(taken(program_arguments("node", numbers, 3, command.get()), 2, 5),
                ElementsAre("belay-step", "node", "17", "-1", "2147483647", "python", "train.py", ""));
    EXPECT_THAT(taken(program_arguments("node", numbers, 0, nullptr), 0, 0),
                ElementsAre("belay-step", "node"));
}

TEST(spank, the_program_does_not_load_libraries_of_the_job) {
    Words variables{"A=1", "LD_PRELOAD=x.so", "OLD_LD_=2", "LD_LIBRARY_PATH=/l"};
    EXPECT_THAT(
        taken(program_environment(variables.get(), nullptr), 0, 9),
        ElementsAre("A=1", "BELAY_HIDDEN_LD_PRELOAD=x.so", "OLD_LD_=2", "BELAY_HIDDEN_LD_LIBRARY_PATH=/l"));
}

TEST(spank, the_program_gets_the_plan) {
    Words variables{"A=1"};
    EXPECT_THAT(taken(program_environment(variables.get(), "5 {}"), 0, 9),
                ElementsAre("A=1", "SLURM_BELAY_PLAN=5 {}"));
    EXPECT_THAT(taken(program_environment(nullptr, "5 {}"), 0, 9), ElementsAre("SLURM_BELAY_PLAN=5 {}"));
}

}  // namespace belay::spank

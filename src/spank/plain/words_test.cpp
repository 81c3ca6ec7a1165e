#include "spank/plain/words.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::ElementsAre;

// As execve(2) takes them.
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

std::vector<std::string> taken(char** words) {
    std::vector<std::string> texts;
    for (char** word = words; *word != nullptr; ++word) texts.emplace_back(*word);
    free(words);
    return texts;
}

}  // namespace

TEST(spank, the_program_gets_a_verb_numbers_and_the_command) {
    Words command{"python", "train.py", ""};
    const int numbers[] = {17, -1, 2147483647};
    EXPECT_THAT(taken(program_arguments("node", numbers, 3, command.get())),
                ElementsAre("belay-step", "node", "17", "-1", "2147483647", "python", "train.py", ""));
    EXPECT_THAT(taken(program_arguments("node", numbers, 0, nullptr)), ElementsAre("belay-step", "node"));
}

TEST(spank, the_program_does_not_load_libraries_of_the_job) {
    Words variables{"A=1", "LD_PRELOAD=x.so", "OLD_LD_=2", "LD_LIBRARY_PATH=/l"};
    EXPECT_THAT(
        taken(program_environment(variables.get(), nullptr)),
        ElementsAre("A=1", "BELAY_HIDDEN_LD_PRELOAD=x.so", "OLD_LD_=2", "BELAY_HIDDEN_LD_LIBRARY_PATH=/l"));
}

TEST(spank, the_program_gets_the_plan) {
    Words variables{"A=1"};
    EXPECT_THAT(taken(program_environment(variables.get(), "5 {}")),
                ElementsAre("A=1", "SLURM_BELAY_PLAN=5 {}"));
    EXPECT_THAT(taken(program_environment(nullptr, "5 {}")), ElementsAre("SLURM_BELAY_PLAN=5 {}"));
}

}  // namespace belay::spank

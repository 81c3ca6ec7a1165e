#include "slurm/node_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

TEST(slurm, what_several_nodes_say_is_told_once) {
    NodeCauses causes;
    EXPECT_THAT(causes.lines(), IsEmpty());
    for (const char* node : {"n1", "n2", "n2"}) causes.add("disk full", node);
    causes.add("no image", "n9");
    causes.add("disk full", "n3");
    EXPECT_THAT(causes.lines(), ElementsAre("n[1-3]: disk full", "n9: no image"));
    EXPECT_THAT(causes.lines(2), ElementsAre("n[1-3]: disk full", "n9: no image"));
    EXPECT_THAT(causes.lines(1), ElementsAre("n[1-3]: disk full", "and 1 more causes"));
}

TEST(slurm, a_list_of_nodes_is_short_and_printable) {
    std::vector<std::string> odd;
    for (int i = 1; i < 400; i += 2) odd.push_back("n" + std::to_string(i));
    EXPECT_THAT(short_list(odd), EndsWith("… (200 nodes)"));
    EXPECT_LE(short_list(odd).size(), 230U);
    EXPECT_EQ(short_list(std::vector<std::string>{"red \x1b[31m", "n1"}), "red ?[31m,n1");
}

}  // namespace belay::slurm

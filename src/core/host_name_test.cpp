#include "core/host_name.h"

#include "core/utf8.h"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(core, the_name_of_this_machine_may_stand_in_a_file_name) {
    const std::string name = host_name();
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find('/'), std::string::npos);
    EXPECT_EQ(name, to_valid_utf8(name));
}

}  // namespace
}  // namespace belay::core

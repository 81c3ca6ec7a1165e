#include "record/import/line_reader.h"

#include <fstream>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using testing::ElementsAre;

class File {
  public:
    explicit File(const std::string& content) : directory_(core::TemporaryDirectory::create().value()) {
        std::ofstream(path(), std::ios::binary) << content;
    }
    std::filesystem::path path() const { return directory_.path() / "f"; }
    // Each line, "!" behind one without its end.
    std::vector<std::string> lines() const {
        std::vector<std::string> all;
        auto reader = LineReader::open(path()).value();
        while (auto line = reader.next().value()) {
            EXPECT_EQ(line->number, std::ssize(all) + 1);
            all.push_back(std::string(line->text) + (line->ended ? "" : "!"));
        }
        return all;
    }

  private:
    core::TemporaryDirectory directory_;
};

TEST(record_import, lines_come_without_their_ends) {
    EXPECT_THAT(File("").lines(), ElementsAre());
    EXPECT_THAT(File("a").lines(), ElementsAre("a!"));
    EXPECT_THAT(File("a\n").lines(), ElementsAre("a"));
    EXPECT_THAT(File("a\r\n\nbc\nd").lines(), ElementsAre("a", "", "bc", "d!"));
}

TEST(record_import, lines_of_any_length_and_number_are_read) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + ",some text that fills the line\n";
    std::vector<std::string> lines = File(text).lines();
    ASSERT_EQ(lines.size(), 50'000U);
    EXPECT_EQ(lines[43'210], "43210,some text that fills the line");
    std::vector<std::string> with_long = File("a\n" + std::string(3'000'000, 'x') + "\nb\n").lines();
    ASSERT_EQ(with_long.size(), 3U);
    EXPECT_EQ(with_long[1].size(), LineReader::kLongestLine);
    EXPECT_EQ(with_long[2], "b");
    EXPECT_EQ(File(std::string(3'000'000, 'x')).lines().size(), 1U);
}

TEST(record_import, the_last_whole_line_is_found_from_the_end) {
    EXPECT_EQ(last_line(File("").path()).value(), "");
    EXPECT_EQ(last_line(File("a").path()).value(), "");
    EXPECT_EQ(last_line(File("a\n").path()).value(), "a");
    EXPECT_EQ(last_line(File(std::string(200'000, '\n') + "a,b\nc,d").path()).value(), "a,b");
    EXPECT_EQ(last_line(File(std::string(200'000, 'x') + "\n").path()).value(), "");
}

TEST(record_import, a_pipe_is_refused_and_not_waited_for) {
    auto directory = core::TemporaryDirectory::create().value();
    std::filesystem::path pipe = directory.path() / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_FALSE(LineReader::open(pipe));
    EXPECT_FALSE(LineReader::open(directory.path() / "none"));
}

}  // namespace
}  // namespace belay::record

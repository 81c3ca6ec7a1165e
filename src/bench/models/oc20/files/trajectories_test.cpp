#include "bench/models/oc20/files/trajectories.h"

#include "bench/models/oc20/files/lmdb_for_tests.h"
#include "bench/models/oc20/files/pickle_for_tests.h"
#include "bench/models/oc20/generator.h"
#include "core/file.h"

#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

Structure numbered(uint32_t index) {
    return make_structure(*size_named("mini"), 1, Split::kTrain, index);
}

LmdbEntries entries_of(std::vector<uint32_t> indices) {
    LmdbEntries entries = {{"length", pickle_of(integer_opcode(static_cast<int32_t>(indices.size())))}};
    for (size_t i = 0; i < indices.size(); ++i)
        entries.emplace_back(std::to_string(i), data_pickle(attributes_of_structure(numbered(indices[i]))));
    return entries;
}

class bench_oc20_trajectories : public testing::Test {
  protected:
    std::string problem() const {
        auto opened = Trajectories::open(directory_.path());
        return opened ? "none" : opened.error().message();
    }
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST_F(bench_oc20_trajectories, are_one_list_in_the_order_of_their_names) {
    write_lmdb(directory_.path() / "data.0001.lmdb", entries_of({4, 5, 6}));
    write_lmdb(directory_.path() / "data.0000.lmdb", entries_of({2, 3}));
    write_lmdb(directory_.path() / "data.0000b.lmdb", entries_of({}));
    EXPECT_TRUE(Trajectories::are_in(directory_.path()).value());
    auto trajectories = Trajectories::open(directory_.path());
    ASSERT_TRUE(trajectories) << trajectories.error().message();
    ASSERT_EQ(trajectories->size(), 5u);
    for (uint32_t place = 0; place < 5; ++place) {
        auto structure = trajectories->read(place, 4);
        ASSERT_TRUE(structure) << structure.error().message();
        const Structure expected = numbered(2 + place);
        EXPECT_EQ(structure->numbers, expected.numbers);
        EXPECT_EQ(structure->fixed, expected.fixed);
        EXPECT_EQ(structure->energy, expected.energy);
        EXPECT_FLOAT_EQ(static_cast<float>(structure->forces[3][1]),
                        static_cast<float>(expected.forces[3][1]));
    }
    EXPECT_THAT(trajectories->read(5, 4).error().message(),
                HasSubstr("it has 5 structures, and number 5 is needed"));
}

TEST_F(bench_oc20_trajectories, say_which_file_and_key_is_wrong) {
    EXPECT_FALSE(Trajectories::are_in(directory_.path()).value());
    EXPECT_THAT(problem(), HasSubstr("has no .lmdb files"));
    LmdbEntries entries = entries_of({0, 1});
    entries[2].second.resize(entries[2].second.size() / 2);
    const auto path = directory_.path() / "a.lmdb";
    write_lmdb(path, entries);
    auto trajectories = Trajectories::open(directory_.path());
    ASSERT_TRUE(trajectories);
    EXPECT_TRUE(trajectories->read(0, 4));
    EXPECT_THAT(trajectories->read(1, 4).error().message(),
                HasSubstr("a.lmdb: key \"1\": the pickle is damaged"));
    EXPECT_THAT(trajectories->read(0, 400).error().message(), HasSubstr("its cell is flat or far smaller"));
}

TEST_F(bench_oc20_trajectories, say_when_a_file_is_cut_off_or_another) {
    const auto path = directory_.path() / "a.lmdb";
    write_lmdb(path, entries_of({0, 1, 2, 3, 4, 5, 6, 7}));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8192);
    EXPECT_THAT(problem(), HasSubstr("it is cut off"));
    std::ofstream(path) << std::string(10000, 'x');
    EXPECT_THAT(problem(), HasSubstr("a.lmdb: "));
    std::filesystem::remove(path);
    write_lmdb(path, {{"0", "N"}});
    EXPECT_THAT(problem(), HasSubstr("no key \"length\""));
    std::filesystem::remove(path);
    write_lmdb(path, {{"length", pickle_of("N")}});
    EXPECT_THAT(problem(), HasSubstr("not a whole number"));
}

TEST_F(bench_oc20_trajectories, are_looked_for_where_they_may_be_and_an_error_is_none_of_them) {
    EXPECT_FALSE(Trajectories::are_in(directory_.path() / "train").value()) << "there is no such directory";
    std::filesystem::create_symlink("train", directory_.path() / "train");
    EXPECT_EQ(Trajectories::are_in(directory_.path() / "train").error().exit_status(), 3);
    ASSERT_EQ(mkfifo((directory_.path() / "a.lmdb").c_str(), 0600), 0);
    EXPECT_TRUE(Trajectories::are_in(directory_.path()).value());
    EXPECT_THAT(problem(), HasSubstr("a.lmdb is a named pipe, not a regular file"));
}

}  // namespace
}  // namespace belay::bench::oc20

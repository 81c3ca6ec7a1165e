#include "bench/models/oc20/files/trajectories.h"

#include "bench/models/oc20/files/pickle_for_tests.h"
#include "bench/models/oc20/generator.h"
#include "core/file.h"

#include <fstream>
#include <lmdb.h>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

using Entries = std::vector<std::pair<std::string, std::string>>;

void write_lmdb(const std::filesystem::path& path, const Entries& entries) {
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    ASSERT_EQ(mdb_env_create(&environment), 0);
    ASSERT_EQ(mdb_env_set_mapsize(environment, size_t{64} << 20), 0);
    ASSERT_EQ(mdb_env_open(environment, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0644), 0);
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
    ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &database), 0);
    for (const auto& [key, value] : entries) {
        MDB_val name{key.size(), const_cast<char*>(key.data())};
        MDB_val content{value.size(), const_cast<char*>(value.data())};
        ASSERT_EQ(mdb_put(transaction, database, &name, &content, 0), 0);
    }
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
    mdb_env_close(environment);
}

Structure numbered(uint32_t index) {
    return make_structure(*size_named("mini"), 1, Split::kTrain, index);
}

Entries entries_of(std::vector<uint32_t> indices) {
    Entries entries = {{"length", pickle_of(integer_opcode(static_cast<int32_t>(indices.size())))}};
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
    EXPECT_TRUE(Trajectories::are_in(directory_.path()));
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
    EXPECT_FALSE(Trajectories::are_in(directory_.path()));
    EXPECT_THAT(problem(), HasSubstr("has no .lmdb files"));
    Entries entries = entries_of({0, 1});
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

}  // namespace
}  // namespace belay::bench::oc20

#include "bench/roofline/measure.h"

#include "core/file.h"

#include <set>

#include <gtest/gtest.h>

namespace belay::bench::roofline {
namespace {

class DataDirectory {
  public:
    DataDirectory() : directory_(core::TemporaryDirectory::create().value()) {}
    void add(const std::string& name, size_t bytes) {
        const auto path = directory_.path() / name;
        std::filesystem::create_directories(path.parent_path());
        ASSERT_TRUE(core::replace_file(path, std::string(bytes, 'x')));
    }
    const std::filesystem::path& path() const { return directory_.path(); }

  private:
    core::TemporaryDirectory directory_;
};

TEST(roofline_measure, a_directory_is_listed_in_one_order_everywhere) {
    DataDirectory data;
    for (int i = 0; i < 8; ++i) data.add(fmt::format("part{}/sample{}", i % 2, i), 1000);
    data.add("empty", 0);
    std::filesystem::create_symlink("/etc", data.path() / "link");
    const auto listed = list_data(data.path()).value();
    EXPECT_EQ(listed.files.size(), 8U);
    EXPECT_EQ(listed.bytes, 8000U);
    EXPECT_TRUE(listed.is_all);
    const auto again = list_data(data.path()).value();
    std::vector<std::string> names;
    for (const auto& file : listed.files) names.push_back(file.name);
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(again.files[i].name, names[i]);
    EXPECT_FALSE(std::ranges::is_sorted(names));
}

TEST(roofline_measure, ranks_read_other_files_and_no_more_than_they_may) {
    DataDirectory data;
    for (int i = 0; i < 5; ++i) data.add(fmt::format("sample{}", i), 1000);
    const auto listed = list_data(data.path()).value();
    int met = 0;
    const ColdReadOptions first{.threads = 2, .part = 0, .parts = 2, .meet = [&]() -> core::Result<> {
                                    ++met;
                                    return {};
                                }};
    EXPECT_EQ(read_cold(data.path(), listed, first)->bytes, 3000U);
    EXPECT_EQ(met, 1);
    EXPECT_EQ(read_cold(data.path(), listed, {.part = 1, .parts = 2})->bytes, 2000U);
    const auto little = read_cold(data.path(), listed, {.most_bytes = 1500}).value();
    EXPECT_EQ(little.bytes, 1500U);
    EXPECT_EQ(little.files, 2U);
    EXPECT_GT(little.seconds, 0);
    const auto none = read_cold(data.path(), listed, {.part = 6, .parts = 7});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind(), core::ErrorKind::kBadInput);
}

TEST(roofline_measure, a_directory_that_is_none_or_empty_is_refused) {
    DataDirectory data;
    EXPECT_EQ(list_data(data.path()).error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(list_data(data.path() / "nowhere").error().kind(), core::ErrorKind::kBadInput);
    data.add("file", 10);
    EXPECT_EQ(list_data(data.path() / "file").error().kind(), core::ErrorKind::kBadInput);
}

TEST(roofline_measure, only_a_read_that_was_cold_is_a_rate_of_storage) {
    ColdRead read{.files = 2, .bytes = 1000, .seconds = 0.5, .cached_share = 0.0};
    EXPECT_EQ(rate_of(read).sense, Sense::kValue);
    EXPECT_DOUBLE_EQ(*rate_of(read).value, 2000);
    EXPECT_NE(read.describe().find("page cache dropped before"), std::string::npos);
    read.cached_share = 0.5;
    EXPECT_EQ(rate_of(read).sense, Sense::kAtMost);
    EXPECT_NE(read.describe().find("50 % stayed in the page cache"), std::string::npos);
    read.cached_share.reset();
    EXPECT_EQ(rate_of(read).sense, Sense::kAtMost);
    EXPECT_NE(read.describe().find("does not say"), std::string::npos);
}

TEST(roofline_measure, what_stays_in_memory_is_seen) {
    // tmpfs is memory: nothing of it can be dropped.
    std::error_code error;
    const std::filesystem::path shm = "/dev/shm";
    if (!std::filesystem::is_directory(shm, error)) GTEST_SKIP() << "/dev/shm is missing";
    const auto directory = shm / fmt::format("belay-roofline-{}", getpid());
    if (!std::filesystem::create_directory(directory, error)) GTEST_SKIP() << "/dev/shm cannot be written to";
    ASSERT_TRUE(core::replace_file(directory / "sample", std::string(1 << 16, 'x')));
    const auto listed = list_data(directory).value();
    const auto read = read_cold(directory, listed, {}).value();
    std::filesystem::remove_all(directory);
    EXPECT_FALSE(read.is_cold());
    EXPECT_EQ(rate_of(read).sense, Sense::kAtMost);
}

TEST(roofline_measure, a_machine_gives_three_rates) {
    DataDirectory data;
    data.add("sample", 1 << 16);
    int met = 0;
    const auto measured = measure_machine({.threads = 1,
                                           .gemm_size = 32,
                                           .array_bytes = 4096,
                                           .repeats = 1,
                                           .data = data.path(),
                                           .meet = [&]() -> core::Result<> {
                                               ++met;
                                               return {};
                                           }})
                              .value();
    for (const Resource resource : {Resource::kCompute, Resource::kMemory, Resource::kIo}) {
        ASSERT_TRUE(measured.machine.rate(resource).value) << to_text(resource);
        EXPECT_GT(*measured.machine.rate(resource).value, 0);
        EXPECT_NE(measured.machine.rate(resource).source, "");
    }
    EXPECT_FALSE(measured.machine.rate(Resource::kNetwork).value);
    EXPECT_EQ(measured.read->bytes, 1U << 16);
    EXPECT_EQ(met, 3);
    EXPECT_FALSE(measure_machine({.threads = 1, .gemm_size = 1}));
}

TEST(roofline_measure, a_node_is_shared_by_its_ranks) {
    const Machine node{.rates = {Number{.value = 8}, Number{.value = 4}, Number{.value = 6}, Number{}}};
    const Machine rank = shared_by(node, 2);
    EXPECT_DOUBLE_EQ(*rank.rate(Resource::kCompute).value, 4);
    EXPECT_DOUBLE_EQ(*rank.rate(Resource::kMemory).value, 2);
    EXPECT_DOUBLE_EQ(*rank.rate(Resource::kNetwork).value, 6);  // of a rank already
    EXPECT_FALSE(rank.rate(Resource::kIo).value);
    EXPECT_EQ(shared_by(node, 1), node);
}

TEST(roofline_measure, the_slowest_rank_counts) {
    const Number fast{.value = 3, .source = "a"}, slow{.value = 2, .source = "b"};
    const Number unsure{.value = 4, .sense = Sense::kAtMost}, unknown{.source = "c"};
    EXPECT_EQ(slowest_of(std::vector{fast, slow}), slow);
    EXPECT_EQ(slowest_of(std::vector{unsure, fast}).sense, Sense::kAtMost);
    EXPECT_FALSE(slowest_of(std::vector{fast, unknown, slow}).value);
    EXPECT_FALSE(slowest_of({}).value);
}

TEST(roofline_measure, ranks_of_a_node_have_cpus_of_their_own) {
    const std::vector usable = {0, 1, 2, 3, 8, 9};
    std::set<int> seen;
    for (int rank = 0; rank < 3; ++rank)
        for (const int cpu : cpus_of_rank(usable, rank, 3, 0)) EXPECT_TRUE(seen.insert(cpu).second);
    EXPECT_EQ(seen.size(), 6U);
    // Bound by the launcher, that is all there is.
    EXPECT_EQ(cpus_of_rank({4, 5}, 1, 3, 2), (std::vector{4, 5}));
    EXPECT_EQ(cpus_of_rank(usable, 1, 2, 2), (std::vector{2, 3}));
    EXPECT_EQ(cpus_of_rank(usable, 0, 1, 0), usable);
    EXPECT_EQ(cpus_of_rank({7}, 2, 4, 0), std::vector{7});
    EXPECT_TRUE(cpus_of_rank({}, 0, 2, 1).empty());
}

}  // namespace
}  // namespace belay::bench::roofline

#include "bench/models/oc20/files/lmdb_file.h"

#include "bench/models/oc20/files/lmdb_for_tests.h"
#include "bench/synthetic/random.h"
#include "core/output.h"

#include <functional>
#include <map>
#include <sys/stat.h>
#include <thread>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

std::string random_text(RandomStream& random, uint32_t bytes) {
    std::string text(bytes, '\0');
    for (char& byte : text) byte = static_cast<char>(random.next_below(256));
    return text;
}

std::string outcome_of(const core::Result<std::optional<std::string>>& found) {
    if (!found) return "error: " + found.error().message();
    return *found ? **found : "nothing";
}

class bench_oc20_lmdb : public testing::Test {
  protected:
    core::Result<LmdbFile> open() const {
        return LmdbFile::open(core::Directory::open(directory_.path()).value(), "a.lmdb");
    }
    std::string bytes() const { return *core::read_file(path_); }
    // What a file of these bytes says of the key.
    std::string said(const std::string& bytes, std::string_view key) const {
        EXPECT_TRUE(core::write_output(path_, bytes));
        auto file = open();
        return file ? outcome_of(file->find(key)) : "error: " + file.error().message();
    }
    void start_with_pages_of(size_t bytes) const {
        EXPECT_TRUE(core::write_output(path_, empty_lmdb(bytes)));
    }

    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::filesystem::path path_ = directory_.path() / "a.lmdb";
};

TEST_F(bench_oc20_lmdb, gives_what_liblmdb_has_written) {
    const std::string longest(511, 'k'), large(100000, 'v');
    write_lmdb(path_, {{"length", "3"},
                       {"0", ""},
                       {"1", large},
                       {longest, "long"},
                       {std::string("a\0b", 3), "with a zero"}});
    auto file = open();
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(outcome_of(file->find("length")), "3");
    EXPECT_EQ(outcome_of(file->find("0")), "");
    EXPECT_EQ(outcome_of(file->find("1")), large);
    EXPECT_EQ(outcome_of(file->find(longest)), "long");
    EXPECT_EQ(outcome_of(file->find(std::string_view("a\0b", 3))), "with a zero");
    for (const std::string& absent : {std::string("2"), std::string(), std::string("lengt"),
                                      std::string("length "), longest + 'k', std::string("\xff")})
        EXPECT_EQ(outcome_of(file->find(absent)), "nothing") << absent;
}

TEST_F(bench_oc20_lmdb, gives_the_values_of_an_empty_file_which_has_none) {
    {
        LmdbWriter empty(path_);
    }
    EXPECT_EQ(outcome_of(open()->find("0")), "nothing");
    LmdbWriter(path_).put({{"0", "x"}});
    EXPECT_EQ(outcome_of(open()->find("0")), "x");
    LmdbWriter(path_).remove({"0"});
    EXPECT_EQ(outcome_of(open()->find("0")), "nothing");
}

// Puts, rewrites and removes in many transactions, so that pages are freed, used again and split, in pages of all sizes.
TEST_F(bench_oc20_lmdb, gives_the_last_value_of_each_key_after_many_transactions) {
    for (size_t page_bytes : {512, 1024, 4096, 16384, 32768}) {
        start_with_pages_of(page_bytes);
        RandomStream random(1, Split::kTrain, static_cast<uint32_t>(page_bytes), 0);
        std::map<std::string, std::string> expected;
        std::vector<std::string> removed;
        {
            LmdbWriter writer(path_);
            for (int round = 0; round < 30; ++round) {
                LmdbEntries entries;
                for (int i = 0; i < 100; ++i) {
                    const std::string key = random_text(random, 1 + random.next_below(i % 10 == 0 ? 80 : 3));
                    entries.emplace_back(key,
                                         random_text(random, random.next_below(i % 20 == 0 ? 20000 : 100)));
                    expected[key] = entries.back().second;
                }
                writer.put(entries);
                std::vector<std::string> some;
                for (const auto& [key, value] : expected)
                    if (random.next_below(4) == 0) some.push_back(key);
                writer.remove(some);
                for (const std::string& key : some) expected.erase(key);
                removed.insert(removed.end(), some.begin(), some.end());
            }
            EXPECT_EQ(writer.statistics().ms_psize, page_bytes);
            EXPECT_GE(writer.statistics().ms_depth, page_bytes == 512 ? 3u : 2u);
            EXPECT_GT(writer.statistics().ms_overflow_pages, 0u);
        }
        auto file = open();
        ASSERT_TRUE(file) << file.error().message();
        for (const auto& [key, value] : expected) ASSERT_EQ(outcome_of(file->find(key)), value);
        for (const std::string& key : removed)
            if (!expected.contains(key)) {
                ASSERT_EQ(outcome_of(file->find(key)), "nothing");
            }
    }
}

TEST_F(bench_oc20_lmdb, is_read_by_several_threads) {
    LmdbEntries entries;
    for (int i = 0; i < 2000; ++i)
        entries.emplace_back(std::to_string(i), std::string(static_cast<size_t>(i), 'v'));
    write_lmdb(path_, entries);
    auto file = open();
    ASSERT_TRUE(file);
    std::vector<std::jthread> threads;
    for (size_t first = 0; first < 4; ++first)
        threads.emplace_back([&, first] {
            for (size_t i = first; i < entries.size(); i += 3)
                EXPECT_EQ(outcome_of(file->find(entries[i].first)), entries[i].second);
        });
}

TEST_F(bench_oc20_lmdb, refuses_databases_of_other_kinds) {
    {
        LmdbWriter(path_).put({{"x", "1"}}, "within");
    }
    EXPECT_THAT(outcome_of(open()->find("within")), HasSubstr("error: its key is that of another database"));
    EXPECT_EQ(outcome_of(open()->find("x")), "nothing");
    std::filesystem::remove(path_);
    {
        LmdbWriter writer(path_);
        writer.put({{"0", "x"}});
    }
    std::string several = bytes();
    for (size_t page : {0, 4096}) several[page + 92] = MDB_DUPSORT;
    EXPECT_THAT(said(several, "0"),
                HasSubstr("its keys have several values or are in an order of their own"));
}

TEST_F(bench_oc20_lmdb, takes_the_later_one_of_two_meta_pages_that_are_whole) {
    {
        LmdbWriter writer(path_);
        for (const char* value : {"first", "second", "third"}) writer.put({{"0", value}});
    }
    const std::string whole = bytes();
    EXPECT_EQ(said(whole, "0"), "third");
    std::string without_first = whole, without_second = whole, without_both = whole;
    without_first[16] ^= 1;
    without_second[4096 + 16] ^= 1;
    without_both[16] ^= 1;
    without_both[4096 + 16] ^= 1;
    // The third transaction is in page 1; the pages of the second are still there.
    EXPECT_EQ(said(without_first, "0"), "third");
    EXPECT_EQ(said(without_second, "0"), "second");
    EXPECT_THAT(said(without_both, "0"), HasSubstr("it is not an LMDB file"));
    std::string newer = whole;
    newer[20] = 2;
    newer[4096 + 20] = 2;
    EXPECT_THAT(said(newer, "0"), HasSubstr("it is an LMDB file of version 2"));
}

// Where the node of the only key is; its page is the last one.
struct OnlyNode {
    size_t page = 0, node = 0;
};
OnlyNode only_node(const std::string& bytes, uint64_t page) {
    OnlyNode found{.page = page * 4096};
    uint16_t place = 0;
    std::memcpy(&place, bytes.data() + found.page + 16, sizeof place);
    found.node = found.page + place;
    return found;
}

// Each of these ended the process in liblmdb.
TEST_F(bench_oc20_lmdb, refuses_pages_that_lead_out_of_themselves) {
    write_lmdb(path_, {{"0", "value"}});
    const std::string good = bytes();
    const OnlyNode at = only_node(good, 2);
    const auto with = [&](size_t place, std::string_view bytes) {
        std::string changed = good;
        changed.replace(place, bytes.size(), bytes);
        return said(changed, "0");
    };
    ASSERT_EQ(with(0, ""), "value");
    EXPECT_THAT(with(at.page + 12, std::string_view("\x0e\0", 2)), HasSubstr("its free room goes from 14"));
    EXPECT_THAT(with(at.page + 12, "\xfe\xff"), HasSubstr("its free room goes from 65534"));
    EXPECT_THAT(with(at.page + 14, "\x01\x10"), HasSubstr("to 4097"));
    EXPECT_THAT(with(at.page + 16, "\xf0\xff"), HasSubstr("its node 0 is at 65520"));
    EXPECT_THAT(with(at.page + 16, std::string_view("\x10\0", 2)), HasSubstr("its node 0 is at 16"));
    EXPECT_THAT(with(at.node, "\xff\xff"), HasSubstr("a value has 65535 bytes and room for"));
    EXPECT_THAT(with(at.node + 6, "\xff\xff"), HasSubstr("the key of its node 0 has 65535 bytes"));
    EXPECT_THAT(with(at.page, "\x03"), HasSubstr("it says that it is page 3"));
    EXPECT_THAT(with(at.page + 10, "\x04"), HasSubstr("it holds no keys"));
    EXPECT_THAT(with(at.page + 10, "\x01"), HasSubstr("it is damaged: it leads to 1 pages from page"));
}

TEST_F(bench_oc20_lmdb, refuses_values_that_reach_beyond_the_file) {
    write_lmdb(path_, {{"0", std::string(10000, 'v')}});
    const std::string good = bytes();
    const auto with = [&](std::string_view bytes, size_t place) {
        std::string changed = good;
        changed.replace(place, bytes.size(), bytes);
        return said(changed, "0");
    };
    size_t leaf = 0;
    for (uint64_t page = 2; page < good.size() / 4096; ++page)
        if (good[page * 4096 + 10] == 0x02) leaf = page;
    const OnlyNode at = only_node(good, leaf);
    EXPECT_THAT(with("\xff\xff\xff\x7f", at.node),
                HasSubstr("its value has 2147483647 bytes; up to 16777216 are read"));
    EXPECT_THAT(with(std::string_view("\0\0\xff", 3), at.node), HasSubstr("its last one is"));
    EXPECT_THAT(with("\xff\xff\xff\xff\xff\xff\xff\xff", at.node + 9),
                HasSubstr("from page 18446744073709551615 on"));
    EXPECT_THAT(with(std::string_view("\x02\0\0\0\0\0\0\0", 8), at.node + 9), testing::StartsWith("error: "));
}

TEST_F(bench_oc20_lmdb, refuses_impossible_sizes_of_pages_and_trees_without_end) {
    {
        LmdbWriter writer(path_);
        LmdbEntries entries;
        for (int i = 0; i < 1000; ++i) entries.emplace_back(std::to_string(i), "value");
        writer.put(entries);
    }
    const std::string good = bytes();
    for (uint32_t size : {0U, 1U, 256U, 4095U, 65536U, 0x80000000U, 0xffffffffU}) {
        std::string changed = good;
        for (size_t page : {0, 4096}) std::memcpy(changed.data() + page + 40, &size, sizeof size);
        EXPECT_THAT(said(changed, "0"), HasSubstr(fmt::format("pages of {} bytes", size)));
    }
    uint64_t root = 0;
    std::memcpy(&root, good.data() + 4096 + 128, sizeof root);
    std::string endless = good;
    const OnlyNode first = only_node(good, root);
    ASSERT_EQ(good[first.page + 10], 0x01) << "a branch";
    endless.replace(first.node, 6, std::string_view(reinterpret_cast<const char*>(&root), 6));
    EXPECT_THAT(said(endless, ""), HasSubstr("it goes down more than 32 levels"));
    EXPECT_THAT(said(good.substr(0, good.size() - 4096), "0"), HasSubstr("it is cut off"));
    EXPECT_THAT(said("", "0"), HasSubstr("it is cut off"));
}

TEST_F(bench_oc20_lmdb, opens_regular_files_only) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_THAT(open().error().message(), HasSubstr("a.lmdb is a named pipe, not a regular file"));
    std::filesystem::remove(path_);
    write_lmdb(directory_.path() / "other", {{"0", "x"}});
    std::filesystem::create_symlink("other", path_);
    EXPECT_THAT(open().error().message(), HasSubstr("a.lmdb is a symbolic link"));
    std::filesystem::remove(path_);
    std::filesystem::create_directory(path_);
    EXPECT_THAT(open().error().message(), HasSubstr("a.lmdb is a directory"));
}

// Whatever is done to the bytes, a key gives a value, nothing or an error.
TEST_F(bench_oc20_lmdb, damaged_bytes_are_an_error_and_not_a_crash) {
    RandomStream random(1, Split::kTrain, 0, 0);
    for (size_t page_bytes : {512, 4096}) {
        start_with_pages_of(page_bytes);
        LmdbEntries entries;
        for (int i = 0; i < 300; ++i)
            entries.emplace_back(std::to_string(i), random_text(random, i % 30 == 0 ? 3000 : 10));
        LmdbWriter(path_).put(entries);
        const std::string good = bytes();
        int refused = 0, found = 0;
        for (int i = 0; i < 20000; ++i) {
            std::string damaged = good;
            for (uint32_t j = 0, many = 1 + random.next_below(4); j < many; ++j) {
                // Mostly where pages have their headers and pointers.
                const uint32_t page = random.next_below(static_cast<uint32_t>(good.size() / page_bytes));
                const uint32_t within =
                    random.next_below(random.next_below(4) == 0 ? static_cast<uint32_t>(page_bytes) : 40);
                damaged[page * page_bytes + within] = static_cast<char>(random.next_below(256));
            }
            if (random.next_below(10) == 0)
                damaged.resize(random.next_below(static_cast<uint32_t>(good.size())));
            auto file = LmdbFile::of_bytes(damaged);
            if (!file) {
                EXPECT_FALSE(file.error().message().empty());
                ++refused;
                continue;
            }
            for (int key = 0; key < 10; ++key) {
                const auto value = file->find(std::to_string(random.next_below(300)));
                refused += value ? 0 : 1;
                found += value && *value ? 1 : 0;
            }
        }
        EXPECT_GT(refused, 1000);
        EXPECT_GT(found, 1000);
    }
}

}  // namespace
}  // namespace belay::bench::oc20

// For tests: data files of LMDB as liblmdb writes them.
#pragma once

#include "bench/models/oc20/files/lmdb_page.h"
#include "core/file.h"

#include <cstring>
#include <filesystem>
#include <lmdb.h>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace belay::bench::oc20 {

using LmdbEntries = std::vector<std::pair<std::string, std::string>>;

// The meta pages of an empty file with pages of such a size: of a file that is there, liblmdb keeps to its own.
inline std::string empty_lmdb(size_t page_bytes) {
    std::string bytes(2 * page_bytes, '\0');
    for (uint64_t page : {0, 1}) {
        auto put = [&](size_t place, auto number) {
            std::memcpy(bytes.data() + page * page_bytes + place, &number, sizeof number);
        };
        put(0, page);
        put(10, uint16_t{0x08});
        put(16, uint32_t{0xbeefc0de});
        put(20, uint32_t{1});
        put(32, uint64_t{64} << 20);
        put(40, static_cast<uint32_t>(page_bytes));
        put(44, uint16_t{MDB_INTEGERKEY});
        for (size_t root : {80, 128}) put(root, ~uint64_t{0});
        put(136, uint64_t{1});
    }
    return bytes;
}

class LmdbWriter {
  public:
    explicit LmdbWriter(const std::filesystem::path& path, unsigned flags = 0) {
        EXPECT_EQ(mdb_env_create(&environment_), 0);
        EXPECT_EQ(mdb_env_set_mapsize(environment_, size_t{256} << 20), 0);
        EXPECT_EQ(mdb_env_set_maxdbs(environment_, 2), 0);
        EXPECT_EQ(
            mdb_env_open(environment_, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | flags, 0644),
            0);
    }
    LmdbWriter(const LmdbWriter&) = delete;
    LmdbWriter& operator=(const LmdbWriter&) = delete;
    ~LmdbWriter() { mdb_env_close(environment_); }

    // One transaction each. `name` and `flags` are of a database within.
    void put(const LmdbEntries& entries, const char* name = nullptr, unsigned flags = 0) {
        change(name, flags, [&](MDB_txn* transaction, MDB_dbi database) {
            for (const auto& [key, value] : entries) {
                MDB_val of_key = as_value(key), content = as_value(value);
                EXPECT_EQ(mdb_put(transaction, database, &of_key, &content, 0), 0) << key;
            }
        });
    }
    void remove(const std::vector<std::string>& keys) {
        change(nullptr, 0, [&](MDB_txn* transaction, MDB_dbi database) {
            for (const std::string& key : keys) {
                MDB_val of_key = as_value(key);
                EXPECT_EQ(mdb_del(transaction, database, &of_key, nullptr), 0) << key;
            }
        });
    }
    MDB_stat statistics() {
        MDB_stat statistics{};
        EXPECT_EQ(mdb_env_stat(environment_, &statistics), 0);
        return statistics;
    }

  private:
    static MDB_val as_value(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }
    template <typename Work>
    void change(const char* name, unsigned flags, const Work& work) {
        MDB_txn* transaction = nullptr;
        MDB_dbi database = 0;
        ASSERT_EQ(mdb_txn_begin(environment_, nullptr, 0, &transaction), 0);
        ASSERT_EQ(
            mdb_dbi_open(transaction, name, flags | (name == nullptr ? 0U : unsigned{MDB_CREATE}), &database),
            0);
        work(transaction, database);
        ASSERT_EQ(mdb_txn_commit(transaction), 0);
    }

    MDB_env* environment_ = nullptr;
};

inline void write_lmdb(const std::filesystem::path& path, const LmdbEntries& entries) {
    LmdbWriter(path).put(entries);
}

}  // namespace belay::bench::oc20

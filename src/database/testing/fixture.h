// Tests that run on both engines, each on a database of its own.
#pragma once

#include "core/deadline.h"
#include "core/file.h"
#include "core/fork.h"
#include "database/database.h"
#include "database/testing/private_postgres.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace belay::database {

// Far longer than anything here takes.
inline core::Deadline soon() {
    return core::Deadline::after(std::chrono::minutes(5));
}

class OnEngine : public ::testing::TestWithParam<Engine> {
  protected:
    void SetUp() override {
        if (is_sqlite()) {
            place_ = "sqlite:" + (directory_.path() / "state.db").string();
            return;
        }
        auto* server = testing::PrivatePostgres::shared();
        if (server == nullptr) GTEST_SKIP() << "PostgreSQL is not installed (package postgresql)";
        place_ = server->create_database().value();
    }
    bool is_sqlite() const { return GetParam() == Engine::kSqlite; }
    const std::string& place() const { return place_; }
    // Another one of the same place is what another process would have.
    Database open(size_t connections = 4) const {
        return Database::open(place_, {.connections = connections}, soon()).value();
    }
    Database open_with(std::string_view table) const {
        make({table});
        return open();
    }
    // Runs statements, and leaves nothing open.
    void make(std::initializer_list<std::string_view> statements) const {
        Database database = open();
        for (std::string_view sql : statements) {
            auto done = database.execute(soon(), sql);
            EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().render());
        }
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::string place_;
};

// One whole number, the answer to a query.
inline int64_t number_of(Database& database, std::string_view sql, const Values& values = {}) {
    auto rows = database.query(soon(), sql, values);
    EXPECT_TRUE(rows.has_value()) << (rows ? "" : rows.error().render());
    return rows && !rows->empty() ? rows->front().integer(0).value_or(-1) : -1;
}

// Another process, killed when the test is done with it. SQLite keeps in the memory of a process which locks that has: so
// nothing of this process may be open here.
inline core::Process in_process(const std::function<int()>& body, std::vector<int> keep = {}) {
    return core::fork_process({.name = "belay-test", .keep = std::move(keep), .death_signal = SIGKILL}, body)
        .value();
}

}  // namespace belay::database

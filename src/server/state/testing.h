// Tests of the state, on both engines, each on a database of its own with the whole schema.
#pragma once

#include "core/time.h"
#include "database/testing/fixture.h"
#include "server/state/job_store.h"
#include "server/state/schema.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace belay::server {

inline const core::Time kStateTime = core::time_from_nanoseconds(1'700'000'000'000'000'000);

class OnState : public database::OnEngine {
  protected:
    void SetUp() override {
        OnEngine::SetUp();
        if (IsSkipped()) return;
        auto opened = open_state(place(), database::soon());
        ASSERT_TRUE(opened) << opened.error().render();
        state_.emplace(std::move(*opened));
    }
    database::Database& state() { return *state_; }
    // What another belayd would have.
    database::Database another() const { return open(); }
    int64_t count(std::string_view sql, const database::Values& values = {}) {
        return database::number_of(state(), sql, values);
    }
    void put(const Job& job, core::Time now = kStateTime) {
        const auto done = put_job(state(), job, now, database::soon());
        EXPECT_TRUE(done) << (done ? "" : done.error().render());
    }
    Job found(const std::string& key) {
        auto job = find_job(state(), key, database::soon());
        EXPECT_TRUE(job && *job) << key;
        return job && *job ? **job : Job{};
    }

  private:
    std::optional<database::Database> state_;
};

// "c/7", submitted that many minutes after kStateTime.
inline Job job_number(int64_t number, const std::string& user, const std::string& account = "") {
    return {.key = "c/" + std::to_string(number),
            .cluster = "c",
            .id = number,
            .submit = kStateTime + std::chrono::minutes(number),
            .user = user,
            .account = account};
}

// The value, or a failure with the error and a value of nothing.
template <typename T>
T got(core::Result<T> result) {
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().render());
    return result ? std::move(*result) : T{};
}

}  // namespace belay::server

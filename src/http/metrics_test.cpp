#include "http/metrics.h"

#include "http/pace.h"

#include <chrono>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

using namespace std::chrono_literals;

TEST(http, buckets_of_seconds) {
    EXPECT_EQ(seconds_bucket(0), 0u);
    EXPECT_EQ(seconds_bucket(0.001), 0u);
    EXPECT_EQ(seconds_bucket(0.0011), 1u);
    EXPECT_EQ(seconds_bucket(60), kSecondsBuckets.size() - 1);
    EXPECT_EQ(seconds_bucket(1e9), kSecondsBuckets.size());
}

TEST(http, requests_are_counted_by_route_and_status) {
    Meters meters({{.method = "GET", .pattern = "/"}, {}});
    meters.count_request(0, 200, 2ms);
    meters.count_request(0, 200, 3ms);
    meters.count_request(0, 404, 2h);
    meters.count_request(1, 400, 0ms);
    const Metrics metrics = meters.read();
    ASSERT_EQ(metrics.routes.size(), 2u);
    EXPECT_EQ(metrics.routes[0].requests_by_status, (std::map<int, uint64_t>{{200, 2}, {404, 1}}));
    EXPECT_EQ(metrics.routes[0].requests_by_seconds[1], 2u);
    EXPECT_EQ(metrics.routes[0].requests_by_seconds.back(), 1u);
    EXPECT_NEAR(metrics.routes[0].seconds, 7200.005, 1e-6);
    EXPECT_EQ(metrics.routes[1].requests_by_status, (std::map<int, uint64_t>{{400, 1}}));
}

TEST(http, time_is_earned_by_bytes) {
    Pace pace(20s, 1000);
    EXPECT_EQ(pace.allowed(), 20s);
    EXPECT_EQ(pace.allowed(5000), 25s);
    pace.add(15s, 5000);
    EXPECT_EQ(pace.allowed(), 10s);
    pace.add(1s, 1'000'000'000);
    EXPECT_EQ(pace.allowed(), 20s);  // not more than at first
    for (int i = 0; i < 10; ++i) pace.add(2s, 1);
    EXPECT_LT(pace.allowed(), 1s);  // a byte now and then does not help
    pace.add(2s, 1);
    EXPECT_LE(pace.allowed(), 0s);
}

}  // namespace
}  // namespace belay::http

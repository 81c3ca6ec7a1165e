#include "report/series_query.h"

#include "report/query.h"
#include "report/testing/record_builder.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

// 2 of 4 CPUs are busy; every seventh tick is on time, the others come a little late.
record::Manifest one_node() {
    record::Manifest manifest;
    manifest.job.nodes = {"n1"};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    manifest.interval = std::chrono::seconds(1);
    manifest.flush = std::chrono::seconds(2);
    return manifest;
}

TEST(report, a_series_is_the_mean_of_each_bucket) {
    RecordBuilder record(one_node());
    for (int i = 0; i <= 5000; ++i) {
        const double second = i + 0.01 * (i % 7);
        record.row(schema::kHost, "n1", second)
            .set("cpu_count", 4)
            .set("cpu_user_seconds_total", 2 * second)
            .set("cpu_system_seconds_total", 0.0);
    }
    auto archive = record::Archive::open(record.write());
    ASSERT_TRUE(archive);
    auto data = measure(*archive);
    ASSERT_TRUE(data);
    data->buckets = 100;
    data->bucket_seconds = 50;
    ASSERT_TRUE(read_plots(*archive, *data));
    const NodeValues& user = (*data)[node_plot("cpu_user_share")];
    EXPECT_TRUE(std::ranges::none_of(user.values, is_missing));
    for (double value : user.values) EXPECT_NEAR(value, 0.5, 0.01);
    EXPECT_NEAR(user.means.at(0), 0.5, 0.001);
}

}  // namespace
}  // namespace belay::report

#include "agent/courier/metric_view.h"

#include "observe/allocation_rows.h"
#include "schema/tables/allocation.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/host.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using schema::column;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const core::Time kNow = core::time_from_nanoseconds(1'700'000'000'000'000'000);

stream::Batch host_row(double load) {
    stream::Batch rows(schema::kHost);
    rows.add_row(kNow, "n1");
    rows.set(column(schema::kHost, "load_1m"), load);
    return rows;
}

stream::Batch gpu_rows(const std::vector<std::string>& devices, double active) {
    stream::Batch rows(schema::kGpu);
    for (const std::string& device : devices) {
        rows.add_row(kNow, "n1");
        rows.set(column(schema::kGpu, "device"), device);
        rows.set(column(schema::kGpu, "sm_active_ratio"), active);
    }
    return rows;
}

stream::Batch device_row(const std::string& device) {
    stream::Batch rows(schema::kGpuDevice);
    rows.add_row(kNow, "n1");
    rows.set(column(schema::kGpuDevice, "device"), device);
    rows.set(column(schema::kGpuDevice, "name"), "a GPU");
    return rows;
}

stream::Batch share_row(int64_t job, std::optional<std::string> device, bool has_ended) {
    stream::Batch rows(schema::kAllocation);
    observe::add_allocation(rows, kNow, "n1", {.job_id = job, .step_id = "0", .from = kNow}, device,
                            has_ended ? std::optional(kNow) : std::nullopt);
    return rows;
}

// "LABEL=VALUE… NUMBER" of each sample of a family, without the node.
std::vector<std::string> samples_of(const std::vector<metrics::Family>& families, const std::string& name) {
    std::vector<std::string> texts;
    for (const metrics::Family& family : families) {
        if (family.name != name) continue;
        for (const metrics::Sample& sample : family.samples) {
            std::string text;
            for (const metrics::Label& label : sample.labels)
                if (label.name != "node") text += label.name + "=" + label.value + " ";
            texts.push_back(text + fmt::format("{:g}", std::get<double>(sample.value)));
        }
    }
    return texts;
}

TEST(agent_courier, the_newest_value_of_each_series_is_shown_without_a_time) {
    MetricView view({.silence = seconds(12)});
    EXPECT_THAT(view.newest(seconds(1)), IsEmpty());
    const auto sent = view.take(host_row(0.5), seconds(1));
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].samples[0].time, kNow) << "what is sent has the time of the row";
    view.take(host_row(0.25), seconds(3));
    const auto page = view.newest(seconds(3));
    EXPECT_THAT(samples_of(page, "belay_node_load_1m"), ElementsAre("0.25"));
    EXPECT_FALSE(page[0].samples[0].time);
    EXPECT_TRUE(metrics::check(page));
}

TEST(agent_courier, the_values_of_a_gpu_that_is_gone_disappear) {
    MetricView view({.silence = seconds(12)});
    view.take(device_row("GPU-a"), seconds(1));
    view.take(device_row("GPU-b"), seconds(1));
    for (int second = 1; second <= 20; ++second) {
        const std::vector<std::string> there =
            second <= 5 ? std::vector<std::string>{"GPU-a", "GPU-b"} : std::vector<std::string>{"GPU-b"};
        view.take(gpu_rows(there, 0.5), seconds(second));
    }
    EXPECT_EQ(samples_of(view.newest(seconds(17)), "belay_gpu_sm_active_ratio").size(), 2U);
    const auto page = view.newest(seconds(18));
    EXPECT_THAT(samples_of(page, "belay_gpu_sm_active_ratio"), ElementsAre("device=GPU-b 0.5"));
    EXPECT_EQ(samples_of(page, "belay_gpu_info").size(), 1U) << "what it is goes with it";
    const size_t before = view.series();
    view.forget_ended(seconds(18));
    EXPECT_EQ(view.series(), before - 1) << "but it is known should it come back";
    view.take(gpu_rows({"GPU-a", "GPU-b"}, 0.5), seconds(21));
    EXPECT_EQ(samples_of(view.newest(seconds(21)), "belay_gpu_info").size(), 2U);
}

TEST(agent_courier, a_series_that_comes_seldom_is_shown_between_its_values) {
    MetricView view({.silence = seconds(12)});
    view.take(host_row(1), seconds(0));
    view.take(host_row(2), seconds(60));
    EXPECT_THAT(samples_of(view.newest(seconds(240)), "belay_node_load_1m"), ElementsAre("2"));
    EXPECT_THAT(view.newest(seconds(241)), IsEmpty());
    view.take(host_row(3), seconds(7200));
    EXPECT_THAT(view.newest(seconds(7200 + 1801)), IsEmpty()) << "after half an hour at most";
}

TEST(agent_courier, a_share_is_shown_until_it_has_ended) {
    MetricView view({.silence = seconds(12)});
    EXPECT_THAT(view.take(share_row(7, std::nullopt, false), seconds(1)), IsEmpty());
    view.take(share_row(7, "GPU-a", false), seconds(1));
    view.take(share_row(8, std::nullopt, false), seconds(1));
    EXPECT_EQ(samples_of(view.infos(seconds(9000)), "belay_job_info").size(), 3U);
    view.take(share_row(7, std::nullopt, true), seconds(9001));
    view.take(share_row(7, "GPU-a", true), seconds(9001));
    EXPECT_THAT(samples_of(view.infos(seconds(9001)), "belay_job_info"), ElementsAre("job_id=8 step_id=0 1"));
}

TEST(agent_courier, processes_are_shown_where_that_is_asked_for) {
    stream::Batch rows(schema::kProcess);
    rows.add_row(kNow, "n1");
    rows.set(column(schema::kProcess, "pid"), 5);
    rows.set(column(schema::kProcess, "resident_bytes"), 4096);
    MetricView view({.silence = seconds(12)}), all({.silence = seconds(12), .shows_processes = true});
    EXPECT_THAT(view.take(rows, seconds(1)), IsEmpty());
    EXPECT_EQ(view.series(), 0U);
    EXPECT_EQ(all.take(rows, seconds(1)).size(), 1U);
    EXPECT_EQ(all.newest(seconds(1)).size(), 1U);
}

TEST(agent_courier, series_beyond_the_bound_are_left_out_and_counted) {
    MetricView view({.silence = seconds(12), .most_series = 2});
    view.take(gpu_rows({"GPU-a", "GPU-b", "GPU-c"}, 0.5), seconds(1));
    EXPECT_EQ(view.series(), 2U);
    EXPECT_EQ(view.left_out(), 1U);
    view.forget_ended(seconds(100));
    EXPECT_EQ(view.series(), 0U);
    view.take(gpu_rows({"GPU-c"}, 0.5), seconds(100));
    EXPECT_EQ(samples_of(view.newest(seconds(100)), "belay_gpu_sm_active_ratio").size(), 1U);
}

}  // namespace
}  // namespace belay::agent

#include "agent/step_shares.h"

#include "schema/tables/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using observe::collect::StepOnNode;
using schema::column;
using schema::kAllocation;
using ::testing::ElementsAre;

core::Time at(double seconds) {
    return core::time_from_nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

StepOnNode step(std::string name, pid_t daemon, double started, core::Environment more = {}) {
    more.insert({{"SLURM_JOB_ID", "7"}, {"SLURM_CPUS_ON_NODE", "4"}, {"SLURM_GTIDS", "6,4,5"}});
    return {.name = {7, std::move(name)},
            .daemon = daemon,
            .start_ticks = daemon * 100,
            .started = at(started),
            .environment = std::move(more)};
}

gpu::Device device(std::string uuid, int index, std::string profile = {}) {
    return {.uuid = std::move(uuid), .index = index, .mig_profile = std::move(profile)};
}

// "STEP DEVICE t0 t1" of each row.
std::vector<std::string> take(stream::Batch& rows) {
    std::vector<std::string> words;
    for (size_t row = 0; row < rows.rows(); ++row) {
        auto text = [&](size_t index) {
            const auto& values = rows.values(index);
            return values.present[row] ? values.texts[row] : "-";
        };
        auto seconds = [&](size_t index) {
            const auto& values = rows.values(index);
            return values.present[row] ? fmt::format("{:g}", static_cast<double>(values.integers[row]) / 1e9)
                                       : "-";
        };
        words.push_back(fmt::format("{} {} {} {}", text(column(kAllocation, "step_id")),
                                    text(column(kAllocation, "device")), seconds(column(kAllocation, "t0")),
                                    seconds(column(kAllocation, "t1"))));
    }
    rows.clear();
    return words;
}

TEST(agent, a_step_gets_its_share_when_it_is_found_and_when_it_has_ended) {
    StepShares shares("n1");
    stream::Batch rows(kAllocation);
    shares.look(at(10), std::vector{step("0", 5, 8.5)}, rows);
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(rows.values(column(kAllocation, "node")).texts[0], "n1");
    EXPECT_EQ(rows.values(column(kAllocation, "job_id")).integers[0], 7);
    EXPECT_EQ(rows.values(column(kAllocation, "restart")).integers[0], 0);
    EXPECT_EQ(rows.values(column(kAllocation, "cpus")).integers[0], 4);
    EXPECT_EQ(rows.values(column(kAllocation, "first_task")).integers[0], 4);
    EXPECT_EQ(rows.values(column(kAllocation, "tasks")).integers[0], 3);
    EXPECT_THAT(take(rows), ElementsAre("0 - 8.5 -"));
    shares.look(at(11), std::vector{step("0", 5, 8.5), step("batch", 6, 10.5)}, rows);
    EXPECT_THAT(take(rows), ElementsAre("- - 10.5 -")) << "a batch script has no number";
    shares.look(at(12), std::vector{step("batch", 6, 10.5)}, rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 8.5 11.5")) << "in the middle between two looks";
    shares.look(at(13), {}, rows);
    EXPECT_THAT(take(rows), ElementsAre("- - 10.5 12.5"));
}

TEST(agent, a_share_waits_until_it_is_known_and_no_longer_than_three_looks) {
    StepShares shares("n1");
    stream::Batch rows(kAllocation);
    StepOnNode early = step("0", 5, 9.9);
    early.environment.reset();
    StepOnNode bare = step("1", 6, 9.9);
    bare.environment.reset();
    StepOnNode hidden = step("2", 7, 9.9);
    hidden.environment.reset();
    hidden.is_hidden = true;
    shares.add_device(device("GPU-a", 0));
    shares.look(at(10), std::vector{early, bare, hidden}, rows);
    EXPECT_THAT(take(rows), ElementsAre("2 - 9.9 -")) << "what it holds will never be known";
    early = step("0", 5, 9.9);
    shares.look(at(11), std::vector{early, bare, hidden}, rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 9.9 -", "0 GPU-a 9.9 -"));
    shares.look(at(12), std::vector{early, bare, hidden}, rows);
    EXPECT_THAT(take(rows), ElementsAre("1 - 9.9 -"));
    StepOnNode brief = step("3", 8, 12.5);
    brief.environment.reset();
    shares.look(at(13), std::vector{early, bare, hidden, brief}, rows);
    EXPECT_TRUE(rows.empty());
    shares.look(at(14), std::vector{early, bare, hidden}, rows);
    EXPECT_THAT(take(rows), ElementsAre("3 - 12.5 13.5"));
}

TEST(agent, a_step_holds_the_devices_that_slurm_or_cuda_name) {
    StepShares shares("n1");
    stream::Batch rows(kAllocation);
    const std::vector steps{step("0", 5, 9, {{"SLURM_STEP_GPUS", "1"}}),
                            step("1", 6, 9, {{"CUDA_VISIBLE_DEVICES", "GPU-a"}}), step("extern", 7, 9)};
    shares.look(at(10), steps, rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 9 -", "1 - 9 -")) << "the devices are not known yet";
    shares.add_device(device("GPU-a", 0));
    shares.add_device(device("GPU-b", 1));
    shares.look(at(11), steps, rows);
    EXPECT_THAT(take(rows), ElementsAre("0 GPU-b 9 -", "1 GPU-a 9 -"));
    shares.look(at(12), steps, rows);
    EXPECT_TRUE(rows.empty()) << "each is told once";
    shares.tell_open(at(12), rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 9 -", "0 GPU-b 9 -", "1 - 9 -", "1 GPU-a 9 -")) << "or as asked";
    shares.look(at(13), {}, rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 9 12.5", "0 GPU-b 9 12.5", "1 - 9 12.5", "1 GPU-a 9 12.5"));
}

TEST(agent, a_step_to_which_nobody_names_gpus_holds_all_if_it_is_alone) {
    stream::Batch rows(kAllocation);
    StepShares alone("n1");
    alone.add_device(device("GPU-a", 0));
    const std::vector own{step("batch", 5, 9), step("0", 6, 9)};
    alone.look(at(10), own, rows);
    EXPECT_THAT(take(rows), ElementsAre("- - 9 -", "- GPU-a 9 -", "0 - 9 -", "0 GPU-a 9 -"));
    StepShares shared("n1");
    shared.add_device(device("GPU-a", 0));
    StepOnNode other = step("0", 7, 9, {{"CUDA_VISIBLE_DEVICES", "0"}});
    other.name.job_id = 8;
    shared.look(at(10), std::vector{step("batch", 5, 9), other}, rows);
    EXPECT_THAT(take(rows), ElementsAre("- - 9 -", "0 - 9 -", "0 GPU-a 9 -"));
}

TEST(agent, steps_share_a_gpu_by_its_slices) {
    StepShares shares("n1");
    stream::Batch rows(kAllocation);
    for (const char* name : {"MIG-1", "MIG-2", "MIG-3"}) shares.add_device(device(name, 0, "1g.10gb"));
    shares.look(at(10),
                std::vector{step("0", 5, 9, {{"CUDA_VISIBLE_DEVICES", "MIG-2"}}),
                            step("1", 6, 9, {{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-3"}})},
                rows);
    EXPECT_THAT(take(rows), ElementsAre("0 - 9 -", "0 MIG-2 9 -", "1 - 9 -", "1 MIG-1 9 -", "1 MIG-3 9 -"));
}

}  // namespace
}  // namespace belay::agent

#include "gpu/held.h"

#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

using Indices = std::vector<size_t>;

std::vector<Device> four() {
    std::vector<Device> devices;
    for (int i = 0; i < 4; ++i) devices.push_back({.uuid = "GPU-" + std::to_string(i) + "abc", .index = i});
    return devices;
}

TEST(gpu, without_a_list_the_job_holds_all) {
    EXPECT_EQ(held_devices(four(), {}), (Indices{0, 1, 2, 3}));
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "gpu:some"}}), (Indices{0, 1, 2, 3}));
}

TEST(gpu, slurm_numbers_the_gpus_of_the_node) {
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "1,3"}}), (Indices{1, 3}));
    EXPECT_EQ(held_devices(four(), {{"SLURM_JOB_GPUS", "2"}}), (Indices{2}));
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "0"}, {"SLURM_JOB_GPUS", "0,1"}}), (Indices{0}));
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "0,2-3"}}), (Indices{0, 2, 3}));
    EXPECT_EQ(gpus_given_by_slurm({{"SLURM_STEP_GPUS", "0,2-3"}}), 3u);
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "3-0"}}), (Indices{0, 1, 2, 3})) << "not a range";
}

TEST(gpu, what_a_cgroup_leaves_is_counted_from_0) {
    std::vector<Device> two = four();
    two.resize(2);
    EXPECT_EQ(held_devices(two, {{"SLURM_STEP_GPUS", "2,3"}}), (Indices{0, 1}));
}

TEST(gpu, a_task_that_sees_one_gpu_does_not_hide_the_others) {
    EXPECT_EQ(held_devices(four(), {{"SLURM_STEP_GPUS", "0,1"}, {"CUDA_VISIBLE_DEVICES", "0"}}),
              (Indices{0, 1}));
}

TEST(gpu, cuda_names_gpus_by_number_and_uuid) {
    auto held = [](const char* list) { return held_devices(four(), {{"CUDA_VISIBLE_DEVICES", list}}); };
    EXPECT_EQ(held("2,0"), (Indices{0, 2}));
    EXPECT_EQ(held("GPU-3a"), (Indices{3}));
    EXPECT_EQ(held("1,GPU-9,2"), (Indices{1})) << "what fits nothing ends the list";
    EXPECT_EQ(held(""), Indices{});
    EXPECT_EQ(held("NoDevFiles"), Indices{});
    EXPECT_EQ(held("GPU-"), Indices{}) << "fits all";
}

TEST(gpu, slices_are_named_by_their_uuid_or_their_gpu) {
    std::vector<Device> slices = {{.uuid = "MIG-a", .index = 0}, {.uuid = "MIG-b", .index = 0}};
    EXPECT_EQ(held_devices(slices, {{"CUDA_VISIBLE_DEVICES", "MIG-b"}}), (Indices{1}));
    EXPECT_EQ(held_devices(slices, {{"CUDA_VISIBLE_DEVICES", "0"}}), (Indices{0, 1}));
}

TEST(gpu, slurm_numbers_slices_in_its_own_way) {
    std::vector<Device> slices;
    for (int i = 0; i < 3; ++i)
        slices.push_back({.uuid = "MIG-" + std::string(1, static_cast<char>('a' + i)),
                          .index = 0,
                          .mig_profile = "1g.10gb"});
    EXPECT_EQ(held_devices(slices, {{"SLURM_STEP_GPUS", "2"}, {"CUDA_VISIBLE_DEVICES", "MIG-c"}}),
              Indices{2});
    EXPECT_EQ(held_devices(slices, {{"SLURM_STEP_GPUS", "2"}}), (Indices{0, 1, 2}));
}

}  // namespace
}  // namespace belay::gpu

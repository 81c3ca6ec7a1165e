#include "vet/gpu_bus.h"

#include "core/file.h"
#include "vet/gpu_facts.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

// A made-up node with files of /sys, /dev and /proc.
class BusNode {
  public:
    BusNode() { mount_dev("devtmpfs"); }
    void put(const std::string& path, std::string_view text) const {
        ASSERT_TRUE(core::make_directories((root_.path() / path).parent_path()));
        ASSERT_TRUE(core::replace_file(root_.path() / path, text));
    }
    void link(const std::string& path, const std::string& target) const {
        ASSERT_TRUE(core::make_directories((root_.path() / path).parent_path()));
        fs::create_symlink(target, root_.path() / path);
    }
    void put_card(const std::string& address, std::string_view device_class, const std::string& driver,
                  std::string_view vendor = "0x10de") const {
        const std::string directory = "sys/bus/pci/devices/" + address + "/";
        put(directory + "vendor", fmt::format("{}\n", vendor));
        put(directory + "class", fmt::format("{}\n", device_class));
        if (!driver.empty()) link(directory + "driver", "../../../bus/pci/drivers/" + driver);
    }
    void mount_dev(std::string_view type) const {
        put("proc/self/mountinfo",
            fmt::format("24 1 0:5 / /dev rw - devtmpfs udev rw\n99 1 0:9 / /dev rw - {} none rw\n", type));
    }
    // With four GPUs of the driver's, as an ordinary node has them.
    void put_four() const {
        for (int i = 0; i < 4; ++i) {
            put_card(fmt::format("0000:{}1:00.0", i + 1), "0x030200", "nvidia");
            put(fmt::format("dev/nvidia{}", i), "");
        }
        put("dev/nvidiactl", "");
    }
    NodeView view() const { return {root_.path()}; }

  private:
    core::TemporaryDirectory root_ = core::TemporaryDirectory::create().value();
};

std::vector<gpu::Device> shown(std::initializer_list<int> numbers) {
    std::vector<gpu::Device> devices;
    for (int number : numbers)
        devices.push_back(
            {.index = static_cast<int>(devices.size()), .pci_address = fmt::format("0000:{}1:00.0", number)});
    return devices;
}

std::vector<std::string> missing(const std::vector<gpu::Device>& devices, const BusNode& node,
                                 const core::Environment& environment = {}) {
    return missing_gpus(devices, devices.size(), environment, node.view()).value();
}

TEST(vet, gpus_are_counted_on_the_bus) {
    BusNode node;
    EXPECT_THAT(gpus_on_bus(node.view()).value(), IsEmpty()) << "no bus";
    node.put_card("0000:41:00.0", "0x030200", "nvidia");
    node.put_card("0000:21:00.0", "0x030000", "nvidia");
    node.put_card("0000:61:00.0", "0x030200", "");  // the driver gave up on it
    node.put_card("0000:62:00.0", "0x030000", "");  // a card for a screen that is too old for the driver
    node.put_card("0000:63:00.0", "0x030200", "vfio-pci");
    node.put_card("0000:64:00.0", "0x040300", "snd_hda_intel");
    node.put_card("0000:65:00.0", "0x068000", "");  // an NVSwitch
    node.put_card("0000:66:00.0", "0x030000", "ast", "0x1a03");
    node.put_card("0000:41:00.4", "0x030200", "nvidia");
    node.link("sys/bus/pci/devices/0000:41:00.4/physfn", "../0000:41:00.0");
    EXPECT_THAT(gpus_on_bus(node.view()).value(),
                ElementsAre("0000:21:00.0", "0000:41:00.0", "0000:61:00.0"));
}

TEST(vet, a_bus_that_cannot_be_listed_is_not_one_without_gpus) {
    BusNode node;
    node.put("sys/bus/pci/devices", "no directory");
    auto listed = gpus_on_bus(node.view());
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().errno_value(), ENOTDIR);
    EXPECT_FALSE(missing_gpus(shown({1}), 1, {}, node.view()));
    BusNode another;
    ASSERT_TRUE(core::make_directories(another.view().path("/sys/bus/pci/devices/0000:41:00.0/vendor")));
    EXPECT_EQ(gpus_on_bus(another.view()).error().errno_value(), EISDIR) << "its vendor cannot be read";
}

TEST(vet, a_gpu_on_the_bus_that_the_driver_does_not_show_is_missing) {
    BusNode node;
    node.put_four();
    EXPECT_THAT(missing(shown({1, 2, 3, 4}), node), IsEmpty());
    EXPECT_THAT(missing(shown({1, 2, 4}), node), ElementsAre("0000:31:00.0"));
    EXPECT_THAT(missing({}, node).size(), 4U);
    EXPECT_THAT(missing(shown({1, 2, 4}), node, {{"SLURM_JOB_GPUS", "0,1,2,3"}}), ElementsAre("0000:31:00.0"))
        << "the job holds the whole node";
    auto slices = shown({1, 1, 2, 4});
    for (gpu::Device& slice : slices) slice.mig_profile = "3g.40gb";
    EXPECT_THAT(missing(slices, node), ElementsAre("0000:31:00.0"));
}

TEST(vet, gpus_that_are_hidden_are_not_missing) {
    BusNode node;
    node.put_four();
    EXPECT_THAT(missing(shown({1, 2}), node, {{"SLURM_JOB_GPUS", "0,1"}}), IsEmpty()) << "part of the node";
    EXPECT_THAT(missing(shown({1, 2}), node, {{"SLURM_STEP_GPUS", "0"}, {"SLURM_JOB_GPUS", "0,1,2,3"}}),
                IsEmpty());
    EXPECT_THAT(missing_gpus(shown({1, 2, 3}), 2, {}, node.view()).value(), IsEmpty())
        << "CUDA_VISIBLE_DEVICES";
    auto slices = shown({1});
    slices[0].mig_profile = "1g.10gb";
    EXPECT_THAT(missing(slices, node, {{"SLURM_JOB_GPUS", "0,1,2,3"}}), IsEmpty()) << "slices are listed";
    auto nameless = shown({1, 2});
    nameless[1].pci_address.clear();
    EXPECT_THAT(missing(nameless, node), IsEmpty()) << "the driver tells no address";

    node.mount_dev("tmpfs");
    EXPECT_THAT(missing(shown({1, 2}), node), IsEmpty()) << "a container";
    node.mount_dev("devtmpfs");
    EXPECT_THAT(missing(shown({1, 2}), node).size(), 2U);
    node.link("dev/nvidia4", "nowhere");  // cannot be opened
    EXPECT_THAT(missing(shown({1, 2}), node), IsEmpty()) << "a cgroup";
}

TEST(vet, missing_gpus_fail_with_and_without_an_expected_number) {
    std::vector<GpuState> three;
    for (int i = 0; i < 3; ++i)
        three.push_back({.device = {.uuid = "GPU-" + std::to_string(i), .index = i}, .reading = {}});
    for (std::optional<int64_t> expected : {std::optional<int64_t>(), std::optional<int64_t>(3)}) {
        Outcome out = judge_gpu_count(three, expected, {"0000:31:00.0"});
        EXPECT_EQ(out.status, Status::kFail);
        EXPECT_EQ(out.value, 3);
        EXPECT_EQ(out.limit, 4);
        EXPECT_EQ(out.device, "0000:31:00.0");
        EXPECT_THAT(out.reason.text(), HasSubstr("does not show 1 on the PCI bus: 0000:31:00.0"));
    }
    EXPECT_EQ(judge_gpu_count(three, 4, {}).status, Status::kFail);
    EXPECT_EQ(judge_gpu_count(three, {}, {}).status, Status::kUnsupported);
}

}  // namespace
}  // namespace belay::vet

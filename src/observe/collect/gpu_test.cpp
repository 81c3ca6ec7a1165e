// GPUs as a collector meets them: sources of all kinds behind the child that reads them.
#include "observe/collect/gpu.h"

#include "observe/collect/gpu_probe.h"
#include "observe/collect/testing.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using gpu::field;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A node with two GPUs; what a test does to it happens in the child, at the reading of this number.
struct FakeSource : gpu::Source {
    using Misfortune = std::function<void(size_t device, int reading, gpu::Reading& values)>;

    explicit FakeSource(Misfortune misfortune) : misfortune_(std::move(misfortune)) {
        for (int i = 0; i < 2; ++i)
            devices_.push_back({.uuid = fmt::format("GPU-{}", i), .index = i, .name = "Fake", .driver = "1"});
    }
    const std::vector<gpu::Device>& devices() const override { return devices_; }
    void forget_uuid(size_t device) { devices_.at(device).uuid.clear(); }
    gpu::Reading read(size_t device) override {
        gpu::Reading reading;
        reading[field("power_watts")] = 100.5 + static_cast<double>(device);
        reading[field("processes")] = 3;
        int number = ++readings_[device];
        if (misfortune_) misfortune_(device, number, reading);
        return reading;
    }
    std::vector<gpu::Xid> take_xids() override {
        if (readings_[0] != 2) return {};
        return {{"GPU-1", 1, 79}, {"GPU-1", 1, 79}, {"GPU-0", 0, 45}, {"GPU-of-others", 7, 79}};
    }

  private:
    std::vector<gpu::Device> devices_;
    int readings_[2] = {};
    Misfortune misfortune_;
};

bool has_rows(const core::Result<stream::Batch>& rows) {
    return rows && rows->rows() > 0;
}

class Node {
  public:
    explicit Node(FakeSource::Misfortune misfortune = nullptr) {
        options.gpu.environment = {};
        options.gpu.deadline = std::chrono::seconds(20);  // of a machine that is busy; not waited for
        options.gpu.on_device = [this](const gpu::Device& device, std::string_view source) {
            EXPECT_EQ(source, "nvml");
            devices.push_back(device.uuid);
        };
        options.on_event = [this](const stream::Event& event) {
            events.push_back(fmt::format("{} {} {}", event.kind.name(), event.severity, event.message));
            facts.push_back(fmt::format("{} {} {} {}", event.source, event.device.value_or("-"),
                                        event.code.value_or(0), event.value.value_or(0)));
        };
        options.proc = root_.proc();
        options.gpu.open = [misfortune] {
            return core::Result<std::unique_ptr<gpu::Source>>(std::make_unique<FakeSource>(misfortune));
        };
    }
    core::Result<stream::Batch> tick(int64_t second) {
        if (!collector) collector = make_gpu_collector(options);
        stream::Batch rows(collector->table());
        BELAY_CHECK(collector->collect({at_second(second), "n1"}, rows));
        return rows;
    }
    // Ticks until one is as wanted, with a pause between them in which processes end and start. Gives up,
    // with an error, after a time that no machine needs.
    core::Result<stream::Batch> tick_until(
        int64_t second, const std::function<bool(const core::Result<stream::Batch>&)>& is_wanted) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (;;) {
            core::Result<stream::Batch> rows = tick(second);
            if (is_wanted(rows)) return rows;
            if (std::chrono::steady_clock::now() > end) return core::system_error("not as wanted for 60 s");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    void load_driver() const { root_.write("proc/driver/nvidia/version", "NVRM version\n"); }

    CollectOptions options;
    std::unique_ptr<Collector> collector;
    std::vector<std::string> devices, events, facts;

  private:
    FakeRoot root_;
};

TEST(observe_collect, why_a_source_with_fewer_counters_stands_in_is_told_once) {
    Node node;
    node.options.gpu.open = [] {
        auto source = std::make_unique<FakeSource>(nullptr);
        source->stand_in(core::system_error("DCGM: no host engine answers")
                             .because(core::Cause::kUnreachable)
                             .hint("start it")
                             .error());
        return core::Result<std::unique_ptr<gpu::Source>>(std::move(source));
    };
    for (int second : {1, 2}) ASSERT_TRUE(node.tick(second));
    EXPECT_THAT(
        node.events,
        Contains("gpu_counters_unread info the counters of pipes and DRAM of GPUs are not read: DCGM: no "
                 "host engine answers; start it")
            .Times(1));
}

TEST(observe_collect, gpus_have_a_row_each) {
    Node node;
    auto rows = node.tick(1).value();
    ASSERT_EQ(rows.rows(), 2u);
    EXPECT_TRUE(node.collector->is_expected());
    EXPECT_EQ(text(rows, 1, "device"), "GPU-1");
    EXPECT_EQ(real(rows, 1, "power_watts"), 101.5);
    EXPECT_EQ(integer(rows, 1, "processes"), 3);
    EXPECT_TRUE(is_null(rows, 1, "sm_active_ratio")) << "missing is not 0";
    EXPECT_EQ(rows.values(0).integers[1], core::to_nanoseconds(at_second(1)));
    EXPECT_THAT(node.devices, ElementsAre("GPU-0", "GPU-1"));
    EXPECT_GT(node.collector->helper_cpu_seconds(), 0);
    ASSERT_EQ(node.tick(2).value().rows(), 2u);
    EXPECT_THAT(node.devices, ElementsAre("GPU-0", "GPU-1")) << "told once";
}

TEST(observe_collect, gpus_of_others_have_no_rows) {
    Node node;
    node.options.gpu.environment = {{"CUDA_VISIBLE_DEVICES", "1"}};
    auto rows = node.tick(1).value();
    ASSERT_EQ(rows.rows(), 1u);
    EXPECT_EQ(text(rows, 0, "device"), "GPU-1");
    node.tick(2).value();
    node.tick(3).value();
    EXPECT_THAT(node.events, IsEmpty()) << "XIDs of the others are none of the job's";
}

TEST(observe_collect, xids_become_events) {
    Node node;
    node.tick(1).value();
    EXPECT_THAT(node.events, IsEmpty());
    node.tick(2).value();
    EXPECT_THAT(
        node.events,
        ElementsAre("xid info XID 45 of GPU-0 (number 0 of the node): channel teardown after application "
                    "exit or earlier error; every killed job leaves one",
                    "xid critical XID 79 of GPU-1 (number 1 of the node): GPU unreachable on PCIe (fallen "
                    "off bus); the node needs a reboot, 2 times"));
    EXPECT_THAT(node.facts, ElementsAre("nvml GPU-0 45 1", "nvml GPU-1 79 2")) << "for programs";
}

TEST(observe_collect, a_lost_gpu_is_told_once_and_hides_no_other) {
    Node node([](size_t device, int number, gpu::Reading& reading) {
        if (device == 0 && number >= 4) reading.lost = true;
    });
    for (int second = 1; second <= 3; ++second) EXPECT_EQ(node.tick(second).value().rows(), 2u);
    node.events.clear();
    for (int second = 4; second <= 6; ++second) {
        auto rows = node.tick(second).value();
        ASSERT_EQ(rows.rows(), 1u);
        EXPECT_EQ(text(rows, 0, "device"), "GPU-1");
    }
    EXPECT_THAT(node.events, ElementsAre(StartsWith("gpu_lost critical GPU-0 (number 0 of the node)")));
    EXPECT_TRUE(node.collector->is_expected());
}

TEST(observe_collect, a_node_without_gpus_owes_no_samples) {
    Node node;
    node.options.gpu.open = [] { return gpu::open_nvml("libno-such-nvml.so"); };
    for (int second = 1; second <= 3; ++second) EXPECT_EQ(node.tick(second).value().rows(), 0u);
    EXPECT_FALSE(node.collector->is_expected());
    EXPECT_THAT(node.events, IsEmpty());
}

TEST(observe_collect, a_job_without_gpus_owes_no_samples) {
    Node node;
    node.options.gpu.environment = {{"CUDA_VISIBLE_DEVICES", ""}};
    for (int second = 1; second <= 2; ++second) EXPECT_EQ(node.tick(second).value().rows(), 0u);
    EXPECT_FALSE(node.collector->is_expected());
    EXPECT_THAT(node.events, IsEmpty());
}

TEST(observe_collect, gpus_that_cannot_be_read_are_told_once) {
    for (bool by_name : {true, false}) {
        Node node;
        node.options.gpu.open = [] { return gpu::open_nvml("libno-such-nvml.so"); };
        node.options.gpu.wanted = by_name;
        if (!by_name) node.load_driver();
        for (int second = 1; second <= 3; ++second) EXPECT_EQ(node.tick(second).value().rows(), 0u);
        EXPECT_THAT(node.events,
                    ElementsAre(StartsWith("gpu_unread warning GPUs are not read: NVML is not there")));
    }
}

TEST(observe_collect, a_driver_that_fails_is_told_with_its_own_error) {
    const core::Error denied = core::system_error("NVML does not start: permission denied")
                                   .because(core::Cause::kDenied)
                                   .hint("ask the site")
                                   .error();
    Node node;
    node.options.gpu.open = [denied]() -> core::Result<std::unique_ptr<gpu::Source>> {
        return std::unexpected(denied);
    };
    EXPECT_EQ(node.tick(1).value().rows(), 0u);
    EXPECT_THAT(
        node.events,
        ElementsAre(
            "gpu_unread warning GPUs are not read: NVML does not start: permission denied; ask the site"))
        << "also where no driver is loaded: it is there, since it fails";

    GpuProbe probe({.open = node.options.gpu.open, .environment = {}, .deadline = std::chrono::seconds(20)});
    EXPECT_TRUE(probe.sample(at_second(1)));
    EXPECT_EQ(probe.state(), GpuProbe::State::kAbsent);
    EXPECT_EQ(probe.why(), denied) << "whole";
}

TEST(observe_collect, a_driver_that_ends_its_process_at_the_start_is_told_with_how) {
    for (bool killed : {true, false}) {
        Node node;
        node.options.gpu.open = [killed]() -> core::Result<std::unique_ptr<gpu::Source>> {
            if (killed) kill(getpid(), SIGKILL);
            _exit(7);
        };
        EXPECT_EQ(node.tick(1).value().rows(), 0u);
        EXPECT_THAT(node.events,
                    ElementsAre(HasSubstr(killed ? "with signal 9 (SIGKILL)" : "with exit status 7")));
    }
}

TEST(observe_collect, a_driver_that_hangs_is_not_waited_for_twice) {
    Node node([](size_t, int number, gpu::Reading&) {
        if (number == 2) pause();
    });
    node.options.gpu.deadline = std::chrono::milliseconds(50);
    ASSERT_TRUE(node.tick_until(1, has_rows));  // it opens, and answers once
    auto silent = node.tick(2);
    ASSERT_FALSE(silent);
    EXPECT_THAT(silent.error().message(), HasSubstr("did not answer within 0.05 s"));
    EXPECT_EQ(silent.error().cause(), core::Cause::kTimedOut);
    EXPECT_FALSE(node.tick(3));
    EXPECT_TRUE(node.collector->is_expected()) << "what is not read is missing";
}

TEST(observe_collect, a_driver_that_hangs_while_it_starts_holds_up_nothing) {
    Node node;
    node.options.gpu.deadline = std::chrono::milliseconds(50);
    node.options.gpu.open = []() -> core::Result<std::unique_ptr<gpu::Source>> {
        pause();
        return core::system_error("woken");
    };
    for (int second = 1; second <= 5; ++second) EXPECT_EQ(node.tick(second).value().rows(), 0u);
    EXPECT_FALSE(node.collector->is_expected());
}

TEST(observe_collect, an_answer_that_is_none_is_a_reason_and_not_waited_for) {
    Node node;
    node.options.gpu.wanted = true;
    node.options.gpu.open = []() -> core::Result<std::unique_ptr<gpu::Source>> {
        for (int fd = 3; fd < 64; ++fd)
            (void)send(fd, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT);  // its socket is one
        pause();
        return core::system_error("woken");
    };
    EXPECT_EQ(node.tick_until(1, [&](const auto&) { return !node.events.empty(); }).value().rows(), 0u);
    EXPECT_THAT(node.events, ElementsAre(HasSubstr("sent something that is not an answer")));
    EXPECT_FALSE(node.collector->is_expected());
}

TEST(observe_collect, a_driver_that_crashes_is_started_again) {
    Node node([](size_t, int number, gpu::Reading&) {
        if (number == 3) kill(getpid(), SIGKILL);
    });
    node.options.gpu.retry = {};
    EXPECT_EQ(node.tick(1).value().rows(), 2u);
    EXPECT_EQ(node.tick(2).value().rows(), 2u);
    auto crashed = node.tick(3);
    ASSERT_FALSE(crashed);
    EXPECT_EQ(crashed.error().message(),
              "the process that reads the GPUs ended without an answer, with signal 9 (SIGKILL)");
    EXPECT_EQ(crashed.error().cause(), core::Cause::kEnded);
    core::Result<stream::Batch> rows = node.tick_until(4, has_rows);  // when the dead one is reaped
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->rows(), 2u);
    EXPECT_THAT(node.devices, ElementsAre("GPU-0", "GPU-1")) << "they are no others";
}

TEST(observe_collect, a_gpu_without_uuid_is_the_one_that_was_there_before) {
    core::TemporaryDirectory place = core::TemporaryDirectory::create("gpu_test").value();
    const auto mark = place.path() / "fell_off_the_bus";
    Node node([mark](size_t, int number, gpu::Reading&) {
        if (number != 2 || exists(mark)) return;
        std::ofstream(mark) << "GPU-1";
        kill(getpid(), SIGKILL);
    });
    node.options.gpu.retry = {};
    const auto open = node.options.gpu.open;
    node.options.gpu.open = [=] {
        auto source = open();
        if (exists(mark)) static_cast<FakeSource&>(**source).forget_uuid(1);
        return source;
    };
    EXPECT_EQ(node.tick(1).value().rows(), 2u);
    ASSERT_FALSE(node.tick(2));
    core::Result<stream::Batch> rows = node.tick_until(3, has_rows);  // when the dead one is reaped
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->rows(), 1u);
    EXPECT_EQ(text(*rows, 0, "device"), "GPU-0");
    node.tick(4).value();
    EXPECT_THAT(node.devices, ElementsAre("GPU-0", "GPU-1")) << "they are no others";
    EXPECT_THAT(node.events, Contains(StartsWith("gpu_lost critical GPU-1 (number 1 of the node)")).Times(1));
    EXPECT_THAT(node.events, Not(Contains(HasSubstr("index:1"))));
}

TEST(observe_collect, a_gpu_without_uuid_has_the_name_of_its_index) {
    Node node;
    const auto open = node.options.gpu.open;
    node.options.gpu.open = [=] {
        auto source = open();
        static_cast<FakeSource&>(**source).forget_uuid(1);
        return source;
    };
    auto rows = node.tick(1).value();
    ASSERT_EQ(rows.rows(), 2u);
    EXPECT_EQ(text(rows, 1, "device"), "index:1");
    EXPECT_THAT(node.devices, ElementsAre("GPU-0", "index:1"));
}

TEST(observe_collect, a_driver_that_hangs_when_it_is_started_again_is_given_up_like_another) {
    core::TemporaryDirectory place = core::TemporaryDirectory::create("gpu_test").value();
    Node node([](size_t, int number, gpu::Reading&) {
        if (number == 2) kill(getpid(), SIGKILL);
    });
    node.options.gpu.retry = {};
    const auto open = node.options.gpu.open;
    node.options.gpu.open = [&]() -> core::Result<std::unique_ptr<gpu::Source>> {
        const auto nth = std::distance(std::filesystem::directory_iterator(place.path()), {});
        std::ofstream(place.path() / std::to_string(nth)) << nth;
        if (nth == 1) pause();
        return open();
    };
    node.options.gpu.deadline = std::chrono::milliseconds(50);
    const auto children = [&] {
        return std::distance(std::filesystem::directory_iterator(place.path()), {});
    };
    auto rows = node.tick_until(1, [&](const auto& tick) { return has_rows(tick) && children() > 2; });
    ASSERT_TRUE(rows) << "the third process was never asked";
    EXPECT_EQ(rows->rows(), 2U);
}

}  // namespace
}  // namespace belay::observe::collect

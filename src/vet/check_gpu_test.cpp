// GPUs as they are judged, and as checks meet them: through a library with NVML's names that plays a trace.
#include "core/file.h"
#include "gpu/synthetic.h"
#include "vet/gpu_facts.h"
#include "vet/runner.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using gpu::fact;
using gpu::field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Healthy and idle.
GpuState one(int index = 0) {
    GpuState state{.device = {.uuid = "GPU-" + std::to_string(index), .index = index}, .reading = {}};
    gpu::Reading& reading = state.reading;
    reading[field("temperature_celsius")] = 30 + index;
    reading[field("memory_used_bytes")] = 1 << 20;
    reading[field("memory_total_bytes")] = 10 << 20;
    for (size_t none : {field("processes"), field("clock_event_reasons"), field("ecc_corrected_total"),
                        field("ecc_uncorrected_total"), field("remap_pending"), field("remap_failed"),
                        field("utilization_ratio")})
        reading[none] = 0;
    reading[field("pcie_generation")] = 1;
    reading[field("pcie_width")] = 16;
    state.facts[fact("slowdown_celsius")] = 87;
    state.facts[fact("clock_sm_application_hertz")] = 1980e6;
    state.facts[fact("clock_memory_application_hertz")] = 2619e6;
    state.facts[fact("pcie_generation_max")] = 5;
    state.facts[fact("pcie_width_max")] = 16;
    state.facts[fact("nvlinks")] = 18;
    for (size_t none : {fact("nvlinks_down"), fact("recovery_action"), fact("retired_pages")})
        state.facts[none] = 0;
    return state;
}

std::vector<GpuState> four() {
    return {one(0), one(1), one(2), one(3)};
}

// Each with limits that a healthy node keeps.
struct Judge {
    const char* name;
    Outcome (*judge)(GpuStates);
};
const Judge kJudges[] = {
    {"count", [](GpuStates gpus) { return judge_gpu_count(gpus, 4); }},
    {"temperature", [](GpuStates gpus) { return judge_gpu_temperature(gpus, 33); }},
    {"below", [](GpuStates gpus) { return judge_gpu_below(gpus, 34); }},
    {"margin", [](GpuStates gpus) { return judge_gpu_margin(gpus, 53); }},
    {"memory", [](GpuStates gpus) { return judge_gpu_memory(gpus, 0.1, 1); }},
    {"processes", judge_gpu_processes},
    {"clocks", [](GpuStates gpus) { return judge_gpu_clocks(gpus, 1980, 2619); }},
    {"ecc", [](GpuStates gpus) { return judge_gpu_ecc(gpus, 0, 10); }},
    {"remap", [](GpuStates gpus) { return judge_gpu_remap(gpus, 0, 0, 10); }},
    {"recovery", judge_gpu_recovery},
    {"links", [](GpuStates gpus) { return judge_gpu_links(gpus, 0); }},
    {"pcie", judge_gpu_pcie},
};

Outcome judged(std::string_view name, GpuStates gpus) {
    for (const Judge& judge : kJudges)
        if (judge.name == name) return judge.judge(gpus);
    ADD_FAILURE() << name;
    return {};
}

TEST(vet, healthy_gpus_pass) {
    for (const Judge& judge : kJudges) {
        Outcome out = judge.judge(four());
        EXPECT_EQ(out.status, Status::kPass) << judge.name << ": " << out.reason.text();
        EXPECT_THAT(out.device, IsEmpty());
        EXPECT_TRUE(out.value) << judge.name;
    }
}

TEST(vet, a_lost_gpu_fails_every_check) {
    for (const Judge& judge : kJudges) {
        auto gpus = four();
        gpus[2].reading = {};
        gpus[2].reading.lost = true;
        gpus[2].facts = {};
        Outcome out = judge.judge(gpus);
        EXPECT_EQ(out.status, Status::kFail) << judge.name;
        EXPECT_EQ(out.device, "GPU-2");
        EXPECT_THAT(out.reason.text(), HasSubstr("does not answer"));
    }
}

TEST(vet, what_no_gpu_tells_is_unsupported) {
    for (const Judge& judge : kJudges) {
        if (std::string_view(judge.name) == "count") continue;
        auto gpus = four();
        gpus[1].reading = {};
        gpus[1].facts = {};
        Outcome out = judge.judge(gpus);
        EXPECT_EQ(out.status, Status::kUnsupported) << judge.name;
        EXPECT_EQ(out.device, "GPU-1");
        EXPECT_EQ(judge.judge({}).status, Status::kUnsupported) << judge.name << " of no GPU";
    }
    EXPECT_EQ(judge_gpu_count({}, 4).status, Status::kFail);
    EXPECT_EQ(judge_gpu_count({}, 0).status, Status::kPass);
}

TEST(vet, the_sick_gpu_is_named_with_its_value) {
    struct Case {
        const char* judge;
        void (*harm)(GpuState&);
        double value;
        double limit;
        const char* reason;
    };
    const Case cases[] = {
        {"temperature", [](GpuState& gpu) { gpu.reading[field("temperature_celsius")] = 60; }, 60, 33,
         "GPU-3: 60 °C"},
        {"below", [](GpuState& gpu) { gpu.reading[field("temperature_celsius")] = 34; }, 34, 34, "34 °C"},
        {"margin", [](GpuState& gpu) { gpu.reading[field("temperature_celsius")] = 34; }, 53, 53,
         "53 °C below the 87 °C"},
        {"margin", [](GpuState& gpu) { gpu.reading[field("temperature_celsius")] = 88; }, -1, 53, "-1 °C"},
        {"memory", [](GpuState& gpu) { gpu.reading[field("memory_used_bytes")] = 2 << 20; }, 0.2, 0.1,
         "2 MiB in use, 20.0 %"},
        {"memory",
         [](GpuState& gpu) {
             gpu.reading[field("memory_used_bytes")] = 3 << 20;
             gpu.reading[field("memory_total_bytes")] = 60 << 20;
         },
         3, 1, "3 MiB in use, 5.0 %, 1 MiB allowed"},
        {"processes", [](GpuState& gpu) { gpu.reading[field("processes")] = 2; }, 2, 0, "2 processes"},
        {"clocks", [](GpuState& gpu) { gpu.facts[fact("clock_sm_application_hertz")] = 1200e6; }, 1200, 1980,
         "cores 1200 MHz"},
        {"clocks", [](GpuState& gpu) { gpu.facts[fact("clock_memory_application_hertz")] = 1600e6; }, 1600,
         2619, "memory 1600 MHz"},
        {"ecc", [](GpuState& gpu) { gpu.reading[field("ecc_uncorrected_total")] = 1; }, 1, 0,
         "1 memory errors that could not be corrected"},
        {"ecc", [](GpuState& gpu) { gpu.reading[field("ecc_corrected_total")] = 11; }, 11, 10,
         "11 corrected"},
        {"remap", [](GpuState& gpu) { gpu.reading[field("remap_pending")] = 1; }, 1, 0, "by a reset"},
        {"remap", [](GpuState& gpu) { gpu.reading[field("remap_failed")] = 1; }, 1, 0, "not be remapped"},
        {"remap", [](GpuState& gpu) { gpu.facts[fact("retired_pages")] = 11; }, 11, 10, "retired pages"},
        {"recovery", [](GpuState& gpu) { gpu.facts[fact("recovery_action")] = 2; }, 2, 0, "a reboot"},
        {"recovery", [](GpuState& gpu) { gpu.facts[fact("recovery_action")] = 5; }, 5, 0, "IMEX"},
        {"recovery", [](GpuState& gpu) { gpu.facts[fact("recovery_action")] = 9; }, 9, 0,
         "something unknown"},
        {"links",
         [](GpuState& gpu) {
             gpu.facts[fact("nvlinks_down")] = 1;
             gpu.reading[field("nvlink_errors_total")] = 7;
         },
         1, 0, "1 of 18 NVLinks are down, 7 errors"},
        {"pcie", [](GpuState& gpu) { gpu.reading[field("pcie_width")] = 8; }, 8, 16, "8 of 16 lanes"},
        {"pcie", [](GpuState& gpu) { gpu.reading[field("utilization_ratio")] = 1; }, 16, 16,
         "generation 1 of 5"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.reason);
        auto gpus = four();
        c.harm(gpus[3]);
        Outcome out = judged(c.judge, gpus);
        EXPECT_EQ(out.status, Status::kFail);
        EXPECT_EQ(out.device, "GPU-3");
        EXPECT_EQ(out.value, c.value);
        EXPECT_EQ(out.limit, c.limit);
        EXPECT_THAT(out.reason.text(), HasSubstr(c.reason));
        EXPECT_THAT(out.reason.text(), Not(HasSubstr("more)")));
    }
}

TEST(vet, the_worst_of_several_sick_gpus_is_named) {
    auto gpus = four();
    gpus[1].reading[field("temperature_celsius")] = 50;
    gpus[2].reading[field("temperature_celsius")] = 70;
    Outcome out = judged("temperature", gpus);
    EXPECT_EQ(out.device, "GPU-2");
    EXPECT_THAT(out.reason.text(), HasSubstr("(and 1 more)"));
}

TEST(vet, memory_is_judged_in_the_unit_of_the_limit_that_it_exceeds) {
    auto gpus = four();  // 1 of 10 MiB
    EXPECT_EQ(judge_gpu_memory(gpus, {}, 1).unit, "MiB");
    EXPECT_EQ(judge_gpu_memory(gpus, {}, 1).value, 1);
    EXPECT_EQ(judge_gpu_memory(gpus, 0.1, 1).unit, "ratio");
    gpus[1].reading[field("memory_used_bytes")] = 3 << 20;
    EXPECT_EQ(judge_gpu_memory(gpus, 0.2, 9).unit, "ratio");
    Outcome out = judge_gpu_memory(gpus, 0.9, 2);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.unit, "MiB");
    EXPECT_EQ(out.value, 3);
    EXPECT_EQ(out.limit, 2);
    gpus[2].reading[field("memory_used_bytes")] = 4 << 20;
    gpus[2].reading[field("memory_total_bytes")] = 100 << 20;
    out = judge_gpu_memory(gpus, 0.2, 2);
    EXPECT_EQ(out.device, "GPU-1") << "the fuller one, though 0.3 is less than 4 MiB";
    EXPECT_EQ(out.value, 0.3);
}

TEST(vet, errors_of_links_convict_nobody) {
    auto gpus = four();
    gpus[0].reading[field("nvlink_errors_total")] = 1000;
    EXPECT_EQ(judged("links", gpus).status, Status::kPass);
}

TEST(vet, gpus_without_a_limit_are_unsupported) {
    for (const Outcome& out : {judge_gpu_count(four(), {}), judge_gpu_temperature(four(), {}),
                               judge_gpu_memory(four(), {}, {}), judge_gpu_clocks(four(), {}, {}),
                               judge_gpu_ecc(four(), {}, {}), judge_gpu_remap(four(), {}, {}, {})}) {
        EXPECT_EQ(out.status, Status::kUnsupported) << out.reason.text();
        EXPECT_THAT(out.reason.text(), HasSubstr("is set: give"));
        EXPECT_TRUE(out.value) << "it is measured all the same";
        EXPECT_FALSE(out.limit);
    }
}

TEST(vet, the_missing_gpu_is_counted) {
    Outcome out = judge_gpu_count(four(), 8);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.value, 4);
    EXPECT_EQ(out.limit, 8);
    std::vector<GpuState> slices = {one(0), one(0), one(1)};
    EXPECT_EQ(judge_gpu_count(slices, 2).status, Status::kPass) << "slices are no GPUs";
}

TEST(vet, what_lowers_clocks) {
    EXPECT_EQ(slowdown_reasons(0x1 | 0x4), "") << "idle, and the power cap";
    EXPECT_EQ(slowdown_reasons(0x8 | 0x40), "hardware slowdown, heat (hardware)");
    EXPECT_EQ(slowdown_reasons(gpu::kMissing), "");
    EXPECT_EQ(count_slowdowns(std::vector<double>{0x40, 0x40, 0, 0x8, 0}), 2);
    auto gpus = four();
    gpus[1].reading[field("clock_event_reasons")] = 0x80;
    Outcome out = judged("clocks", gpus);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_THAT(out.reason.text(), HasSubstr("lowered: power brake"));
}

TEST(vet, slowdowns_are_counted_per_minute) {
    auto slow = four();
    slow[2].reading[field("clock_event_reasons")] = 0x20;
    std::vector<std::vector<GpuState>> looks = {four(), slow, four(), slow, four()};
    EXPECT_EQ(judge_gpu_slowdowns(looks, 60, 2).status, Status::kPass);
    Outcome out = judge_gpu_slowdowns(looks, 60, 1.9);
    EXPECT_EQ(out.status, Status::kFail);
    EXPECT_EQ(out.value, 2);
    EXPECT_EQ(out.device, "GPU-2");
    EXPECT_EQ(out.unit, "1/min");
    out = judge_gpu_slowdowns(looks, 1, {});
    EXPECT_EQ(out.status, Status::kFail) << "without a rate none is allowed";
    EXPECT_EQ(out.value, 2);
    EXPECT_EQ(out.limit, 0);
    EXPECT_EQ(out.unit, "slowdowns");
    EXPECT_EQ(judge_gpu_slowdowns(looks, 100, 0.6).status, Status::kFail);
    out = judge_gpu_slowdowns(looks, 99, 0.6);
    EXPECT_EQ(out.status, Status::kError) << "one slowdown would be above the rate";
    EXPECT_THAT(out.reason.text(), HasSubstr("give a window of 100 s"));
    looks.push_back(slow);
    EXPECT_THAT(judge_gpu_slowdowns(looks, 60, 5).reason.text(), HasSubstr("is slow now: heat (driver)"));
    EXPECT_EQ(judge_gpu_slowdowns(looks, 60, 5).status, Status::kFail);
}

// The results of a protocol on a node that plays a synthetic trace.
class TracedNode {
  public:
    explicit TracedNode(std::string_view kind, int gpus = 2) {
        auto trace = gpu::synthetic_trace(kind, {.seconds = 100, .gpus = gpus}).value();
        // All of it has happened when the first check looks.
        for (gpu::TraceRow& row : trace.rows) row.seconds = 0;
        EXPECT_TRUE(core::replace_file(directory_.path() / "trace", gpu::format_trace(trace)));
        setenv("BELAY_GPU_TRACE", (directory_.path() / "trace").c_str(), 1);
    }
    ~TracedNode() { unsetenv("BELAY_GPU_TRACE"); }
    TracedNode(const TracedNode&) = delete;
    TracedNode& operator=(const TracedNode&) = delete;

    static CheckResult run(const std::string& check) {
        auto protocol = parse_protocol("name: p\nchecks:\n- {" + check + "}\n", "p").value();
        NodeRunOptions options{.deadline = core::Deadline::after(std::chrono::seconds(60))};
        options.view.nvml_library = BELAY_NVML_REPLAY;
        return *run_node_checks(protocol, options).at(0);
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

const char* const kChecks[] = {
    "type: gpu.count, expected: 2",
    "type: gpu.temp, max: 40",
    "type: gpu.temp_margin",
    "type: gpu.mem_used",
    "type: gpu.procs",
    "type: gpu.clocks, sm: 1980",
    "type: gpu.slowdown, window: 200ms",
    "type: gpu.ecc",
    "type: gpu.remap",
    "type: gpu.recovery",
    "type: gpu.nvlink",
    "type: pci.link",
};

TEST(vet, checks_pass_a_healthy_node) {
    TracedNode node("idle");
    for (const char* check : kChecks) {
        CheckResult result = TracedNode::run(check);
        EXPECT_EQ(result.status, Status::kPass) << check << ": " << result.reason.text();
    }
    const std::string eval = "name: p\nevals:\n- {name: g, type: vetnode.evaluations.gpu_eval.GPUEval, ";
    for (auto [limits, status] : {std::pair("max_temp: 35, max_used_memory: 0.2}", Status::kPass),
                                  std::pair("max_temp: 34, max_used_memory: 0.2}", Status::kFail),
                                  std::pair("max_temp: 35, max_used_memory: 0.001}", Status::kFail)}) {
        auto protocol = parse_protocol(eval + limits + "\n", "p").value();
        NodeRunOptions options{.deadline = core::Deadline::after(std::chrono::seconds(60))};
        options.view.nvml_library = BELAY_NVML_REPLAY;
        EXPECT_EQ(run_node_checks(protocol, options).at(0)->status, status) << limits;
    }
}

TEST(vet, a_driver_that_does_not_start_is_an_error_and_none_is_unsupported) {
    auto directory = core::TemporaryDirectory::create().value();
    const auto trace = directory.path() / "trace";
    setenv("BELAY_GPU_TRACE", trace.c_str(), 1);
    CheckResult none = TracedNode::run("type: gpu.count");
    EXPECT_EQ(none.status, Status::kUnsupported);
    EXPECT_THAT(none.reason.text(), HasSubstr("the driver is not loaded"));
    ASSERT_TRUE(core::replace_file(trace, "no trace"));
    CheckResult fails = TracedNode::run("type: gpu.count");
    EXPECT_EQ(fails.status, Status::kError);
    EXPECT_THAT(fails.reason.text(), HasSubstr("NVML does not start"));
    unsetenv("BELAY_GPU_TRACE");
}

TEST(vet, checks_fail_a_node_whose_gpu_is_lost) {
    TracedNode node("lost");
    for (const char* check : kChecks) {
        CheckResult result = TracedNode::run(check);
        EXPECT_EQ(result.status, Status::kFail) << check << ": " << result.reason.text();
        EXPECT_EQ(result.device, "GPU-00000000-0000-0000-0000-000000000000") << check;
    }
}

TEST(vet, checks_find_what_is_wrong_with_a_node) {
    for (auto [kind, check] :
         {std::pair("ecc", "type: gpu.ecc"), std::pair("ecc", "type: gpu.remap"),
          std::pair("throttling", "type: gpu.slowdown, window: 200ms"),
          std::pair("throttling", "type: gpu.temp_margin"), std::pair("training", "type: gpu.mem_used"),
          std::pair("training", "type: gpu.procs, retries: 2, interval: 10ms")}) {
        TracedNode node(kind);
        CheckResult result = TracedNode::run(check);
        EXPECT_EQ(result.status, Status::kFail) << kind << check << ": " << result.reason.text();
        EXPECT_THAT(result.device, HasSubstr("GPU-0000")) << check;
    }
}

// In `training` 61 of 80 GiB are in use.
TEST(vet, a_limit_in_mib_stands_alone) {
    TracedNode node("training");
    EXPECT_EQ(TracedNode::run("type: gpu.mem_used, max_mib: 70000").status, Status::kPass);
    EXPECT_EQ(TracedNode::run("type: gpu.mem_used, max_mib: 60000").status, Status::kFail);
    EXPECT_EQ(TracedNode::run("type: gpu.mem_used, max_mib: 60000").unit, "MiB");
    EXPECT_EQ(TracedNode::run("type: gpu.mem_used, max_mib: 70000, max_fraction: 0.2").status, Status::kFail)
        << "both hold where both are given";
    EXPECT_EQ(TracedNode::run("type: gpu.mem_used, max_mib: null").limit, 0.2);
}

TEST(vet, slowdowns_are_told_in_the_time_there_is) {
    TracedNode node("throttling");
    CheckResult result = TracedNode::run("type: gpu.slowdown, window: 200ms");
    EXPECT_EQ(result.unit, "slowdowns");
    EXPECT_EQ(result.value, 1);
    EXPECT_EQ(TracedNode::run("type: gpu.slowdown, window: 200ms, rate: 0.6").status, Status::kError);
}

TEST(vet, no_process_is_ended) {
    TracedNode node("idle");
    EXPECT_EQ(TracedNode::run("type: gpu.procs, kill: true").status, Status::kUnsupported);
}

}  // namespace
}  // namespace belay::vet

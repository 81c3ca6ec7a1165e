#include "record/cut/cut_testing.h"

#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::SizeIs;

Cut plan(const std::vector<StreamMaker>& streams, const CutRequest& request) {
    std::vector<StreamFacts> facts;
    for (const StreamMaker& stream : streams) facts.push_back(stream.facts());
    auto cut = Cut::plan(std::move(facts), request);
    EXPECT_TRUE(cut) << cut.error().message();
    return std::move(cut.value());
}

// Jobs with steps at once, after a pause, and on one node with others, each with slices of a GPU.
std::vector<GivenStep> random_steps(std::mt19937_64& random, const std::vector<std::string>& devices) {
    auto moment = [&] {
        return 0.25 + static_cast<double>(random() % 98) + 0.5 * static_cast<double>(random() % 2);
    };
    std::vector<GivenStep> steps;
    for (int64_t job = 1; job <= 4; ++job) {
        const size_t count = 1 + random() % 3;
        for (size_t i = 0; i < count; ++i) {
            double from = moment(), to = moment();
            if (from > to) std::swap(from, to);
            GivenStep step{.job = job,
                           .step = i == 0 && random() % 2 == 0 ? "batch" : std::to_string(i),
                           .from = from,
                           .to = to + 1,
                           .cpus = static_cast<double>(1 + random() % 4)};
            for (const std::string& device : devices)
                if (random() % 3 == 0) step.devices.insert(device);
            steps.push_back(step);
        }
    }
    return steps;
}

bool holds(const GivenStep& step, int tick) {
    return tick >= step.from && tick < step.to;
}

TEST(record_cut, each_job_gets_what_it_was_given) {
    const std::vector<std::string> devices{"MIG-1", "MIG-2", "MIG-3"};
    for (uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const auto steps = random_steps(random, devices);
        GivenStream given;
        for (int tick = 1; tick <= 100; ++tick)
            if (random() % 10 == 0) given.missed.insert(tick);
        const std::vector<StreamMaker> streams{StreamMaker(given, steps, devices)};
        for (int64_t job = 1; job <= 4; ++job) {
            const Cut cut = plan(streams, {.job_id = job});
            CutRows rows(cut, streams);
            int due = 0, taken = 0, gpu_due = 0, gpu_taken = 0;
            double use = 0;
            std::map<int64_t, double> cpu;  // by process, as last seen
            for (int tick = 1; tick <= 100; ++tick) {
                const bool is_taken = !given.missed.contains(tick);
                bool any = false;
                std::set<std::string> held;
                for (size_t i = 0; i < steps.size(); ++i) {
                    if (steps[i].job != job || !holds(steps[i], tick)) continue;
                    any = true;
                    held.insert(steps[i].devices.begin(), steps[i].devices.end());
                    if (is_taken) cpu[static_cast<int64_t>(i)] = (tick - steps[i].from) * steps[i].cpus;
                }
                due += any ? 1 : 0;
                taken += any && is_taken ? 1 : 0;
                gpu_due += held.empty() ? 0 : 1;
                gpu_taken += !held.empty() && is_taken ? 1 : 0;
                for (const std::string& device : held) use += is_taken ? gpu_use(device, tick) : 0;
            }
            EXPECT_EQ(rows.of(schema::kHost).rows(), static_cast<size_t>(taken));
            EXPECT_EQ(rows.coverage(schema::kHost), std::pair(int64_t{due}, int64_t{taken}));
            EXPECT_EQ(rows.coverage(schema::kProcess), std::pair(int64_t{due}, int64_t{taken}));
            EXPECT_EQ(rows.coverage(schema::kGpu), std::pair(int64_t{gpu_due}, int64_t{gpu_taken}));
            double sampled_use = 0;
            for (double one : rows.of(schema::kGpu).values(column(schema::kGpu, "sm_active_ratio")).reals)
                sampled_use += one;
            EXPECT_NEAR(sampled_use, use, 1e-9);
            std::map<int64_t, double> sampled_cpu;
            const stream::Batch& processes = rows.of(schema::kProcess);
            for (size_t i = 0; i < processes.rows(); ++i)
                sampled_cpu[processes.values(column(schema::kProcess, "pid")).integers[i]] =
                    processes.values(column(schema::kProcess, "cpu_user_seconds_total")).reals[i];
            EXPECT_EQ(sampled_cpu, cpu);
        }
    }
}

TEST(record_cut, a_step_alone_is_cut_out) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "batch", .from = 10.5, .to = 60.5, .cpus = 1},
                                       {.job = 7, .step = "0", .from = 20.5, .to = 30.5, .cpus = 1}};
    const std::vector<StreamMaker> streams{StreamMaker({}, steps, {})};
    const Cut step = plan(streams, {.job_id = 7, .step = "0"});
    CutRows rows(step, streams);
    EXPECT_EQ(rows.of(schema::kHost).rows(), 10U);
    EXPECT_EQ(rows.of(schema::kProcess).rows(), 10U);
    EXPECT_EQ(rows.of(schema::kAllocation).rows(), 1U) << "one for both that the agent wrote";
    EXPECT_EQ(step.manifest().job.start, at(20.5));
    EXPECT_EQ(step.manifest().job.end, at(30.5));
    const Cut batch = plan(streams, {.job_id = 7, .step = "batch"});
    EXPECT_EQ(CutRows(batch, streams).of(schema::kProcess).rows(), 50U);
    EXPECT_FALSE(Cut::plan({streams[0].facts()}, {.job_id = 8}));
    EXPECT_FALSE(Cut::plan({streams[0].facts()}, {.job_id = 7, .step = "1"}));
    EXPECT_FALSE(Cut::plan({streams[0].facts()}, {.job_id = 7, .restart = 1}));
}

TEST(record_cut, an_agent_that_was_started_again_leaves_a_gap) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "0", .from = 10.5, .to = 80.5, .cpus = 1}};
    const std::vector<StreamMaker> streams{StreamMaker({.first = 1, .last = 40}, steps, {}),
                                           StreamMaker({.first = 51, .last = 100, .began = 50}, steps, {})};
    const Cut cut = plan(streams, {.job_id = 7});
    CutRows rows(cut, streams);
    EXPECT_EQ(rows.of(schema::kHost).rows(), 60U);
    EXPECT_EQ(rows.coverage(schema::kHost), std::pair(int64_t{70}, int64_t{60}));
    EXPECT_EQ(rows.of(schema::kAllocation).rows(), 1U);
    EXPECT_EQ(cut.manifest().job.end, at(80.5));
}

TEST(record_cut, a_step_that_ended_while_no_agent_ran_ends_with_what_was_seen) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "0", .from = 10.5, .to = 45.5, .cpus = 1}};
    const std::vector<StreamMaker> streams{StreamMaker({.first = 1, .last = 40}, steps, {}),
                                           StreamMaker({.first = 51, .last = 100, .began = 50}, steps, {})};
    const Cut cut = plan(streams, {.job_id = 7});
    EXPECT_EQ(cut.manifest().job.end, at(40));
    EXPECT_EQ(CutRows(cut, streams).of(schema::kHost).rows(), 29U);
}

TEST(record_cut, a_step_that_still_runs_has_no_end) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "0", .from = 90.5, .to = 200, .cpus = 1}};
    const std::vector<StreamMaker> streams{StreamMaker({}, steps, {})};
    const Cut cut = plan(streams, {.job_id = 7});
    CutRows rows(cut, streams);
    EXPECT_FALSE(cut.manifest().job.end);
    EXPECT_EQ(rows.coverage(schema::kHost), std::pair(int64_t{10}, int64_t{10}));
}

TEST(record_cut, what_a_damaged_stream_counted_is_counted_again) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "0", .from = 10.5, .to = 30.5, .cpus = 1}};
    const std::vector<StreamMaker> streams{StreamMaker({.missed = {12, 13}}, steps, {})};
    StreamFacts facts = streams[0].facts();
    facts.is_damaged = true;
    const Cut cut = Cut::plan({std::move(facts)}, {.job_id = 7}).value();
    CutRows rows(cut, streams);
    EXPECT_EQ(rows.coverage(schema::kHost), std::pair(int64_t{20}, int64_t{18}));
    ASSERT_THAT(rows.of(schema::kEvent).values(column(schema::kEvent, "kind")).texts,
                ElementsAre("stream_lost"));
}

TEST(record_cut, events_of_a_device_are_those_of_who_holds_it) {
    const std::vector<GivenStep> steps{
        {.job = 7, .step = "0", .from = 10.5, .to = 30.5, .devices = {"GPU-1"}},
        {.job = 8, .step = "0", .from = 20.5, .to = 40.5, .devices = {"GPU-2"}}};
    std::vector<StreamMaker> streams{StreamMaker({}, steps, {"GPU-1", "GPU-2"})};
    for (const char* device : {"GPU-1", "GPU-2", "mlx5_0"}) {
        stream::Batch& rows = streams[0].add(schema::kEvent, 25);
        rows.set(column(schema::kEvent, "kind"), "xid");
        rows.set(column(schema::kEvent, "device"), device);
    }
    streams[0].add(schema::kEvent, 35).set(column(schema::kEvent, "kind"), "oom");
    const Cut cut = plan(streams, {.job_id = 7});
    CutRows rows(cut, streams);
    EXPECT_THAT(rows.of(schema::kEvent).values(column(schema::kEvent, "device")).texts,
                ElementsAre("GPU-1", "mlx5_0"));
    const stream::Batch& devices = rows.of(schema::kGpuDevice);
    ASSERT_EQ(devices.rows(), 1U);
    EXPECT_EQ(devices.values(0).integers[0], core::to_nanoseconds(at(10.5))) << "when the job got it";
}

TEST(record_cut, what_an_agent_told_once_holds_for_jobs_that_come_later) {
    const std::vector<GivenStep> steps{{.job = 7, .step = "0", .from = 10.5, .to = 30.5},
                                       {.job = 8, .step = "0", .from = 50.5, .to = 60.5}};
    std::vector<StreamMaker> streams{StreamMaker({}, steps, {})};
    for (double when : {2.0, 70.0})
        streams[0].add(schema::kEvent, when).set(column(schema::kEvent, "kind"), "kernel_log_unread");
    streams[0].add(schema::kEvent, 2).set(column(schema::kEvent, "kind"), "oom");
    for (const auto& [job, start] : {std::pair{7, 10.5}, std::pair{8, 50.5}}) {
        const Cut cut = plan(streams, {.job_id = job});
        CutRows rows(cut, streams);
        const stream::Batch& events = rows.of(schema::kEvent);
        ASSERT_THAT(events.values(column(schema::kEvent, "kind")).texts, ElementsAre("kernel_log_unread"));
        EXPECT_EQ(events.values(0).integers[0], core::to_nanoseconds(at(start))) << "from its beginning on";
    }
}

// Slurm uses numbers again.
TEST(record_cut, of_two_jobs_of_one_number_each_gets_what_was_its_own) {
    const std::vector<StreamMaker> streams{
        StreamMaker({},
                    {{.job = 7, .step = "0", .from = 10.5, .to = 20.5, .cpus = 1},
                     {.job = 7, .step = "0", .from = 60.5, .to = 90.5, .cpus = 2}},
                    {})};
    for (const auto& [from, to, samples] : {std::tuple(5, 25, 10U), {55, 95, 30U}}) {
        SCOPED_TRACE(from);
        const Cut cut = plan(streams, {.job_id = 7, .within = Interval{at(from), at(to)}});
        CutRows rows(cut, streams);
        EXPECT_EQ(rows.of(schema::kHost).rows(), samples);
        EXPECT_EQ(rows.of(schema::kProcess).rows(), samples);
        EXPECT_EQ(rows.coverage(schema::kHost), std::pair(int64_t{samples}, int64_t{samples}));
        EXPECT_EQ(rows.of(schema::kAllocation).rows(), 1U);
    }
    const auto none = Cut::plan({streams[0].facts()}, {.job_id = 7, .within = Interval{at(25), at(55)}});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause(), core::Cause::kNotFound);
}

TEST(record_cut, a_step_without_an_end_ends_with_its_job_where_that_is_known) {
    const std::vector<StreamMaker> streams{StreamMaker(
        {},
        {{.job = 7, .step = "0", .from = 10.5, .to = 200}, {.job = 7, .step = "1", .from = 20.5, .to = 50.5}},
        {})};
    const Cut cut = plan(streams, {.job_id = 7, .ended = at(40.5)});
    CutRows rows(cut, streams);
    EXPECT_EQ(rows.of(schema::kHost).rows(), 40U) << "one that told its end ended then";
    EXPECT_EQ(cut.manifest().job.end, at(50.5));
    EXPECT_EQ(plan(streams, {.job_id = 7}).manifest().job.end, std::nullopt);
}

}  // namespace
}  // namespace belay::record

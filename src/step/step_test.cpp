#include "core/file.h"
#include "core/json.h"
#include "env/container/container.h"
#include "step/agreement.h"
#include "step/node.h"
#include "step/plan.h"
#include "step/prepare.h"
#include "step/settings.h"
#include "step/staging.h"
#include "transfer/rendezvous.h"

#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::step {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

StepPlan full_plan() {
    StepPlan plan;
    plan.secret = "00ff";
    plan.environment =
        EnvironmentPlan{.name = "demo",
                        .container = env::ContainerPlan{.image_file = "/i.sqsh",
                                                        .overlay_size = core::ByteSize{1 << 30},
                                                        .binds = {{"/a", "/b", {"rbind"}, false, false}},
                                                        .workdir = "/w"},
                        .variables = {{{"A", "1"}}, {"B"}, {{"PATH", "/bin"}}},
                        .locked = "{}"};
    plan.vetting = VettingPlan{"p.yaml", "name: p\nchecks:\n  - type: mem.free\n    min: 1GiB\n",
                               std::chrono::seconds(30)};
    plan.recording = RecordingPlan{"/r-%j",
                                   std::chrono::milliseconds(200),
                                   std::chrono::seconds(2),
                                   {"x=(?P<loss>.*)"},
                                   observe::IoTracing{"/lib/libbelay_io.so", {"/scratch=flash"}}};
    plan.staging = StagingPlan{"/scratch/train", "/tmp/%j", std::chrono::minutes(7), 0.25};
    return plan;
}

// Two nodes of a step in two threads, over loopback.
struct Answers {
    core::Result<bool> root = false;
    core::Result<bool> other = false;
    std::vector<std::string> causes;
};

Answers meet(const std::optional<core::Error>& root_failure, const std::optional<core::Error>& other_failure,
             const std::string& name, core::Duration timeout = std::chrono::seconds(20),
             bool other_comes = true) {
    transfer::Members members{.rank = 0,
                              .nodes = {"n1", "n2"},
                              .root_address = "127.0.0.1",
                              .name = name + std::to_string(getpid()),
                              .secret = "secret"};
    Answers answers;
    std::thread other([&] {
        if (!other_comes) return;
        transfer::Members second = members;
        second.rank = 1;
        std::vector<std::string> none;
        answers.other = agree(second, other_failure, timeout, none);
        EXPECT_TRUE(none.empty());
    });
    answers.root = agree(members, root_failure, timeout, answers.causes);
    other.join();
    return answers;
}

}  // namespace

TEST(step, step_plans_survive_their_journey) {
    StepPlan plan = full_plan();
    auto read = decode_step_plan(encode(plan));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, plan);
    auto empty = decode_step_plan(encode(StepPlan{}));
    ASSERT_TRUE(empty);
    EXPECT_EQ(*empty, StepPlan{});
}

TEST(step, a_step_plan_that_lacks_something_is_refused) {
    Json whole = core::parse_ordered_json(encode(full_plan()));
    for (const auto& [name, value] : whole.items()) {
        Json without = whole;
        without.erase(name);
        EXPECT_FALSE(decode_step_plan(without.dump())) << name;
        Json wrong = whole;
        wrong[name] = 7;
        EXPECT_FALSE(decode_step_plan(wrong.dump())) << name;
    }
    for (const char* text : {"", "{", "null", "[]", "\"x\"", "{\"secret\": 1e999}"})
        EXPECT_EQ(decode_step_plan(text).error().kind(), core::ErrorKind::kSystem) << text;
}

TEST(step, tasks_wait_longer_than_every_part_may_take) {
    StepPlan plan = full_plan();
    auto all = longest_preparation(plan);
    plan.vetting.reset();
    auto without = longest_preparation(plan);
    ASSERT_TRUE(all && without);
    EXPECT_GE(*all - *without, std::chrono::seconds(30));
    EXPECT_GE(*without, env::longest_start(*plan.environment->container) + longest_agreement(plan));
    EXPECT_GE(*without, std::chrono::minutes(7));
    plan.environment.reset();
    EXPECT_TRUE(needs_agreement(plan));
    plan.staging.reset();
    EXPECT_LE(*longest_preparation(plan),
              std::chrono::seconds(30));  // only recorded: nobody waits for others
    EXPECT_FALSE(needs_agreement(plan));
    plan = full_plan();
    plan.vetting->text = "checks: [";
    EXPECT_FALSE(longest_preparation(plan));
}

TEST(step, staging_names_data_and_a_place_on_the_nodes) {
    const auto configuration = core::load_configuration(settings(), {}).value();
    const auto plan = plan_staging("/scratch/a:b:/tmp/%j", configuration).value();
    EXPECT_EQ(plan.source, "/scratch/a:b");
    EXPECT_EQ(plan.destination, "/tmp/%j");
    EXPECT_EQ(plan.longest_wait, std::chrono::hours(1));
    EXPECT_TRUE(plan_staging("train:/tmp/t", configuration)->source.starts_with("/"))
        << "relative to where srun is";
    for (const char* wrong : {"", "/a", "/a:b", ":/a", "/a:/b/%x"})
        EXPECT_EQ(plan_staging(wrong, configuration).error().kind(), core::ErrorKind::kBadInput) << wrong;
}

TEST(step, record_paths_name_job_step_and_restart) {
    EXPECT_EQ(expand_record_path("r-%j.%s.%r%%", "12", "3", "0").value(), "r-12.3.0%");
    EXPECT_EQ(expand_record_path("plain", "12", "3", "0").value(), "plain");
    for (const char* wrong : {"r-%", "r-%x", "%%%"}) {
        auto path = expand_record_path(wrong, "1", "2", "3");
        ASSERT_FALSE(path) << wrong;
        EXPECT_THAT(path.error().message(), HasSubstr(wrong));
    }
}

TEST(step, a_requeued_job_gets_a_record_of_its_own) {
    slurm::TaskFacts step;
    step.job_id = 12;
    step.step_id = 0;
    RecordingPlan plan{.directory = "/r-%j.%s", .progress_patterns = {}};
    EXPECT_EQ(record_path(plan, step).value(), "/r-12.0");
    step.restart = 2;
    EXPECT_EQ(record_path(plan, step).value(), "/r-12.0-r2");
    plan.directory = "/r-%j-%r";
    EXPECT_EQ(record_path(plan, step).value(), "/r-12-2");
}

// A file of the site may hold any of them: one that is missing here would stop every job.
TEST(step, the_settings_of_all_modules_are_known) {
    std::vector<std::string_view> keys;
    for (const core::Setting& setting : settings()) keys.push_back(setting.key);
    EXPECT_THAT(keys, testing::UnorderedElementsAre(
                          "record.directory", "record.interval", "record.flush", "record.gpu_source",
                          "record.progress_pattern", "env.search_path", "env.overlay_size", "env.image_store",
                          "env.layer_cache", "env.image_wait", "env.insecure_registries", "vet.timeout",
                          "nvml.library", "dcgm.library", "dcgm.address", "findings.rules", "query.time",
                          "query.memory", "munge.socket", "files.wait", "stage.timeout", "stage.memory_share",
                          "record.io_trace", "record.tiers"));
    EXPECT_TRUE(core::load_configuration(settings(), {}));
}

TEST(step, periods_no_recorder_takes_are_refused) {
    auto configuration = core::load_configuration(settings(), {});
    ASSERT_TRUE(configuration) << configuration.error().message();
    for (auto wrong : {core::Duration::zero(), core::Duration(1), core::Duration(std::chrono::hours(2))}) {
        std::string warnings;
        StepOptions options{.environment = {}, .vetting = {}, .recording = true, .interval = wrong};
        auto plan = prepare_step(options, *configuration, {}, warnings);
        ASSERT_FALSE(plan);
        EXPECT_THAT(plan.error().message(), HasSubstr("between 10 ms and 1 h"));
    }
}

TEST(step, values_of_variables_stay_out_of_records) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    std::string file = (directory->path() / "e.toml").string();
    ASSERT_TRUE(core::replace_file(file, "image = \"\"\n[env]\nTOKEN = \"canary\"\n"));
    auto configuration = core::load_configuration(settings(), {});
    ASSERT_TRUE(configuration);
    std::string warnings;
    auto plan = plan_environment(file, *configuration, {}, warnings);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->variables.environment.at("TOKEN"), "canary");
    EXPECT_THAT(plan->locked, HasSubstr("TOKEN"));
    EXPECT_THAT(plan->locked, ::testing::Not(HasSubstr("canary")));
}

TEST(step, one_line_for_each_cause) {
    const core::Error full = core::system_error("disk full").hint("x").error();
    EXPECT_THAT(causes_of({{"n1", full}, {"n3", core::system_error("no image").error()}, {"n2", full}}),
                ElementsAre("n[1-2]: disk full\nhint: x", "n3: no image"));
    EXPECT_THAT(causes_of({{"n1", core::system_error("red \x1b[31m").error()}}),
                ElementsAre("n1: red ?[31m"));
    EXPECT_TRUE(causes_of({}).empty());
}

TEST(step, all_start_or_none_does) {
    auto both = meet(std::nullopt, std::nullopt, "both");
    EXPECT_TRUE(both.root.value() && both.other.value());
    EXPECT_TRUE(both.causes.empty());

    core::Error failure = core::system_error("no image").hint("pull it").error();
    auto other = meet(std::nullopt, failure, "other");
    EXPECT_FALSE(other.root.value() || other.other.value());
    EXPECT_THAT(other.causes, ElementsAre("n2: no image\nhint: pull it"));

    auto same = meet(failure, failure, "same");
    EXPECT_FALSE(same.root.value() || same.other.value());
    EXPECT_THAT(same.causes, ElementsAre("n[1-2]: no image\nhint: pull it"));
}

TEST(step, a_node_that_cannot_meet_the_first_says_what_it_failed_of) {
    transfer::Members alone{.rank = 2,
                            .nodes = {"n1", "n2", "n3"},
                            .root_address = "127.0.0.1",
                            .name = "alone" + std::to_string(getpid()),
                            .secret = "secret"};
    std::vector<std::string> none;
    core::Error failure = core::bad_input("no image").hint("pull it").error();
    auto own = agree(alone, failure, std::chrono::milliseconds(100), none);
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().message(),
                ::testing::StartsWith("no image; n1 cannot be told of it: 127.0.0.1:"));
    EXPECT_EQ(own.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(own.error().hint_text(), "pull it");
    auto link = agree(alone, std::nullopt, std::chrono::milliseconds(100), none);
    EXPECT_EQ(link.error().cause(), core::Cause::kUnreachable);
    alone.root_address = std::unexpected(core::errno_error(EMFILE, "the name service").error());
    EXPECT_EQ(agree(alone, std::nullopt, std::chrono::milliseconds(100), none).error().cause(),
              core::Cause::kOther)
        << "what fails on this node is not the first node's silence";
}

TEST(step, a_node_that_stays_silent_is_named) {
    auto answers = meet(std::nullopt, std::nullopt, "silent", std::chrono::milliseconds(300), false);
    EXPECT_FALSE(answers.root.value());
    ASSERT_EQ(answers.causes.size(), 1U);
    EXPECT_THAT(answers.causes[0], HasSubstr("n2: did not report within 300 ms"));
}

TEST(step, a_node_that_was_ready_and_left_stops_the_others) {
    transfer::Members members{.rank = 0,
                              .nodes = {"n1", "n2", "n3"},
                              .root_address = "127.0.0.1",
                              .name = "left" + std::to_string(getpid()),
                              .secret = "secret"};
    core::Result<bool> last = true;
    std::thread others([&] {
        auto deadline = core::Deadline::after(std::chrono::seconds(20));
        {
            auto second = transfer::join("127.0.0.1", transfer::rendezvous_ports(members.name),
                                         transfer::known("secret"), 1, deadline);
            ASSERT_TRUE(second);
            ASSERT_TRUE(second->send({.type = transfer::kFirstFreeType}, deadline)) << "it is ready";
        }
        transfer::Members third = members;
        third.rank = 2;
        std::vector<std::string> none;
        last = agree(third, std::nullopt, std::chrono::seconds(20), none);
    });
    std::vector<std::string> causes;
    auto root = agree(members, std::nullopt, std::chrono::seconds(20), causes);
    others.join();
    EXPECT_FALSE(root.value());
    EXPECT_FALSE(last.value());
    EXPECT_THAT(causes, ElementsAre(HasSubstr("n2: was ready, but then ended")));
}

TEST(step, malformed_reports_are_told_with_their_node) {
    const transfer::Members members{.rank = 0,
                                    .nodes = {"n1", "n2", "n3"},
                                    .root_address = "127.0.0.1",
                                    .name = "malformed" + std::to_string(getpid()),
                                    .secret = "secret"};
    const auto deadline = core::Deadline::after(std::chrono::seconds(20));
    std::thread others([&] {
        const auto ports = transfer::rendezvous_ports(members.name);
        auto second = transfer::join("127.0.0.1", ports, transfer::known("secret"), 1, deadline);
        auto third = transfer::join("127.0.0.1", ports, transfer::known("secret"), 2, deadline);
        ASSERT_TRUE(second && third);
        EXPECT_TRUE(second->send({.type = 99}, deadline));
        const std::string noise(64, '\xff');
        EXPECT_EQ(write(third->socket(), noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
        (void)second->receive(deadline);  // hangs up when it is told
    });
    std::vector<std::string> causes;
    auto root = agree(members, std::nullopt, std::chrono::seconds(20), causes);
    others.join();
    ASSERT_TRUE(root) << root.error().message();
    EXPECT_FALSE(*root);
    EXPECT_THAT(causes, ElementsAre(HasSubstr("n2: sent a malformed message"),
                                    HasSubstr("n3: did not report: it sent")));
}

TEST(step, a_node_alone_asks_nobody) {
    std::vector<std::string> causes;
    EXPECT_TRUE(agree({.nodes = {"n1"}}, std::nullopt, std::chrono::seconds(1), causes).value());
    EXPECT_FALSE(
        agree({.nodes = {"n1"}}, core::system_error("x").error(), std::chrono::seconds(1), causes).value());
    EXPECT_THAT(causes, ElementsAre("n1: x"));
}

}  // namespace belay::step

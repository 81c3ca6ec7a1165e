#include "slurm/step.h"

#include <netdb.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const core::Environment kStep = {{"SLURM_CLUSTER_NAME", "alps"},   {"SLURM_JOB_ID", "42"},
                                 {"SLURM_STEP_ID", "5"},           {"SLURM_PROCID", "3"},
                                 {"SLURM_STEP_NUM_TASKS", "4"},    {"SLURM_NODEID", "1"},
                                 {"SLURM_LOCALID", "1"},           {"SLURM_STEP_NODELIST", "n[2-3]"},
                                 {"SLURM_SRUN_COMM_PORT", "40001"}};

core::Environment with(std::string name, std::string value) {
    core::Environment changed = kStep;
    changed[std::move(name)] = std::move(value);
    return changed;
}

std::string refusal(const core::Environment& variables) {
    auto step = read_step(lookup_in(variables));
    return step ? "" : step.error().message();
}

TEST(slurm, a_task_knows_where_it_stands_in_its_step) {
    auto step = read_step(lookup_in(kStep)).value();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->rank, 3U);
    EXPECT_EQ(step->task_count, 4U);
    EXPECT_EQ(step->node_rank, 1U);
    EXPECT_EQ(step->local_rank, 1U);
    EXPECT_THAT(step->nodes, ElementsAre("n2", "n3"));
    EXPECT_EQ(step->name, ".alps.42.5.40001");
    EXPECT_EQ(step_name(lookup_in(with("SLURM_RESTART_COUNT", "2"))), ".alps.42.5.2.40001");
}

TEST(slurm, outside_srun_there_is_no_step) {
    EXPECT_FALSE(read_step(lookup_in({})).value());
    core::Environment batch = kStep;  // a batch script finds a rank of its own
    batch.erase("SLURM_STEP_ID");
    EXPECT_FALSE(read_step(lookup_in(batch)).value());
    EXPECT_EQ(step_name(lookup_in({})), "");
}

TEST(slurm, a_place_that_the_step_does_not_have_is_refused) {
    EXPECT_EQ(refusal(with("SLURM_NODEID", "2")), "SLURM_STEP_NODELIST does not name node 2 of the step");
    EXPECT_EQ(refusal(with("SLURM_STEP_NODELIST", "")),
              "SLURM_STEP_NODELIST does not name node 1 of the step");
    EXPECT_THAT(refusal(with("SLURM_PROCID", "4")), HasSubstr("SLURM_PROCID=4"));
    EXPECT_THAT(refusal(with("SLURM_STEP_NUM_TASKS", "4294967296")), HasSubstr("4294967296"));
    EXPECT_THAT(refusal(with("SLURM_PROCID", "x")), HasSubstr("SLURM_PROCID=x: not a whole number"));
}

AddressOf with_sources(core::NameService service, core::Result<std::optional<std::string>> configured) {
    return address_from(
        {.name_service = std::move(service),
         .node_address = [=](const std::string&, const core::Deadline&) { return configured; }});
}

core::Result<std::string> only_numeric(const std::string& name) {
    if (name.starts_with("10.")) return name;
    return std::unexpected(core::name_service_error(EAI_NONAME, 0, name));
}

TEST(slurm, a_node_is_found_by_its_name_or_where_slurm_says) {
    auto knows = [](const std::string& name) -> core::Result<std::string> { return "address of " + name; };
    EXPECT_EQ(with_sources(knows, "other")("n3").value(), "address of n3");
    EXPECT_EQ(with_sources(only_numeric, "10.1.2.3")("n3").value(), "10.1.2.3");
    for (const auto& configured : {std::optional<std::string>(), std::optional<std::string>("n3")}) {
        core::Error error = with_sources(only_numeric, configured)("n3").error();
        EXPECT_EQ(error.message(), "the name service does not know n3; scontrol names no other address");
        EXPECT_EQ(error.cause(), core::Cause::kNotFound);
    }
    EXPECT_EQ(with_sources(only_numeric, "head")("n3").error().message(),
              "the name service does not know head");
}

TEST(slurm, why_scontrol_could_not_be_asked_for_an_address_is_told) {
    const core::Error silent =
        core::system_error("scontrol: no answer within 10.0 s").because(core::Cause::kTimedOut).error();
    core::Error error = with_sources(only_numeric, std::unexpected(silent))("n3").error();
    EXPECT_EQ(error.message(),
              "the name service does not know n3; scontrol cannot be asked either: scontrol: no answer "
              "within 10.0 s");
    EXPECT_EQ(error.cause(), core::Cause::kTimedOut) << "Slurm might know the node";
    const core::Error missing = core::system_error("scontrol: cannot be run")
                                    .because(core::Cause::kNotFound)
                                    .hint("install it")
                                    .error();
    core::Error unasked = with_sources(only_numeric, std::unexpected(missing))("n3").error();
    EXPECT_EQ(unasked.cause(), core::Cause::kUnreachable) << "a scontrol that is missing knows of no node";
    EXPECT_EQ(unasked.hint_text(), "install it");
    auto fails = [](const std::string& name) -> core::Result<std::string> {
        return std::unexpected(core::name_service_error(EAI_AGAIN, 0, name));
    };
    EXPECT_EQ(with_sources(fails, std::unexpected(silent))("n3").error().cause(), core::Cause::kUnreachable);
}

}  // namespace
}  // namespace belay::slurm

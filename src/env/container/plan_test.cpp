#include "env/container/plan.h"

#include "core/json.h"
#include "env/container/plan_json.h"
#include "env/env_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::env {

namespace {

using testing::FakeHost;
using Json = nlohmann::ordered_json;

class PlanTest {
  public:
    ContainerPlan plan(const std::string& edf, const ImageFacts& image = {}) {
        Environment environment = fake.load("image = \"./i.sqsh\"\n" + edf);
        return make_plan(environment, image,
                         {.image_file = "/w/i.sqsh", .overlay_size = core::ByteSize{1 << 20}});
    }
    FakeHost fake;
};

core::Environment variables_inside(const VariablePlan& plan, const core::Environment& host) {
    return changed_by(changes_in_container(plan), host);
}

std::vector<std::string> destinations(const ContainerPlan& plan) {
    std::vector<std::string> names;
    for (const Bind& bind : plan.binds) names.push_back(bind.destination);
    return names;
}

}  // namespace

TEST(env_container, definition_wins_over_image_and_image_over_host) {
    core::Environment host = {{"A", "host"}, {"B", "host"}, {"C", "host"}, {"PATH", "/usr/bin"}};
    VariablePlan plan{{{"A", "edf"}}, {"C"}, {{"A", "image"}, {"B", "image"}, {"PATH", "/opt/bin"}}};
    core::Environment wanted = {{"A", "edf"}, {"B", "image"}, {"PATH", "/opt/bin"}};
    EXPECT_EQ(variables_inside(plan, host), wanted);
}

TEST(env_container, image_cannot_set_what_slurm_tells_the_task) {
    core::Environment host = {{"SLURM_PROCID", "3"}, {"PMI_RANK", "3"}, {"PATH", "/x"}};
    VariablePlan plan{{}, {}, {{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}, {"PATH", "/x"}}};
    EXPECT_EQ(variables_inside(plan, host), host);
}

TEST(env_container, host_language_and_path_stay_outside) {
    auto variables = variables_inside({}, {{"LANG", "de_CH.UTF-8"}, {"LC_ALL", "C"}, {"PATH", "/host/only"}});
    EXPECT_FALSE(variables.contains("LANG"));
    EXPECT_FALSE(variables.contains("LC_ALL"));
    EXPECT_EQ(variables.at("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

TEST(env_container, working_directory_of_definition_image_and_neither) {
    PlanTest test;
    EXPECT_EQ(test.plan("workdir = \"/d\"", {.workdir = "/i"}).workdir, "/d");
    EXPECT_EQ(test.plan("", {.workdir = "/i"}).workdir, "/i");
    EXPECT_EQ(test.plan("").workdir, "/");
    EXPECT_EQ(test.plan("", {.workdir = "srv/app"}).workdir, "/srv/app") << "as Docker reads a relative one";
}

TEST(env_container, entrypoint_only_where_asked_for) {
    PlanTest test;
    ImageFacts image{.entrypoint = {"/entry", "-x"}};
    EXPECT_EQ(test.plan("", image).entrypoint, std::vector<std::string>{});
    EXPECT_EQ(test.plan("entrypoint = true", image).entrypoint, image.entrypoint);
}

TEST(env_container, shallow_destinations_are_mounted_first) {
    PlanTest test;
    auto names = destinations(test.plan("mounts = [\"/a:/x/y/z\", \"/b:/x\", \"/c:/x/y\", \"/d:/w\"]"));
    std::vector<std::string> own(names.end() - 4, names.end());
    EXPECT_EQ(own, (std::vector<std::string>{"/x", "/w", "/x/y", "/x/y/z"}));
}

TEST(env_container, mount_flags_become_runtime_options) {
    struct Case {
        const char* mount;
        std::vector<std::string> options;
    };
    const Case cases[] = {
        {"/a:/b", {"rbind", "rnosuid", "rnodev"}},
        {"/a:/b:ro", {"rbind", "rro", "rnosuid", "rnodev"}},
        {"/a:/b:bind+ro", {"bind", "rro", "rnosuid", "rnodev"}},
        {"/a:/b:ro+private+noexec", {"rbind", "rro", "private", "rnoexec", "rnosuid", "rnodev"}},
        {"/a:/b:rshared+nosuid", {"rbind", "rslave", "rnosuid", "rnodev"}},
        {"/dev/shm:/b", {"rbind", "rnosuid"}},
        {"/a.sqsh:/b:sqsh", {"rbind", "rro", "rnosuid", "rnodev"}},
    };
    PlanTest test;
    for (const Case& each : cases) {
        SCOPED_TRACE(each.mount);
        ContainerPlan plan = test.plan(fmt::format("mounts = [\"{}\"]", each.mount));
        EXPECT_EQ(plan.binds.back().options, each.options);
        EXPECT_EQ(plan.binds.back().squashfs, std::string_view(each.mount).ends_with("sqsh"));
    }
}

TEST(env_container, runtime_configuration_says_what_the_plan_says) {
    PlanTest test;
    ContainerPlan plan = test.plan("writable = false\nmounts = [\"/a:/b\", \"/i.sqsh:/d:sqsh\"]");
    Json config =
        core::parse_ordered_json(oci_config(plan, "/scratch/root", {"/scratch/squashfs0"}, 1000, 100));
    EXPECT_EQ(config["root"], (Json{{"path", "/scratch/root"}, {"readonly", true}}));
    EXPECT_EQ(config["linux"]["uidMappings"],
              Json::array({Json{{"containerID", 1000}, {"hostID", 0}, {"size", 1}}}));
    EXPECT_EQ(config["linux"]["gidMappings"],
              Json::array({Json{{"containerID", 100}, {"hostID", 0}, {"size", 1}}}));
    EXPECT_EQ(config["process"]["user"], (Json{{"uid", 1000}, {"gid", 100}}));
    std::map<std::string, std::string> sources;
    for (const Json& mount : config["mounts"]) sources[mount["destination"]] = mount["source"];
    EXPECT_EQ(sources["/b"], "/a");
    EXPECT_EQ(sources["/d"], "/scratch/squashfs0");
    EXPECT_EQ(sources["/proc"], "/proc");
}

TEST(env_container, plans_survive_their_journey) {
    PlanTest test;
    ContainerPlan plan = test.plan("workdir = \"/d\"\nmounts = [\"/a:/b:ro\", \"/i.sqsh:/d:sqsh\"]");
    auto read = container_plan_from_json(core::parse_ordered_json(to_json(plan).dump()));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, plan);

    VariablePlan variables{{{"A", "1"}}, {"B"}, {{"PATH", "/opt/bin"}}};
    auto read_variables = variable_plan_from_json(core::parse_ordered_json(to_json(variables).dump()));
    ASSERT_TRUE(read_variables);
    EXPECT_EQ(*read_variables, variables);
}

TEST(env_container, a_plan_that_lacks_something_is_refused) {
    PlanTest test;
    const Json whole = to_json(test.plan("mounts = [\"/a:/b\"]"));
    for (const auto& [name, value] : whole.items()) {
        SCOPED_TRACE(name);
        Json without = whole;
        without.erase(name);
        auto read = container_plan_from_json(without);
        ASSERT_FALSE(read);
        EXPECT_NE(read.error().message().find(name), std::string::npos);
        Json wrong = whole;
        wrong[name] = Json::array({Json::array()});
        EXPECT_FALSE(container_plan_from_json(wrong));
    }
    Json relative = whole;
    relative["binds"][0]["destination"] = "b";
    EXPECT_FALSE(container_plan_from_json(relative));
    EXPECT_FALSE(container_plan_from_json(Json()));
}

}  // namespace belay::env

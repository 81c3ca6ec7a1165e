// The worked examples of the reference, by their numbers.
#include "env/env_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::env {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct PlainExample {
    int number;
    std::string text;
    std::string result;  // "" with a code that is an error
    std::string code;
};

const PlainExample kPlainExamples[] = {{1, "${SCRATCH}/x", "/s/a/x", ""},
                                       {2, "${NO}", "", "E_UNDEF"},
                                       {3, "[${NO:-}]", "[]", ""},
                                       {4, "${NO:-/d}", "/d", ""},
                                       {5, "${EMPTY:-/d}", "/d", ""},
                                       {6, "[${EMPTY}]", "[]", ""},
                                       {7, "${NO:-${HOME}/d}", "/u/a/d", ""},
                                       {8, "$${HOME}", "${HOME}", ""},
                                       {9, "$$$$", "$$", ""},
                                       {10, "$HOME/x", "$HOME/x", "W_BARE"},
                                       {11, "$(id)", "$(id)", "W_BARE"},
                                       {12, "${HOME", "", "E_EXPAND"},
                                       {13, "${1A}", "", "E_EXPAND"},
                                       {13, "${}", "", "E_EXPAND"},
                                       {14, "${HOME:0}", "", "E_EXPAND"},
                                       {15, "${V}", "${HOME}", ""}};

// As a value of [annotations], where nothing but expansion happens to a text.
TEST(env, examples_1_to_15_plain_texts) {
    for (const PlainExample& example : kPlainExamples) {
        SCOPED_TRACE(example.number);
        FakeHost fake;
        Environment environment = fake.load("image = \"\"\n[annotations]\nx = '" + example.text + "'\n");
        std::vector<std::string> expected = {"W_HOST"};
        if (!example.code.empty()) expected.push_back(example.code);
        EXPECT_EQ(fake.codes(), expected);
        if (example.code.starts_with("E_"))
            EXPECT_FALSE(environment.annotations.contains("x"));
        else
            EXPECT_EQ(environment.annotations.at("x"), example.result);
    }
}

TEST(env, example_16_the_image_wins_in_env) {
    FakeHost fake;
    Environment environment = fake.load("image = 'a'\n[env]\nPATH = '${PATH}:/x'\n");
    EXPECT_EQ(fake.variables(environment, {{"PATH", "/opt/bin"}}).at("PATH"), "/opt/bin:/x");
    EXPECT_THAT(fake.codes(), IsEmpty());
}

TEST(env, example_17_elsewhere_the_host_counts) {
    FakeHost fake;
    EXPECT_EQ(fake.load("image = 'a'\nworkdir = '${PATH}'\n").workdir, "/usr/bin");
}

TEST(env, example_18_env_does_not_see_itself) {
    FakeHost fake;
    Environment environment = fake.load("image = 'a'\n[env]\nA = '1'\nB = '${A}'\n");
    auto variables = fake.variables(environment, {{"PATH", "/opt/bin"}});
    EXPECT_THAT(fake.codes(), ElementsAre("E_UNDEF"));
    EXPECT_FALSE(variables.contains("B"));
}

TEST(env, example_19_an_empty_value_unsets) {
    FakeHost fake;
    EXPECT_THAT(fake.load("image = 'a'\n[env]\nLANG = ''\n").unset, ElementsAre("LANG"));
}

// Loads `child`, which inherits base.toml.
Environment inherit(FakeHost& fake, const std::string& base, const std::string& child) {
    fake.write("/w/base.toml", base);
    return fake.load("base_environment = './base.toml'\n" + child);
}

TEST(env, example_20_env_merges_by_key) {
    FakeHost fake;
    Environment environment = inherit(fake, "image = 'a'\n[env]\nA = '1'\nB = '2'\n", "[env]\nA = '9'\n");
    EXPECT_THAT(fake.variables(environment), ElementsAre(std::pair("A", "9"), std::pair("B", "2")));
}

TEST(env, example_21_a_child_unsets) {
    FakeHost fake;
    Environment environment = inherit(fake, "image = 'a'\n[env]\nA = '1'\n", "[env]\nA = ''\n");
    EXPECT_THAT(environment.unset, ElementsAre("A"));
    EXPECT_THAT(fake.variables(environment), IsEmpty());
}

TEST(env, example_22_what_is_overridden_is_never_expanded) {
    FakeHost fake;
    Environment environment = inherit(fake, "image = 'a'\n[env]\nA = '${NO}'\n", "[env]\nA = '1'\n");
    EXPECT_EQ(fake.variables(environment).at("A"), "1");
    EXPECT_THAT(fake.codes(), IsEmpty());
}

TEST(env, example_23_the_last_base_wins) {
    FakeHost fake;
    fake.write("/w/x.toml", "image = 'x'\n");
    fake.write("/w/y.toml", "image = 'y'\n");
    EXPECT_EQ(fake.load("base_environment = ['./x.toml', './y.toml']\n").image, "y");
}

TEST(env, example_24_mounts_append) {
    FakeHost fake;
    Environment environment = inherit(fake, "image = 'a'\nmounts = ['/a']\n", "mounts = ['/b']\n");
    ASSERT_EQ(environment.mounts.size(), 2u);
    EXPECT_EQ(environment.mounts[0].text(), "/a:/a");
    EXPECT_EQ(environment.mounts[1].text(), "/b:/b");
}

TEST(env, example_25_a_cycle) {
    FakeHost fake;
    fake.write("/w/a.toml", "base_environment = './b.toml'\n");
    fake.write("/w/b.toml", "base_environment = './a.toml'\n");
    fake.load_by_name("a.toml");
    ASSERT_NE(fake.find("E_CYCLE"), nullptr);
    EXPECT_THAT(fake.find("E_CYCLE")->message, HasSubstr("/w/a.toml -> /w/b.toml -> /w/a.toml"));
}

// edf 0 inherits edf 1 and so on; the last has the image.
void write_chain(FakeHost& fake, int edges) {
    for (int i = 0; i < edges; ++i)
        fake.write("/w/" + std::to_string(i) + ".toml",
                   "base_environment = './" + std::to_string(i + 1) + ".toml'\n");
    fake.write("/w/" + std::to_string(edges) + ".toml", "image = 'a'\n");
}

TEST(env, example_26_eleven_deep) {
    FakeHost fake;
    write_chain(fake, 11);
    fake.load_by_name("0.toml");
    ASSERT_NE(fake.find("E_DEPTH"), nullptr);
    EXPECT_THAT(fake.find("E_DEPTH")->message, HasSubstr("/w/0.toml -> /w/1.toml"));
    FakeHost ten;
    write_chain(ten, 10);
    EXPECT_EQ(ten.load_by_name("0.toml").image, "a");
    EXPECT_THAT(ten.codes(), IsEmpty());
}

TEST(env, depth_counts_through_a_file_that_was_read_before) {
    FakeHost fake;
    write_chain(fake, 10);
    // 5.toml is read first with five edges below it, then reached again at the sixth edge.
    fake.write("/w/top.toml", "base_environment = ['./5.toml', './0.toml']\n");
    fake.load_by_name("top.toml");
    EXPECT_NE(fake.find("E_DEPTH"), nullptr);
}

TEST(env, example_27_a_diamond) {
    FakeHost fake;
    fake.write("/w/a.toml", "image = 'a'\n[env]\nA = '1'\n");
    fake.write("/w/b.toml", "base_environment = './a.toml'\n");
    fake.write("/w/c.toml", "base_environment = './a.toml'\n");
    EXPECT_EQ(fake.load("base_environment = ['./b.toml', './c.toml']\n").image, "a");
    EXPECT_THAT(fake.codes(), IsEmpty());
}

struct MountExample {
    int number;
    std::string entry;
    std::string result;  // as Mount::text(); "" for an error
    std::string code;
    std::string hint;
};

const MountExample kMountExamples[] = {{28, "/a", "/a:/a", "", ""},
                                       {29, "./d:/d", "/w/d:/d", "", ""},
                                       {30, "/a:/b:ro+private", "/a:/b:ro+private", "", ""},
                                       {31, "/i.sqsh:/d:sqsh", "/i.sqsh:/d:sqsh", "", ""},
                                       {32, "/i.sqsh:/d:sqsh+ro", "", "E_MOUNT_FLAG", "sqsh"},
                                       {33, "/a:ro", "", "E_MOUNT_DST", "/a:/a:ro"},
                                       {34, "/a:/b:rww", "", "E_MOUNT_FLAG", "rw"},
                                       {35, "d:/d", "", "E_MOUNT_SRC", "./d"},
                                       {36, "/a:/b:ro:x", "", "E_MOUNT_FIELDS", ""},
                                       {37, "${C}:/d", "/p:q:/d", "", ""},
                                       {38, "/a b:/c", "/a b:/c", "", ""}};

TEST(env, examples_28_to_38_mounts) {
    for (const MountExample& example : kMountExamples) {
        SCOPED_TRACE(example.number);
        FakeHost fake;
        Environment environment = fake.load("image = 'a'\nmounts = ['" + example.entry + "']\n");
        if (example.code.empty()) {
            EXPECT_THAT(fake.codes(), IsEmpty());
            ASSERT_EQ(environment.mounts.size(), 1u);
            EXPECT_EQ(environment.mounts[0].text(), example.result);
        } else {
            ASSERT_THAT(fake.codes(), ElementsAre(example.code));
            EXPECT_THAT(fake.problems[0].hint, HasSubstr(example.hint));
            EXPECT_THAT(environment.mounts, IsEmpty());
        }
    }
}

TEST(env, example_39_the_last_mount_wins) {
    FakeHost fake;
    Environment environment = fake.load("image = 'a'\nmounts = ['/a:/b', '/c:/b']\n");
    ASSERT_EQ(environment.mounts.size(), 1u);
    EXPECT_EQ(environment.mounts[0].text(), "/c:/b");
    EXPECT_THAT(fake.codes(), ElementsAre("W_SHADOW"));
}

TEST(env, examples_40_to_45_images_of_registries) {
    std::string digest = "sha256:" + std::string(64, 'b');
    const std::vector<std::array<std::string, 5>> examples = {
        {"ubuntu", "docker.io", "library/ubuntu", "latest", ""},
        {"nvidia/cuda:12", "docker.io", "nvidia/cuda", "12", ""},
        {"nvcr.io#nvidia/x:1", "nvcr.io", "nvidia/x", "1", ""},
        {"nvcr.io/nvidia/x:1", "nvcr.io", "nvidia/x", "1", ""},
        {"localhost:5000/a/b", "localhost:5000", "a/b", "latest", ""},
        {"me@quay.io#a/b:1@" + digest, "quay.io", "a/b", "1", "me"},
    };
    for (const auto& [text, registry, repository, tag, user] : examples) {
        FakeHost fake;
        Environment environment = fake.load("image = '" + text + "'\n");
        ASSERT_TRUE(environment.reference) << text;
        EXPECT_EQ(environment.reference->registry, registry);
        EXPECT_EQ(environment.reference->repository, repository);
        EXPECT_EQ(environment.reference->tag, tag);
        EXPECT_EQ(environment.reference->user, user);
        EXPECT_EQ(environment.image, text);
    }
    FakeHost fake;
    EXPECT_EQ(fake.load("image = 'me@quay.io#a/b:1@" + digest + "'\n").reference->selector(), digest);
}

TEST(env, example_46_an_image_file) {
    FakeHost fake;
    EXPECT_EQ(fake.load("image = './i.sqsh'\n").reference->file, "/w/i.sqsh");
}

TEST(env, examples_47_and_48_no_images) {
    FakeHost fake;
    fake.load("image = 'i.sqsh'\n");
    ASSERT_THAT(fake.codes(), ElementsAre("E_IMAGE"));
    EXPECT_THAT(fake.problems[0].hint, HasSubstr("./i.sqsh"));
    fake.load("image = 'Ubuntu:24.04'\n");
    ASSERT_THAT(fake.codes(), ElementsAre("E_IMAGE"));
}

TEST(env, examples_49_and_50_on_the_host) {
    FakeHost fake;
    EXPECT_TRUE(fake.load("image = ''\n").runs_on_host());
    EXPECT_THAT(fake.codes(), ElementsAre("W_HOST"));
    EXPECT_TRUE(passes_strictly(fake.problems));
    fake.load("image = '${EMPTY}'\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_IMAGE")) << "an empty variable does not mean the host";
    EXPECT_TRUE(fake.load("writable = true\n").runs_on_host());
    EXPECT_THAT(fake.codes(), ElementsAre("W_NOIMAGE"));
    EXPECT_THAT(fake.problems[0].message, HasSubstr("/w/job.toml"));
    EXPECT_FALSE(passes_strictly(fake.problems));
}

TEST(env, examples_51_to_54_where_a_name_is_looked_for) {
    FakeHost fake;
    fake.write("/b/e.toml", "image = 'b'\n");
    fake.write("/w/e.toml", "image = 'w'\n");
    fake.host.variables["EDF_PATH"] = "/a:/b";
    EXPECT_THAT(fake.load_by_name("e").files, ElementsAre("/b/e.toml"));
    EXPECT_THAT(fake.load_by_name("e.toml").files, ElementsAre("/w/e.toml"));
    fake.load_by_name("a/../b");
    ASSERT_NE(fake.find("E_NOTFOUND"), nullptr);
    EXPECT_THAT(fake.find("E_NOTFOUND")->message, HasSubstr("\"..\""));
    fake.host.variables["EDF_PATH"] = "r:/b";
    EXPECT_EQ(fake.load_by_name("e").image, "b");
    EXPECT_THAT(fake.codes(), ElementsAre("W_EDF_PATH"));
}

TEST(env, example_55_two_spellings_of_one_annotation) {
    FakeHost fake;
    auto dotted = fake.load("image = 'a'\n[annotations]\ncom.hooks.ssh.port = '1'\n").annotations;
    auto nested = fake.load("image = 'a'\n[annotations.com.hooks.ssh]\nport = '1'\n").annotations;
    auto quoted = fake.load("image = 'a'\n[annotations]\n'com.hooks.ssh.port' = '1'\n").annotations;
    EXPECT_EQ(dotted, nested);
    EXPECT_EQ(dotted, quoted);
    EXPECT_EQ(dotted.at("com.hooks.ssh.port"), "1");
}

TEST(env, example_56_both_spellings_in_one_file) {
    FakeHost fake;
    fake.load("image = 'a'\n[annotations]\ncom.x.port = '1'\n[annotations.com.x]\nkey = '2'\n");
    EXPECT_THAT(fake.codes(), Contains("E_TOML"));
    fake.load("image = 'a'\n[annotations]\ncom.x.port = '1'\n'com.x'.port = '2'\n");
    EXPECT_THAT(fake.codes(), Contains("E_TOML"));
}

TEST(env, example_57_a_boolean_annotation) {
    FakeHost fake;
    EXPECT_EQ(fake.load("image = 'a'\n[annotations]\nenabled = true\n").annotations.at("enabled"), "true");
    EXPECT_THAT(fake.codes(), ElementsAre("W_TYPE"));
}

TEST(env, examples_58_and_59_mistakes_with_mounts) {
    FakeHost fake;
    fake.load("image = 'a'\nmounts = '/a'\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_TYPE"));
    fake.load("image = 'a'\nmount = []\n");
    ASSERT_THAT(fake.codes(), ElementsAre("W_UNKNOWN"));
    EXPECT_THAT(fake.problems[0].hint, HasSubstr("\"mounts\""));
}

TEST(env, example_60_a_device_twice) {
    FakeHost fake;
    EXPECT_THAT(inherit(fake, "image = 'a'\ndevices = ['/dev/x']\n", "devices = ['/dev/x']\n").devices,
                ElementsAre("/dev/x"));
}

}  // namespace
}  // namespace belay::env

#include "env/edf_writer.h"
#include "env/env_testing.h"
#include "env/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::env {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeHost;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(env, a_problem_points_at_what_is_wrong) {
    FakeHost fake;
    fake.write("/w/ngc.toml", "image = 'a'\nmounts = [\"${DATA}/train:/data\"]\n");
    fake.load("base_environment = './ngc.toml'\n");
    EXPECT_EQ(render(fake.problems),
              "/w/ngc.toml:2:12: error E_UNDEF: variable DATA is not set (key mounts[0])\n"
              "  mounts = [\"${DATA}/train:/data\"]\n"
              "             ^~~~~~~\n"
              "  export DATA, or write ${DATA:-} if it may be empty\n"
              "  inherited: /w/job.toml -> /w/ngc.toml\n");
}

TEST(env, a_value_with_escapes_is_pointed_at_as_a_whole) {
    FakeHost fake;
    fake.load("image = \"a\"\nworkdir = \"\\u002f${NO}\"\n");
    ASSERT_THAT(fake.codes(), ElementsAre("E_UNDEF"));
    EXPECT_EQ(fake.problems[0].place.position.column, 11);
}

TEST(env, a_variable_that_only_the_image_may_set_is_no_mistake) {
    FakeHost fake;
    fake.host.variables["A"] = "one";
    const Environment in_image = fake.load("image = 'a'\n[env]\nX = '${A}/${B}'\nY = '${A}'\nZ = '${A'\n");
    const auto variables = expand_without_image(in_image, fake.host.variables, fake.problems);
    EXPECT_THAT(fake.codes(), ElementsAre("W_IMAGE_VARIABLE", "E_EXPAND"));
    EXPECT_EQ(variables.at("X"), "${A}/${B}");
    EXPECT_EQ(variables.at("Y"), "one");
    EXPECT_FALSE(variables.contains("Z"));
    const Environment on_host = fake.load("image = ''\n[env]\nX = '${B}'\n");
    expand_without_image(on_host, fake.host.variables, fake.problems);
    EXPECT_NE(fake.find("E_UNDEF"), nullptr) << "there is no image that could set it";
}

TEST(env, all_problems_are_reported_at_once) {
    FakeHost fake;
    fake.load("image = 'A'\nmounts = ['d', '/a:/b:rww']\nentrypoint = 'yes'\nworkdri = '/'\n[env]\nN = 1\n");
    EXPECT_THAT(fake.codes(), ::testing::UnorderedElementsAre("E_IMAGE", "E_MOUNT_SRC", "E_MOUNT_FLAG",
                                                              "E_TYPE", "W_UNKNOWN", "E_TYPE"));
    core::Error error = as_error("job.toml", fake.problems);
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_THAT(error.message(), HasSubstr("and 4 more"));
}

TEST(env, broken_toml_has_a_place) {
    FakeHost fake;
    fake.load("image = 'a'\nmounts = [\n");
    ASSERT_THAT(fake.codes(), Contains("E_TOML"));
    EXPECT_GE(fake.find("E_TOML")->place.position.line, 2);
    EXPECT_EQ(fake.find("W_NOIMAGE"), nullptr);  // not said on top of it
}

TEST(env, the_published_forms_are_read) {
    FakeHost fake;
    fake.host.variables["USER"] = "u";
    Environment environment = fake.load(R"(
image = "nvcr.io#nvidia/pytorch:24.01-py3"
mounts = ["/capstor/${USER}:/scratch:ro", "/users/${USER}"]
writable = true
[annotations.com.hooks.aws_ofi_nccl]
enabled = "true"
variant = "cuda12"
)");
    EXPECT_FALSE(has_errors(fake.problems));
    EXPECT_THAT(fake.codes(), ElementsAre("W_UNSUPPORTED"));
    ASSERT_EQ(environment.mounts.size(), 2u);
    EXPECT_EQ(environment.mounts[0].text(), "/capstor/u:/scratch:ro");
    EXPECT_EQ(environment.mounts[1].text(), "/users/u:/users/u");
    refuse_unsupported(fake.problems);
    EXPECT_THAT(fake.codes(), ElementsAre("E_UNSUPPORTED"));
    EXPECT_TRUE(has_errors(fake.problems));
}

TEST(env, annotations_of_hooks) {
    FakeHost fake;
    fake.load("image = 'a'\n[annotations.com.hooks]\ncxi.enabled = 'yes'\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_ANNOTATION"));
    fake.load("image = 'a'\n[annotations.com.hooks]\ncxi.enable = 'true'\n");
    ASSERT_THAT(fake.codes(), ElementsAre("W_UNKNOWN"));
    EXPECT_THAT(fake.problems[0].hint, HasSubstr("com.hooks.cxi.enabled"));
    fake.load(
        "image = 'a'\n[annotations.com.hooks]\nssh.port = '1'\nssh.enabled = 'false'\ncxi.enabled = "
        "'false'\n");
    EXPECT_THAT(fake.codes(), IsEmpty());
    fake.load("image = 'a'\n[annotations.com.hooks]\nssh.port = '1'\n");
    ASSERT_THAT(fake.codes(), ElementsAre("W_UNSUPPORTED"));
    EXPECT_THAT(fake.problems[0].message, HasSubstr("turns it on"));
    fake.load("image = 'a'\n[annotations]\nmine.key = 'x'\n");
    EXPECT_THAT(fake.codes(), IsEmpty());
}

TEST(env, devices_and_startup_are_read_and_said_to_be_unsupported) {
    FakeHost fake;
    Environment environment = fake.load(R"(
image = 'a'
devices = ["nvidia.com/gpu=all", "/dev/x:/dev/y:rw"]
[[startup]]
name = "s"
command = ["sshd", "-D"]
once = "task"
timeout = "90s"
on_failure = "warn"
)");
    EXPECT_THAT(fake.codes(), ElementsAre("W_UNSUPPORTED", "W_UNSUPPORTED"));
    ASSERT_EQ(environment.startup.size(), 1u);
    EXPECT_THAT(environment.startup[0].command, ElementsAre("sshd", "-D"));
    EXPECT_EQ(environment.startup[0].timeout, std::chrono::seconds(90));
    fake.load("image = 'a'\ndevices = ['gpu', '/etc/x', '/dev/x:/dev/y:rq']\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_DEVICE", "E_DEVICE", "E_DEVICE"));
    fake.load("image = 'a'\n[[startup]]\nonce = 'always'\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_STARTUP", "E_STARTUP", "E_STARTUP", "W_UNSUPPORTED"));
}

TEST(env, a_startup_entry_replaces_one_of_its_name) {
    FakeHost fake;
    fake.write(
        "/w/base.toml",
        "image = 'a'\n[[startup]]\nname = 'x'\ncommand = ['1']\n[[startup]]\nname = 'y'\ncommand = ['2']\n");
    Environment environment =
        fake.load("base_environment = './base.toml'\n[[startup]]\nname = 'x'\ncommand = ['3']\n");
    ASSERT_EQ(environment.startup.size(), 2u);
    EXPECT_THAT(environment.startup[0].command, ElementsAre("3"));
}

TEST(env, defaults_nest_at_most_eight_deep) {
    FakeHost fake;
    auto nested = [](int depth) {
        std::string text = "x";
        for (int i = 0; i < depth; ++i) text = "${NO:-" + text + "}";
        return "image = 'a'\nworkdir = '/" + text + "'\n";
    };
    EXPECT_EQ(fake.load(nested(8)).workdir, "/x");
    EXPECT_THAT(fake.codes(), IsEmpty());
    fake.load(nested(9));
    EXPECT_THAT(fake.codes(), ElementsAre("E_EXPAND"));
}

TEST(env, a_default_that_is_not_needed_may_name_what_is_unset) {
    FakeHost fake;
    EXPECT_EQ(fake.load("image = 'a'\nworkdir = '${HOME:-${NO}}'\n").workdir, "/u/a");
    EXPECT_THAT(fake.codes(), IsEmpty());
}

TEST(env, a_missing_source_and_a_missing_image_file_are_errors) {
    FakeHost fake;
    fake.remove("/gone");
    fake.load("image = '/gone'\nmounts = ['/gone:/x']\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_IMAGE", "E_MOUNT_SRC"));
}

TEST(env, mounts_with_flags_without_effect) {
    FakeHost fake;
    Environment environment = fake.load("image = 'a'\nmounts = ['/a:/b:ro,suid', '/c:/d/../e//']\n");
    EXPECT_THAT(fake.codes(), ElementsAre("W_MOUNT_FLAG", "W_MOUNT_FLAG"));
    EXPECT_EQ(environment.mounts[0].text(), "/a:/b:ro+suid");
    EXPECT_EQ(environment.mounts[1].destination, "/e");
    fake.load("image = 'a'\nmounts = ['/a:/b:ro+rw', '/a:/', '/a:', ':/b']\n");
    EXPECT_THAT(fake.codes(), ElementsAre("E_MOUNT_FLAG", "E_MOUNT_DST", "E_MOUNT_DST", "E_MOUNT_SRC"));
}

TEST(env, not_found_names_the_directories_and_the_near_match) {
    FakeHost fake;
    fake.write("/u/a/.edf/pytorch.toml", "image = 'a'\n");
    fake.load_by_name("pytorhc");
    ASSERT_NE(fake.find("E_NOTFOUND"), nullptr);
    EXPECT_THAT(fake.find("E_NOTFOUND")->message, HasSubstr("/u/a/.edf, /etc/edf"));
    EXPECT_THAT(fake.find("E_NOTFOUND")->hint, HasSubstr("/u/a/.edf/pytorch.toml"));
    EXPECT_EQ(fake.find("W_NOIMAGE"), nullptr);
}

TEST(env, what_cannot_be_looked_at_is_not_called_missing) {
    FakeHost fake;
    fake.spoil("/data", EACCES);
    fake.spoil("/i.sqsh", EIO);
    fake.load("image = '/i.sqsh'\nmounts = ['/data:/d']\n");
    ASSERT_NE(fake.find("E_IMAGE"), nullptr);
    EXPECT_EQ(fake.find("E_IMAGE")->message, "cannot look at /i.sqsh: Input/output error");
    ASSERT_NE(fake.find("E_MOUNT_SRC"), nullptr);
    EXPECT_THAT(fake.find("E_MOUNT_SRC")->message, HasSubstr("cannot look at /data: Permission denied"));
    fake.spoil("/w/job.toml", EACCES);
    fake.load_by_name("job.toml");
    ASSERT_NE(fake.find("E_READ"), nullptr);
    EXPECT_EQ(fake.find("E_READ")->message, "cannot look at /w/job.toml: Permission denied");
}

TEST(env, what_the_machine_fails_at_stays_its_failure) {
    struct Row {
        const char* path;
        int errno_value;
        core::Cause cause;
    };
    const std::string text = "base_environment = './base.toml'\nimage = '/i.sqsh'\nmounts = ['/data:/d']\n";
    for (const Row& row :
         {Row{"/w/job.toml", EACCES, core::Cause::kDenied}, Row{"/w/base.toml", EIO, core::Cause::kOther},
          Row{"/i.sqsh", ETIMEDOUT, core::Cause::kTimedOut},
          Row{"/data", EHOSTDOWN, core::Cause::kUnreachable}}) {
        FakeHost fake;
        fake.write("/w/base.toml", "workdri = '/'\n[env]\nN = 1\n");  // mistakes that count less
        fake.spoil(row.path, row.errno_value);
        fake.load(text);
        EXPECT_EQ(kind_of(fake.problems), core::ErrorKind::kSystem) << row.path;
        const core::Error error = as_error("job.toml", fake.problems);
        EXPECT_EQ(error.kind(), core::ErrorKind::kSystem) << row.path;
        EXPECT_EQ(error.cause(), row.cause) << row.path;
        EXPECT_EQ(error.errno_value(), row.errno_value) << row.path;
        EXPECT_THAT(error.message(), HasSubstr(row.path));
        EXPECT_EQ(to_json("job.toml", false, fake.problems).dump().contains("\"cause\""), true) << row.path;
    }
}

TEST(env, what_is_not_there_is_a_mistake_of_whoever_named_it) {
    for (const char* path : {"/w/base.toml", "/i.sqsh", "/data"}) {
        FakeHost fake;
        fake.write("/w/base.toml", "workdir = '/'\n");
        fake.remove(path);
        fake.load("base_environment = './base.toml'\nimage = '/i.sqsh'\nmounts = ['/data:/d']\n");
        EXPECT_EQ(as_error("job.toml", fake.problems).kind(), core::ErrorKind::kBadInput) << path;
        EXPECT_EQ(to_json("job.toml", false, fake.problems).dump().contains("\"cause\""), false) << path;
    }
}

TEST(env, a_file_that_cannot_be_read_is_not_called_missing) {
    FakeHost fake;
    fake.host.files.read = [](const auto& path) -> core::Result<std::string> {
        return core::errno_error(EIO, "cannot read " + path.string());
    };
    fake.load("image = 'a'\n");
    ASSERT_THAT(fake.codes(), ElementsAre("E_READ"));
    EXPECT_EQ(as_error("job.toml", fake.problems).errno_value(), EIO);
}

TEST(env, a_directory_that_may_not_be_looked_into_is_named_where_nothing_is_found) {
    FakeHost fake;
    fake.spoil("/u/a/.edf/a.toml", EACCES);
    fake.load_by_name("a");
    ASSERT_THAT(fake.codes(), ElementsAre("E_READ"));
    EXPECT_EQ(
        fake.problems[0].message,
        "no environment \"a\" in /u/a/.edf, /etc/edf: cannot look at /u/a/.edf/a.toml: Permission denied");
    EXPECT_EQ(as_error("a", fake.problems).cause(), core::Cause::kDenied);
}

TEST(env, a_name_is_not_taken_from_another_directory_when_a_disk_fails) {
    FakeHost fake;
    fake.write("/etc/edf/a.toml", "image = 'a'\n");
    fake.spoil("/u/a/.edf/a.toml", EACCES);
    EXPECT_EQ(fake.load_by_name("a").name, "a");
    EXPECT_EQ(fake.find("E_NOTFOUND"), nullptr) << "HOME may be another user's";
    fake.spoil("/u/a/.edf/a.toml", EIO);
    fake.load_by_name("a");
    ASSERT_NE(fake.find("E_READ"), nullptr);
    EXPECT_EQ(fake.find("E_READ")->message, "cannot look at /u/a/.edf/a.toml: Input/output error");
}

// What to_edf writes reads as the same environment, also where values hold what would be expanded or split.
TEST(env, written_out_it_reads_back_the_same) {
    FakeHost fake;
    fake.host.variables["ODD"] = "a\"b\\c\n${HOME}$x}";
    fake.host.variables["PLAIN"] = "/p:q/$HOME";
    std::string text = R"(
image = "reg.example.org#a/b:1"
workdir = "/${V}"
writable = false
mounts = ["${PLAIN}:/d:ro", "/a"]
[env]
ODD = "${ODD}"
GONE = ""
[annotations]
"x y".z = "$${A}"
)";
    Environment first = fake.load(text);
    ASSERT_FALSE(has_errors(fake.problems)) << render(fake.problems);
    auto variables = fake.variables(first);
    std::string written = to_edf(first, variables, false);
    Environment second = fake.load(written);
    ASSERT_THAT(fake.codes(), IsEmpty()) << written << render(fake.problems);
    EXPECT_EQ(to_json(second, fake.variables(second), false), to_json(first, variables, false));
    EXPECT_EQ(to_edf(second, fake.variables(second), false), written);
    EXPECT_THAT(to_edf(first, variables, true), HasSubstr("\"/a:/a\",  # /w/job.toml:5"));
}

// Each of its places is on that line. Copies of it took 8 GB for a file of less than 1 MiB.
TEST(env, an_environment_of_one_long_line_shares_it) {
    FakeHost fake;
    std::string text = "mounts = [";
    for (int i = 0; text.size() < 900'000; ++i) text += fmt::format("\"x{}\", ", i);
    fake.load(text + "\"x\"]\n");
    ASSERT_GT(fake.problems.size(), 80'000u);
    std::string_view first = fake.problems[1].place.position.line_text;
    EXPECT_EQ(first.size(), text.size() + 4);
    EXPECT_EQ(std::string_view(fake.problems.back().place.position.line_text).data(), first.data());
    EXPECT_EQ(fake.problems.back().place.position.column, static_cast<int>(text.size()) + 2)
        << "behind the quote";
    EXPECT_LT(render(fake.problems.back()).size(), 1000u);
}

TEST(env, json_explains_each_value) {
    FakeHost fake;
    fake.write("/w/base.toml", "image = 'a'\n[env]\nK = 'v'\n");
    Environment environment = fake.load("base_environment = './base.toml'\nmounts = ['/a:/b']\n");
    auto json = to_json(environment, fake.variables(environment), true);
    EXPECT_EQ(json["origin"]["image"], "/w/base.toml:1");
    EXPECT_EQ(json["origin"]["mounts"][0], "/w/job.toml:2");
    EXPECT_EQ(json["origin"]["env"]["K"], "/w/base.toml:3");
    EXPECT_EQ(json["mounts"][0], "/a:/b");
    EXPECT_EQ(json["writable"], true);
}

}  // namespace
}  // namespace belay::env

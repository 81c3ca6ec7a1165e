#include "image/credentials.h"

#include "core/file.h"
#include "image/base64.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using ::testing::HasSubstr;

core::Result<std::optional<std::string>> no_helper(const std::string&, const std::string&) {
    return std::nullopt;
}

std::string login(const std::string& text) {
    return base64_encode(text);
}

std::string show(const core::Result<std::optional<Credentials>>& found) {
    if (!found) return "error: " + found.error().message();
    return *found ? (*found)->user + ":" + (*found)->password : "none";
}

TEST(image, base64) {
    for (std::string text : {"", "a", "ab", "abc", "abcd", "\xff\xfe"})
        EXPECT_EQ(base64_decode(base64_encode(text)), text);
    EXPECT_EQ(base64_encode("user:pass"), "dXNlcjpwYXNz");
    for (std::string bad : {"a", "ab=", "a===", "ab=c", "????", "abcd="})
        EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
}

TEST(image, credentials_of_json_files) {
    const std::string kFile = fmt::format(
        R"({{"auths":{{"https://index.docker.io/v1/":{{"auth":"{}"}},"quay.io":{{"auth":"{}"}},"quay.io/team":{{"auth":"{}"}},
            "quay.io/team/deep":{{"auth":"{}"}},"localhost:5000":{{"auth":"{}"}},"empty.io":{{}},"odd.io":{{"auth":"%%"}}}}}})",
        login("hub:h"), login("me:q:x"), login("team:t"), login("deep:d"), login("local:l"));
    auto find = [&](const std::string& registry, const std::string& repository,
                    const std::string& user = "") {
        return show(credentials_from_json(kFile, {registry, repository, user, ""}, no_helper));
    };
    EXPECT_EQ(find("docker.io", "library/ubuntu"), "hub:h");
    EXPECT_EQ(find("quay.io", "a/b"), "me:q:x");
    EXPECT_EQ(find("quay.io", "team/x"), "team:t");
    EXPECT_EQ(find("quay.io", "teamwork/x"), "me:q:x");
    EXPECT_EQ(find("quay.io", "team/deep/er"), "deep:d");
    EXPECT_EQ(find("quay.io", "a/b", "other"), "none");
    EXPECT_EQ(find("quay.io", "a/b", "me"), "me:q:x");
    EXPECT_EQ(find("localhost:5000", "a"), "local:l");
    EXPECT_EQ(find("localhost", "a"), "none");
    EXPECT_EQ(find("quay.io.evil.org", "a"), "none");
    EXPECT_EQ(find("empty.io", "a"), "none");
    EXPECT_THAT(find("odd.io", "a"), HasSubstr("not the base64"));
    EXPECT_THAT(show(credentials_from_json("{", {"a", "b", "", ""}, no_helper)), HasSubstr("not JSON"));
}

TEST(image, credentials_of_helpers) {
    std::string asked;
    auto helper = [&](const std::string& name,
                      const std::string& key) -> core::Result<std::optional<std::string>> {
        asked += name + "<" + key + " ";
        if (name == "none") return std::nullopt;
        return std::optional(std::string(R"({"ServerURL":"x","Username":"u","Secret":"s"})"));
    };
    auto find = [&](const std::string& file, const std::string& registry) {
        return show(credentials_from_json(file, {registry, "a/b", "", ""}, helper));
    };
    EXPECT_EQ(find(R"({"credHelpers":{"quay.io":"pass"}})", "quay.io"), "u:s");
    EXPECT_EQ(find(R"({"credHelpers":{"quay.io":"pass"}})", "nvcr.io"), "none");
    EXPECT_EQ(find(R"({"credsStore":"store"})", "docker.io"), "u:s");
    EXPECT_EQ(find(R"({"credHelpers":{"quay.io":"none"},"credsStore":"none"})", "quay.io"), "none");
    EXPECT_EQ(asked, "pass<quay.io store<https://index.docker.io/v1/ none<quay.io none<quay.io ");
    auto bad = run_credential_helper("x; touch canary", "k");
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().message(), HasSubstr("not a name of a credential helper"));
}

TEST(image, credentials_of_enroot) {
    const std::string kFile =
        "# comment machine no.io login x password y\n"
        "machine nvcr.io login $oauthtoken password abc\n"
        "machine authn.nvidia.com login $oauthtoken\n  password def\n"
        "machine auth.docker.io login hub password h\n"
        "machine run.io login u password $(id)\n"
        "machine half.io login u\n";
    auto find = [&](const std::string& registry, const std::string& user = "",
                    const std::string& token_host = "") {
        return show(credentials_from_netrc(kFile, {registry, "a", user, token_host}));
    };
    EXPECT_EQ(find("nvcr.io"), "$oauthtoken:abc");
    EXPECT_EQ(find("other.io", "", "authn.nvidia.com"), "$oauthtoken:def");
    EXPECT_EQ(find("docker.io"), "hub:h");
    EXPECT_EQ(find("docker.io", "else"), "none");
    EXPECT_EQ(find("no.io"), "none");
    EXPECT_EQ(find("half.io"), "none");
    EXPECT_THAT(find("run.io"), HasSubstr("would have to be run by a shell"));
}

TEST(image, credentials_of_token_hosts) {
    struct Case {
        std::string registry, token_host;
        bool belongs;
    };
    const Case kCases[] = {
        {"nvcr.io", "authn.nvidia.com", true},
        {"docker.io", "auth.docker.io", true},
        {"git.example.org:5050", "git.example.org", true},
        {"registry.example.org", "example.org", true},
        {"example.org", "Auth.example.org:8443", true},
        {"evil.example", "authn.nvidia.com", false},
        {"evil.example", "auth.docker.io", false},
        {"nvcr.io", "auth.docker.io", false},
        {"evil.org", "token.org", false},
        {"a.example.org", "b.example.org", false},
        {"evilexample.org", "example.org", false},
        {"evil.org", "org", false},
        {"10.0.0.1", "0.0.1", false},
    };
    for (const Case& row : kCases)
        EXPECT_EQ(is_token_host_of(row.registry, row.token_host), row.belongs)
            << row.registry << " " << row.token_host;
}

TEST(image, credentials_of_the_first_file_that_has_them) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const auto& path = directory->path();
    std::filesystem::create_directories(path / "home/.docker");
    std::filesystem::create_directories(path / "home/.config/enroot");
    ASSERT_TRUE(
        core::replace_file(path / "home/.docker/config.json",
                           fmt::format(R"({{"auths":{{"a.io":{{"auth":"{}"}}}}}})", login("docker:d"))));
    ASSERT_TRUE(core::replace_file(path / "home/.config/enroot/.credentials",
                                   "machine a.io login enroot password e\n"));
    auto files =
        credential_files({{"HOME", (path / "home").string()}, {"XDG_RUNTIME_DIR", (path / "run").string()}});
    ASSERT_EQ(files.size(), 4u);
    auto found = find_credentials(files, {"a.io", "x", "", ""}, no_helper);
    EXPECT_EQ(show(found), "docker:d");
    EXPECT_THAT((*found)->origin, HasSubstr(".docker/config.json"));
    EXPECT_EQ(show(find_credentials(files, {"a.io", "x", "enroot", ""}, no_helper)), "enroot:e");
    ASSERT_TRUE(core::replace_file(path / "auth.json", "broken"));
    files = credential_files({{"REGISTRY_AUTH_FILE", (path / "auth.json").string()}});
    EXPECT_THAT(show(find_credentials(files, {"a.io", "x", "", ""}, no_helper)),
                HasSubstr("auth.json: the file is not JSON"));
}

}  // namespace
}  // namespace belay::image

#include "image/registry.h"

#include "core/fetch/testing/http_server.h"
#include "image/base64.h"
#include "image/challenge.h"
#include "image/digest.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using core::fetch::testing::HttpServer;
using core::fetch::testing::ServedRequest;
using core::fetch::testing::ServedResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kManifest = R"({"schemaVersion":2})";
const std::string kBlob(100000, 'b');

// Nothing waits in these tests: the clock is moved instead.
struct Fixture {
    explicit Fixture(const HttpServer& server, std::optional<Credentials> login = {},
                     const std::string& user = "")
        : Fixture(server, [login](const CredentialQuery&) { return login; }, user) {}
    Fixture(const HttpServer& server, const CredentialLookup& look_up, const std::string& user = "")
        : Fixture((user.empty() ? "" : user + "@") + server.authority(), look_up) {}
    Fixture(const std::string& authority, const CredentialLookup& look_up)
        : reference(*parse_reference(authority + "/team/app:1")),
          registry(reference,
                   {.insecure = {reference.registry},
                    .credentials =
                        [this, look_up](const CredentialQuery& query) {
                            queries.push_back(query);
                            return look_up(query);
                        }},
                   clock),
          client({.seed = 1}, clock) {}

    core::ManualClock clock{core::time_from_nanoseconds(1'700'000'000'000'000'000)};
    Reference reference;
    std::vector<CredentialQuery> queries;
    Registry registry;
    core::fetch::HttpClient client;
};

class TextSink : public core::fetch::DownloadSink {
  public:
    uint64_t position() const override { return text.size(); }
    core::Result<> restart() override {
        text.clear();
        return {};
    }
    core::Result<> write(std::string_view bytes) override {
        text += bytes;
        return {};
    }
    std::string text;
};

ServedResponse serve_content(const ServedRequest& request) {
    if (request.target == "/v2/team/app/manifests/1")
        return {.headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"}},
                .body = kManifest};
    if (request.target == "/v2/team/app/blobs/" + digest_of(kBlob)) {
        size_t from = 0;
        if (std::string range = request.header("range"); !range.empty()) from = std::stoul(range.substr(6));
        if (from == 0) return {.body = kBlob};
        if (from >= kBlob.size()) return {.status = 416};
        return {.status = 206,
                .headers = {{"Content-Range",
                             fmt::format("bytes {}-{}/{}", from, kBlob.size() - 1, kBlob.size())}},
                .body = kBlob.substr(from)};
    }
    return {.status = 404,
            .body = R"({"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]})"};
}

ServedResponse ask_for(const std::string& challenge) {
    return {.status = 401, .headers = {{"WWW-Authenticate", challenge}}, .body = "{}"};
}

Descriptor blob_descriptor() {
    return {.media_type = "", .digest = digest_of(kBlob), .size = kBlob.size()};
}

TEST(image, registry_without_login) {
    HttpServer server(serve_content);
    Fixture f(server);
    auto manifest = f.registry.manifest(f.client, "1");
    ASSERT_TRUE(manifest) << manifest.error().render();
    EXPECT_EQ(manifest->body, kManifest);
    EXPECT_EQ(manifest->digest, digest_of(kManifest));
    EXPECT_EQ(manifest->content_type, "application/vnd.oci.image.manifest.v1+json");
    EXPECT_THAT(server.requests()[0].header("accept"),
                AllOf(HasSubstr("application/vnd.oci.image.index.v1+json"),
                      HasSubstr("application/vnd.docker.distribution.manifest.v2+json")));
    auto blob = f.registry.small_blob(f.client, blob_descriptor());
    ASSERT_TRUE(blob) << blob.error().render();
    EXPECT_EQ(*blob, kBlob);
    EXPECT_TRUE(f.queries.empty());
}

TEST(image, registry_says_what_is_missing) {
    HttpServer server(serve_content);
    Fixture f(server);
    auto manifest = f.registry.manifest(f.client, "2");
    ASSERT_FALSE(manifest);
    EXPECT_EQ(manifest.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(manifest.error().message(), AllOf(HasSubstr(server.authority() + "/team/app:1"),
                                                  HasSubstr("\"2\""), HasSubstr("manifest unknown")));
    EXPECT_THAT(manifest.error().hint_text(), HasSubstr("check repository and tag"));
}

TEST(image, registry_with_a_password) {
    HttpServer server([](const ServedRequest& request) {
        if (request.header("authorization") != "Basic " + base64_encode("ann:right"))
            return ask_for("Basic realm=\"x\"");
        return serve_content(request);
    });
    Fixture right(server, Credentials{"ann", "right", "auth.json"});
    EXPECT_TRUE(right.registry.manifest(right.client, "1"));
    EXPECT_TRUE(right.registry.small_blob(right.client, blob_descriptor()));
    ASSERT_EQ(right.queries.size(), 1u);
    EXPECT_EQ(right.queries[0].registry, server.authority());
    EXPECT_EQ(right.queries[0].repository, "team/app");
    EXPECT_EQ(server.requests().size(), 3u);  // asked for a login once, not for each request

    Fixture wrong(server, Credentials{"ann", "wrong", "/home/ann/auth.json"});
    auto refused = wrong.registry.manifest(wrong.client, "1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message(),
                AllOf(HasSubstr("team/app:1"), HasSubstr("refuses"), HasSubstr("\"ann\"")));
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("/home/ann/auth.json"));
    EXPECT_THAT(refused.error().render(), ::testing::Not(HasSubstr("wrong")));

    Fixture nobody(server);
    refused = nobody.registry.manifest(nobody.client, "1");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("without a login"));
    EXPECT_THAT(refused.error().hint_text(), HasSubstr("podman login"));

    Fixture stranger(server, std::nullopt, "bob");
    refused = stranger.registry.manifest(stranger.client, "1");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("no login of \"bob\""));
}

// A registry whose tokens are "t1", "t2" ... and are good for `uses` requests.
struct TokenServer {
    explicit TokenServer(int uses, int expires_in = 300)
        : server([this, uses, expires_in](const ServedRequest& request) {
              if (request.target.starts_with("/token?")) {
                  used = 0;
                  return ServedResponse{.body = fmt::format(R"({{"access_token":"t{}","expires_in":{}}})",
                                                            ++issued, expires_in)};
              }
              if (request.header("authorization") != fmt::format("Bearer t{}", issued.load()) ||
                  ++used > uses)
                  return ask_for(
                      fmt::format("Bearer realm=\"http://{}/token\",service=\"reg istry\",scope=\"x\"",
                                  request.header("host")));
              ServedResponse response = serve_content(request);
              if (request.target.contains("/blobs/")) response.close_after = 30000;
              return response;
          }) {}
    std::atomic<int> issued = 0;
    std::atomic<int> used = 0;
    HttpServer server;
};

TEST(image, registry_with_a_token) {
    TokenServer tokens(100);
    Fixture f(tokens.server, Credentials{"ann", "pw", "f"});
    ASSERT_TRUE(f.registry.manifest(f.client, "1"));
    auto requests = tokens.server.requests();
    ASSERT_EQ(requests.size(), 3u);
    EXPECT_EQ(requests[1].target, "/token?scope=repository%3Ateam%2Fapp%3Apull&service=reg%20istry");
    EXPECT_EQ(requests[1].header("authorization"), "Basic " + base64_encode("ann:pw"));
    ASSERT_TRUE(f.registry.manifest(f.client, "1"));
    EXPECT_EQ(tokens.issued, 1);
    f.clock.advance(std::chrono::seconds(295));  // renewed before it runs out
    ASSERT_TRUE(f.registry.manifest(f.client, "1"));
    EXPECT_EQ(tokens.issued, 2);
}

TEST(image, registry_renews_a_token_within_a_blob) {
    TokenServer tokens(1, 1);  // each is good for one request, of which 30000 bytes come
    Fixture f(tokens.server);
    TextSink sink;
    auto done = f.registry.layer(f.client, blob_descriptor(), sink);
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_EQ(sink.text, kBlob);
    EXPECT_EQ(tokens.issued, 4);
}

TEST(image, registry_sends_again_what_was_too_long) {
    HttpServer server(serve_content);
    Fixture f(server);
    TextSink sink;
    sink.text = std::string(2 * kBlob.size(), 'x');
    auto done = f.registry.layer(f.client, blob_descriptor(), sink);
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_EQ(sink.text, kBlob);
}

TEST(image, registry_gives_up_where_no_token_helps) {
    TokenServer tokens(0);
    Fixture f(tokens.server, Credentials{"ann", "pw", "f"});
    auto manifest = f.registry.manifest(f.client, "1");
    ASSERT_FALSE(manifest);
    EXPECT_THAT(manifest.error().message(), HasSubstr("refuses"));
    EXPECT_LE(tokens.issued, 4);
}

TEST(image, registry_sends_no_password_where_it_could_be_read) {
    for (std::string realm :
         {"http://example.org/token", "ftp://127.0.0.1/token", "file:///etc/passwd", "", "x"}) {
        HttpServer server([&](const ServedRequest&) { return ask_for("Bearer realm=\"" + realm + "\""); });
        Fixture f(server, Credentials{"ann", "pw", "f"});
        auto manifest = f.registry.manifest(f.client, "1");
        ASSERT_FALSE(manifest);
        EXPECT_THAT(manifest.error().message(), HasSubstr("does not use https")) << realm;
        EXPECT_TRUE(f.queries.empty());
    }
}

// 0.0.0.0 leads to this machine, but is not known to.
TEST(image, registry_sends_no_password_over_http) {
    const std::string kChallenges[] = {"Basic realm=\"x\"", "Bearer realm=\"http://HOST/token\"",
                                       "Bearer realm=\"https://127.0.0.1:1/token\""};
    for (std::string challenge : kChallenges) {
        HttpServer server([&](const ServedRequest& request) {
            if (request.target.starts_with("/token?")) return ServedResponse{.body = R"({"token":"t"})"};
            if (request.header("authorization") == "Bearer t") return serve_content(request);
            std::string asked = challenge;
            if (size_t at = asked.find("HOST"); at != std::string::npos)
                asked.replace(at, 4, request.header("host"));
            return ask_for(asked);
        });
        const std::string name = fmt::format("0.0.0.0:{}", server.port());
        Fixture f(name, [](const CredentialQuery&) { return std::optional(Credentials{"ann", "pw", "/f"}); });
        auto manifest = f.registry.manifest(f.client, "1");
        ASSERT_FALSE(manifest) << challenge;
        EXPECT_EQ(manifest.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_THAT(manifest.error().message(),
                    AllOf(HasSubstr("login of \"ann\" is not sent to " + name), HasSubstr("http")));
        EXPECT_THAT(manifest.error().hint_text(), AllOf(HasSubstr("https"), HasSubstr("/f")));
        for (const ServedRequest& request : server.requests()) EXPECT_EQ(request.header("authorization"), "");
        EXPECT_EQ(server.requests().size(), 1u);
        if (!challenge.contains("HOST")) continue;
        Fixture anonymous(name, [](const CredentialQuery&) { return std::optional<Credentials>(); });
        manifest = anonymous.registry.manifest(anonymous.client, "1");
        EXPECT_TRUE(manifest) << manifest.error().render();
    }
}

// Has no login for the registry, but one for a host that gives tokens.
CredentialLookup login_of_token_host(const std::string& host) {
    return [host](const CredentialQuery& query) {
        return query.token_host == host ? std::optional(Credentials{"ann", "secret", "f"}) : std::nullopt;
    };
}

TEST(image, registry_gets_no_password_of_a_token_host) {
    // The host belongs to the registry or not; either way the registry asks for a password after the token.
    for (const std::string name : {"127.0.0.1", "localhost"}) {
        HttpServer tokens([](const ServedRequest&) { return ServedResponse{.body = R"({"token":"t"})"}; });
        const std::string host = fmt::format("{}:{}", name, tokens.port());
        HttpServer server([&](const ServedRequest& request) {
            return ask_for(request.header("authorization").empty()
                               ? fmt::format("Bearer realm=\"http://{}/token\"", host)
                               : "Basic realm=\"x\"");
        });
        Fixture f(server, login_of_token_host(host));
        auto manifest = f.registry.manifest(f.client, "1");
        ASSERT_FALSE(manifest);
        EXPECT_THAT(manifest.error().message(), HasSubstr("without a login"));
        for (const ServedRequest& request : server.requests())
            EXPECT_FALSE(request.header("authorization").starts_with("Basic ")) << name;
        const bool belongs = name == "127.0.0.1";
        ASSERT_EQ(tokens.requests().size(), 1u);
        EXPECT_EQ(tokens.requests()[0].header("authorization"),
                  belongs ? "Basic " + base64_encode("ann:secret") : "");
    }
}

TEST(image, registry_cannot_choose_what_a_token_is_for) {
    for (std::string more :
         {"?scope=repository:else/secret:pull", "?a=b&scope=x", "?a;scope=x", "?%73cope=x", "?scope", "#"}) {
        HttpServer server([&](const ServedRequest& request) {
            return ask_for(fmt::format("Bearer realm=\"http://{}/token{}\"", request.header("host"), more));
        });
        Fixture f(server, Credentials{"ann", "pw", "f"});
        auto manifest = f.registry.manifest(f.client, "1");
        ASSERT_FALSE(manifest);
        EXPECT_EQ(manifest.error().kind(), core::ErrorKind::kSystem);
        EXPECT_THAT(manifest.error().message(), AllOf(HasSubstr("/token" + more), HasSubstr("scope")))
            << more;
        EXPECT_TRUE(f.queries.empty());
    }
    HttpServer server([&](const ServedRequest& request) {
        if (request.target.starts_with("/token?")) return ServedResponse{.body = R"({"token":"t"})"};
        if (request.header("authorization") == "Bearer t") return serve_content(request);
        return ask_for(fmt::format("Bearer realm=\"http://{}/token?tenant=scope\"", request.header("host")));
    });
    Fixture f(server);
    EXPECT_TRUE(f.registry.manifest(f.client, "1"));
}

TEST(image, registry_starts_a_layer_again_once) {
    HttpServer server([](const ServedRequest& request) {
        if (!request.header("range").empty()) return ServedResponse{.status = 416};
        return ServedResponse{.body = kBlob, .close_after = 1000};
    });
    Fixture f(server);
    TextSink sink;
    auto done = f.registry.layer(f.client, blob_descriptor(), sink);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("answered 416"));
    EXPECT_EQ(server.requests().size(), 4u);
}

// A file on NFS has such errors, too.
TEST(image, registry_is_not_blamed_for_a_file_that_cannot_be_written) {
    struct FullSink : TextSink {
        core::Result<> write(std::string_view) override {
            return core::errno_error(ETIMEDOUT, "cannot write the layer");
        }
    };
    HttpServer server(serve_content);
    Fixture f(server);
    FullSink sink;
    auto done = f.registry.layer(f.client, blob_descriptor(), sink);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().cause(), core::Cause::kTimedOut);
    EXPECT_THAT(done.error().message(), HasSubstr("cannot write the layer"));
    EXPECT_EQ(done.error().hint_text(), "");
}

TEST(image, registry_refuses_other_bytes) {
    HttpServer server([](const ServedRequest& request) {
        ServedResponse response = serve_content(request);
        if (!response.body.empty()) response.body[0] = '!';
        return response.status == 404 ? ServedResponse{.body = "other"} : response;
    });
    Fixture f(server);
    auto manifest = f.registry.manifest(f.client, digest_of(kManifest));
    ASSERT_FALSE(manifest);
    EXPECT_THAT(manifest.error().message(), HasSubstr("another manifest"));
    auto blob = f.registry.small_blob(f.client, blob_descriptor());
    ASSERT_FALSE(blob);
    EXPECT_THAT(blob.error().message(), HasSubstr("is not what its hash says"));
}

TEST(image, registry_that_is_ill) {
    HttpServer server([](const ServedRequest&) { return ServedResponse{.status = 503, .body = "<html>"}; });
    Fixture f(server);
    auto manifest = f.registry.manifest(f.client, "1");
    ASSERT_FALSE(manifest);
    EXPECT_EQ(manifest.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(manifest.error().message(), AllOf(HasSubstr("answered 503"), HasSubstr("team/app:1")));
    EXPECT_EQ(server.requests().size(), 5u);
}

TEST(image, challenges) {
    using List = std::vector<Challenge>;
    EXPECT_EQ(
        parse_challenges("Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:a,b:pull\""),
        (List{{"bearer", {{"realm", "https://a/t"}, {"service", "s"}, {"scope", "repository:a,b:pull"}}}}));
    EXPECT_EQ(parse_challenges("Basic realm=x, Bearer Realm = \"a\\\"b\""),
              (List{{"basic", {{"realm", "x"}}}, {"bearer", {{"realm", "a\"b"}}}}));
    EXPECT_EQ(parse_challenges("Negotiate"), (List{{"negotiate", {}}}));
    for (std::string odd : {"", ",", "=", "\"", "Basic realm=\"open", "Basic realm=", "=x Basic"})
        EXPECT_LE(parse_challenges(odd).size(), 1u) << odd;
}

}  // namespace
}  // namespace belay::image

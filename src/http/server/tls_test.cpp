#include "core/fetch/curl_api.h"
#include "core/file.h"
#include "http/server/testing/certificate.h"
#include "http/server/testing/server.h"
#include "http/server/tls_context.h"

#include <curl/curl.h>
#include <filesystem>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using namespace std::chrono_literals;
using testing::get_request;
using ::testing::HasSubstr;
using testing::local_options;
using testing::make_certificate;
using testing::open_route;
using testing::RawClient;

struct CurlAnswer {
    CURLcode code = CURLE_OK;
    long status = 0;
    std::string body;
};

size_t append_to(char* data, size_t size, size_t count, void* out) {
    static_cast<std::string*>(out)->append(data, size * count);
    return size * count;
}

// By libcurl, which checks the server's certificate against that file. `body`: of a POST, empty for a GET.
CurlAnswer curl_ask(const std::string& url, const std::filesystem::path& trusted,
                    const std::string& body = "") {
    const core::fetch::CurlApi& curl = *core::fetch::curl_api().value();
    CURL* handle = curl.easy_init();
    CurlAnswer answer;
    curl.easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl.easy_setopt(handle, CURLOPT_CAINFO, trusted.c_str());
    curl.easy_setopt(handle, CURLOPT_PROXY, "");
    curl.easy_setopt(handle, CURLOPT_TIMEOUT, 60L);
    curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, append_to);
    curl.easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
    if (!body.empty()) {
        curl.easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
        curl.easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
    }
    answer.code = curl.easy_perform(handle);
    curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
    curl.easy_cleanup(handle);
    return answer;
}

class TlsServer {
  public:
    explicit TlsServer(core::Duration check_interval = 1h) {
        use(make_certificate("first"));
        Options options = local_options();
        options.tls = TlsFiles{certificate(), directory_.path() / "key.pem"};
        options.tls_check_interval = check_interval;
        std::vector<Route> routes;
        routes.push_back(open_route(Method::kGet, "/", [](Request& request) {
            return Response::text(request.tls ? "over tls" : "plain");
        }));
        routes.push_back(open_route(Method::kPost, "/echo", testing::echo, 10'000'000));
        server_.emplace(testing::start_server(std::move(routes), std::move(options)));
    }
    void use(const testing::Certificate& files) {
        ASSERT_TRUE(core::replace_file(directory_.path() / "key.pem", files.key));
        ASSERT_TRUE(core::replace_file(certificate(), files.certificate));
    }
    std::filesystem::path certificate() const { return directory_.path() / "certificate.pem"; }
    std::filesystem::path key() const { return directory_.path() / "key.pem"; }
    // A copy that stays when the files change.
    std::filesystem::path copy_certificate(const std::string& name) const {
        std::filesystem::copy_file(certificate(), directory_.path() / name);
        return directory_.path() / name;
    }
    std::string url(std::string_view path) const {
        return "https://localhost:" + std::to_string(server_->port()) + std::string(path);
    }
    Server& server() { return *server_; }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::optional<Server> server_;
};

TEST(http_server, tls_is_served_to_who_trusts_the_certificate) {
    TlsServer tls;
    EXPECT_EQ(curl_ask(tls.url("/"), tls.certificate()).body, "over tls");
    const std::string body(5'000'000, 'x');
    const CurlAnswer echo = curl_ask(tls.url("/echo"), tls.certificate(), body);
    EXPECT_EQ(echo.status, 200);
    EXPECT_EQ(echo.body, body);  // curl asks for leave to send so much
    EXPECT_EQ(curl_ask(tls.url("/echo"), tls.certificate(), std::string(20'000'000, 'x')).status, 413);
    EXPECT_EQ(curl_ask(tls.url("/nothing"), tls.certificate()).status, 404);
}

TEST(http_server, a_new_certificate_is_used_for_new_connections) {
    TlsServer tls;
    const auto first = tls.copy_certificate("first.pem");
    tls.use(make_certificate("second"));
    EXPECT_EQ(curl_ask(tls.url("/"), first).status, 200);
    ASSERT_TRUE(tls.server().reload_certificate());
    EXPECT_NE(curl_ask(tls.url("/"), first).code, CURLE_OK);
    EXPECT_EQ(curl_ask(tls.url("/"), tls.certificate()).status, 200);
}

TEST(http_server, files_that_changed_are_read_again_by_themselves) {
    TlsServer tls(5ms);
    tls.use(make_certificate("second"));
    // As soon as the server has looked.
    while (curl_ask(tls.url("/"), tls.certificate()).status != 200) std::this_thread::sleep_for(1ms);
}

TEST(http_server, a_certificate_that_cannot_be_used_leaves_the_old_one) {
    TlsServer tls;
    const auto first = tls.copy_certificate("first.pem");
    ASSERT_TRUE(core::replace_file(tls.key(), make_certificate("other").key));
    const auto mixed = tls.server().reload_certificate();
    ASSERT_FALSE(mixed);
    EXPECT_EQ(mixed.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(mixed.error().message(), HasSubstr("does not belong"));
    ASSERT_TRUE(core::replace_file(tls.certificate(), "rubbish"));
    EXPECT_FALSE(tls.server().reload_certificate());
    std::filesystem::remove(tls.certificate());
    EXPECT_FALSE(tls.server().reload_certificate());
    EXPECT_EQ(curl_ask(tls.url("/"), first).status, 200);
}

TEST(http_server, files_of_tls_that_are_wrong) {
    const auto directory = core::TemporaryDirectory::create().value();
    const testing::Certificate good = make_certificate("good");
    const auto load = [&](const std::string& certificate, const std::string& key) {
        const TlsFiles files{directory.path() / "c", directory.path() / "k"};
        EXPECT_TRUE(core::replace_file(files.certificate, certificate));
        EXPECT_TRUE(core::replace_file(files.key, key));
        return load_tls(files).has_value();
    };
    EXPECT_TRUE(load(good.certificate, good.key));
    EXPECT_TRUE(load(good.certificate + make_certificate("chain").certificate, good.key));
    EXPECT_FALSE(load("", good.key));
    EXPECT_FALSE(load(good.certificate, ""));
    EXPECT_FALSE(load(good.key, good.certificate));
    EXPECT_FALSE(load(good.certificate + "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n",
                      good.key));
}

TEST(http_server, who_mixes_plain_and_tls_up_is_turned_away) {
    TlsServer tls;
    RawClient plain(tls.server().port());
    plain.send(get_request("/"));
    EXPECT_EQ(plain.read_to_end().find("HTTP"), std::string::npos);
    const Server server =
        testing::start_server(open_route(Method::kGet, "/", [](Request&) { return Response(); }));
    EXPECT_NE(curl_ask("https://localhost:" + std::to_string(server.port()) + "/", tls.certificate()).code,
              CURLE_OK);
    RawClient client(server.port());
    EXPECT_EQ(client.ask("\x16\x03\x01\x02").status, 400);
}

TEST(http_server, tls_connections_that_are_cut_do_no_harm) {
    TlsServer tls;
    for (int i = 0; i < 50; ++i) {
        RawClient client(tls.server().port());
        client.send("\x16\x03\x01\x02");
        client.reset();
    }
    EXPECT_EQ(curl_ask(tls.url("/"), tls.certificate()).status, 200);
    tls.server().stop(1min);
    EXPECT_EQ(tls.server().metrics().connections_open, 0u);
}

}  // namespace
}  // namespace belay::http

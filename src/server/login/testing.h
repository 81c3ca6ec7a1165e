// Tests of login: a provider of identities made of functions, requests as a browser and as programs send them, and handlers
// that are called without a server.
#pragma once

#include "core/hash.h"
#include "core/json.h"
#include "core/text.h"
#include "http/router.h"
#include "http/workers.h"
#include "server/access/base64url.h"
#include "server/login/authenticator.h"
#include "server/login/cookie.h"
#include "server/login/identity_provider.h"
#include "server/login/login_routes.h"
#include "server/login/munge_payload.h"
#include "server/login/token_routes.h"
#include "server/state/account_store.h"
#include "server/state/testing.h"
#include "server/state/token_store.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <openssl/evp.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::server {

inline const std::string kHost = "belay.example.org";
inline const std::string kIssuerName = "https://id.example.org";
inline const std::string kPeer = "192.0.2.7";

// A key of Ed25519 with a name.
class SigningKey {
  public:
    explicit SigningKey(std::string id)
        : id_(std::move(id)), key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free) {}

    std::string public_text() const {
        std::string bytes(32, '\0');
        size_t size = bytes.size();
        EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size);
        return base64url_encode(bytes);
    }
    std::string json() const {
        return fmt::format(R"({{"kty":"OKP","crv":"Ed25519","kid":"{}","x":"{}"}})", id_, public_text());
    }
    std::string sign(const std::string& text) const {
        std::string signature(64, '\0');
        size_t size = signature.size();
        const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                              EVP_MD_CTX_free);
        EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr, key_.get(), nullptr);
        EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       reinterpret_cast<const unsigned char*>(text.data()), text.size());
        return signature;
    }
    // With a header of the caller's, or the right one.
    std::string token(const nlohmann::json& payload, std::string header = {}) const {
        if (header.empty()) header = fmt::format(R"({{"alg":"EdDSA","kid":"{}"}})", id_);
        const std::string text = base64url_encode(header) + "." + base64url_encode(payload.dump());
        return text + "." + base64url_encode(sign(text));
    }

  private:
    std::string id_;
    std::shared_ptr<EVP_PKEY> key_;
};

// Answers as a provider does, and remembers what it was asked. Not for several threads at once but for fetch().
class FakeProvider {
  public:
    explicit FakeProvider(core::Clock& clock) : clock_(clock) {}

    Fetch fetch() {
        return [this](const FetchRequest& request) { return answer(request); };
    }
    nlohmann::json claims(const std::string& user) const {
        const int64_t now = core::to_microseconds(clock_.now()) / 1'000'000;
        return {{"iss", kIssuerName}, {"aud", "belay"},    {"sub", "0042"},
                {"iat", now},         {"exp", now + 3600}, {"preferred_username", user}};
    }
    // Somebody logs in there, where the browser was led to; where it is led back to.
    std::string log_in(const std::string& url, const std::string& user) {
        const auto query = http::parse_query(url.substr(url.find('?') + 1)).value();
        const auto one = [&](const char* name) { return std::string(query.one(name).value().value_or("")); };
        EXPECT_EQ(one("client_id"), "belay");
        EXPECT_EQ(one("code_challenge_method"), "S256");
        challenge_ = one("code_challenge");
        token_claims_ = claims(user);
        token_claims_["nonce"] = one("nonce");
        return "/auth/callback?state=" + one("state") + "&code=c0de&iss=https%3A%2F%2Fid.example.org";
    }

    std::vector<SigningKey> keys = {SigningKey("k1")};
    bool is_down = false;
    std::atomic<int> key_fetches = 0;
    std::function<void(nlohmann::json& claims)> change = {};  // of the next tokens

  private:
    core::Result<FetchAnswer> answer(const FetchRequest& request) {
        if (is_down) return core::system_error("cannot reach it").because(core::Cause::kUnreachable);
        if (request.url == kIssuerName + "/.well-known/openid-configuration")
            return FetchAnswer{
                200,
                fmt::format(
                    R"({{"issuer":"{0}","authorization_endpoint":"{0}/authorize","token_endpoint":"{0}/token","jwks_uri":"{0}/keys"}})",
                    kIssuerName)};
        if (request.url == kIssuerName + "/keys") {
            ++key_fetches;
            std::string list;
            for (const SigningKey& key : keys) list += (list.empty() ? "" : ",") + key.json();
            return FetchAnswer{200, "{\"keys\":[" + list + "]}"};
        }
        if (request.url == kIssuerName + "/token") return token_answer(request);
        return FetchAnswer{404, ""};
    }
    // A code counts once, for whom knows the verifier (RFC 7636, section 4.6).
    core::Result<FetchAnswer> token_answer(const FetchRequest& request) {
        EXPECT_EQ(request.method, "POST");
        const auto body = http::parse_query(request.body).value();
        const auto verifier = core::sha256(body.one("code_verifier").value().value_or(""));
        if (body.one("code").value() != "c0de" || base64url_encode(core::bytes_of(verifier)) != challenge_)
            return FetchAnswer{400, R"({"error":"invalid_grant"})"};
        challenge_.clear();
        if (change) change(token_claims_);
        return FetchAnswer{200, nlohmann::json{{"id_token", keys.front().token(token_claims_)}}.dump()};
    }

    core::Clock& clock_;
    std::string challenge_;
    nlohmann::json token_claims_;
};

// Runs what is posted in the thread that calls run().
class InThisThread : public http::Scheduler {
  public:
    void post(std::function<void()> step) override {
        const std::lock_guard lock(mutex_);
        steps_.push_back(std::move(step));
        posted_.notify_one();
    }
    template <typename T>
    static T run(http::Task<T> task) {
        const auto scheduler = std::make_shared<InThisThread>();
        bool ended = false;
        task.start(scheduler, [&] { ended = true; });
        while (!ended) scheduler->next()();
        return task.result();
    }

  private:
    std::function<void()> next() {
        std::unique_lock lock(mutex_);
        posted_.wait(lock, [this] { return !steps_.empty(); });
        auto step = std::move(steps_.front());
        steps_.pop_front();
        return step;
    }
    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> steps_;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// As it comes over TLS, by this server's name.
inline http::Request request_of(http::Method method, const std::string& target, const Fields& fields = {}) {
    http::Request request;
    request.method = method;
    request.target = http::parse_target(target).value();
    request.headers.add("host", kHost);
    for (const auto& [name, value] : fields) request.headers.add(name, value);
    request.peer = kPeer;
    request.tls = true;
    return request;
}
inline http::Request get_of(const std::string& target, const Fields& fields = {}) {
    return request_of(http::Method::kGet, target, fields);
}
inline Fields bearing(const std::string& token) {
    return {{"authorization", "Bearer " + token}};
}
inline std::string body_of(const http::Response& response) {
    const auto* text = std::get_if<std::string>(&response.body);
    return text == nullptr ? "" : *text;
}
inline nlohmann::json json_of(const http::Response& response) {
    return core::parse_json(body_of(response));
}
inline std::string location_of(const http::Response& response) {
    return std::string(response.header("location").value_or(""));
}
// Of the fields Set-Cookie; "-" where there is none.
inline std::string cookie_set_by(const http::Response& response, std::string_view name) {
    for (std::string_view field : response.headers.all("set-cookie"))
        if (field.starts_with(std::string(name) + "="))
            return std::string(field.substr(name.size() + 1, field.find(';') - name.size() - 1));
    return "-";
}
inline Fields with_cookie(std::string_view name, const std::string& value) {
    return {{"cookie", std::string(name) + "=" + value}};
}

// What the status of a check is: 200 where somebody was recognised.
template <typename T>
int status_of(const http::Checked<T>& checked) {
    return checked ? 200 : checked.error().status;
}

// A server's login with its state, but for the server.
class OnLogin : public OnState {
  protected:
    void SetUp() override {
        OnState::SetUp();
        if (IsSkipped()) return;
        start();
    }
    void TearDown() override {
        router_.reset();
        workers_.reset();
    }
    // Anew, with what the tests have changed of the options.
    void start() {
        router_.reset();
        workers_ = std::make_unique<http::Workers>(2, 16);
        provider_ = std::make_shared<IdentityProvider>(provider_options, fake.fetch(), clock);
        AuthenticatorOptions made = options;
        made.hosts = {kHost};
        made.providers = {provider_};
        made.decode_munge = [this](const std::string& credential, const core::Deadline&) {
            return decode(credential);
        };
        made.user_name = [](uid_t uid) -> core::Result<std::string> {
            if (uid == 1000) return "ann";
            if (uid == 1001) return "bob";
            return core::system_error("user {} is unknown", uid).because(core::Cause::kNotFound);
        };
        authenticator_ = std::make_unique<Authenticator>(state(), made, clock);
        login_options.url = "https://" + kHost;
        login_options.provider = provider_;
        login_ = std::make_unique<LoginRoutes>(state(), *authenticator_, login_options, clock);
        tokens_ = std::make_unique<TokenRoutes>(state(), *authenticator_, TokenLifetimes{}, clock);
        std::vector<http::Route> routes = login_->routes();
        for (http::Route& route : tokens_->routes()) routes.push_back(std::move(route));
        auto router = http::Router::create(std::move(routes));
        ASSERT_TRUE(router) << router.error().render();
        router_ = std::make_unique<http::Router>(std::move(*router));
    }
    Authenticator& authenticator() { return *authenticator_; }
    http::Checked<Caller> check(const http::Request& request) { return authenticator_->check(request); }
    int status(const http::Request& request) { return status_of(check(request)); }
    // As the server does it: identity, then handler.
    http::Response answer(http::Request request) {
        const auto match = router_->find(request.method, request.target);
        if (!match) return std::unexpected(match.error());
        request.captures = match->captures;
        request.workers = workers_.get();
        if (match->route->needs_identity) {
            auto identity = InThisThread::run(authenticator_->for_server()(request));
            if (!identity) return std::unexpected(identity.error());
            request.identity = std::move(*identity);
        }
        return InThisThread::run(match->route->handler(request));
    }
    http::Response answer_get(const std::string& target, const Fields& fields = {}) {
        return answer(get_of(target, fields));
    }
    http::Response answer_post(const std::string& target, const Fields& fields,
                               const std::string& body = "") {
        http::Request request = request_of(http::Method::kPost, target, fields);
        request.body = body;
        return answer(std::move(request));
    }
    std::string token_for(const TokenFacts& facts) {
        return got(create_token(state(), facts, clock.now(), database::soon())).text;
    }
    // The value of the session's cookie; "-" where the login failed.
    std::string log_in(const std::string& user) {
        const http::Response begun = answer_get("/auth/login?next=/jobs");
        const std::string browser = cookie_set_by(begun, kLoginCookie);
        const std::string back = fake.log_in(location_of(begun), user);
        return cookie_set_by(answer_get(back, with_cookie(kLoginCookie, browser)), kSessionCookie);
    }

    // A credential of the user with that number, for a request that is made now.
    std::string credential(uid_t uid, const MungeRequest& request) {
        return credential_saying(uid, munge_payload(request, clock.now()));
    }
    std::string credential_saying(uid_t uid, const std::string& payload) {
        std::string number = std::to_string(made_credentials_++);
        number.insert(0, 6 - number.size(), 'A');
        const std::string text = "MUNGE:CRED" + number + "xx:";
        credentials_[text] = {.payload = payload, .uid = uid};
        return text;
    }

    core::ManualClock clock{kStateTime};
    FakeProvider fake{clock};
    AuthenticatorOptions options{.staff = {"sue"}};
    ProviderOptions provider_options{.issuer = {.name = kIssuerName, .audience = "belay"},
                                     .staff_groups = {"operators"}};
    LoginOptions login_options;
    bool munge_is_down = false;
    int decoded = 0;  // how often munge was asked

  private:
    core::Result<OpenedCredential> decode(const std::string& credential) {
        ++decoded;
        if (munge_is_down) return core::system_error("munge does not answer").because(core::Cause::kTimedOut);
        const auto found = credentials_.find(credential);
        if (found == credentials_.end())
            return core::system_error("Invalid credential").because(core::Cause::kDenied);
        return found->second;
    }

    std::map<std::string, OpenedCredential> credentials_;
    int made_credentials_ = 0;
    std::shared_ptr<IdentityProvider> provider_;
    std::unique_ptr<Authenticator> authenticator_;
    std::unique_ptr<LoginRoutes> login_;
    std::unique_ptr<TokenRoutes> tokens_;
    std::unique_ptr<http::Workers> workers_;
    std::unique_ptr<http::Router> router_;
};

}  // namespace belay::server

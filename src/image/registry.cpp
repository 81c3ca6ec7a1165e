#include "image/registry.h"

#include "core/text.h"
#include "core/utf8.h"
#include "image/base64.h"
#include "image/challenge.h"
#include "image/digest.h"
#include "image/strict_json.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

namespace belay::image {

namespace {

using core::bad_input;
using core::Result;
using core::system_error;
using core::fetch::HttpClient;
using core::fetch::HttpRequest;
using core::fetch::HttpResponse;

constexpr std::string_view kDockerHubHost = "registry-1.docker.io";
constexpr size_t kMaxTokenBytes = size_t{1} << 20;
// What a token lives where less or nothing is said (distribution specification, token authentication: never
// less than 60 seconds); a 401 before that is answered with a new one all the same.
constexpr std::chrono::seconds kShortestTokenLife{60};
constexpr std::chrono::seconds kLongestTokenLife{86400};
constexpr std::chrono::seconds kRenewEarly{10};
constexpr int kMaxRenewals = 3;  // without a byte between them

// What a registry says in the body of a refusal.
std::string refusal_text(const HttpResponse& response) {
    auto document = parse_strict_json(response.body, "", kMaxTokenBytes);
    if (!document || !document->is_object() || !document->contains("errors")) return "";
    const nlohmann::json& errors = (*document)["errors"];
    if (!errors.is_array() || errors.empty() || !errors[0].is_object()) return "";
    auto message = text_member(errors[0], "message");
    if (!message || message->empty()) return "";
    return ": " + core::printable(core::utf8_prefix(*message, 200));
}

std::string basic(const Credentials& login) {
    return "Basic " + base64_encode(login.user + ":" + login.password);
}

}  // namespace

struct Registry::State {
    Reference reference;
    RegistryOptions options;
    core::Clock& clock;
    std::string base;  // "https://host/v2/repository"
    bool insecure = false;

    std::mutex mutex;
    std::string authorization;
    std::optional<core::Duration> expires;  // monotonic; nothing: never
    // Those found, or that there is none: the registry's own with the key "", and for each token host what it
    // may be sent. They never mix: a password goes to the host that it is for.
    std::map<std::string, std::optional<Credentials>> logins;
    std::optional<Credentials> sent;  // the last one, for messages

    std::string name() const { return display_name(reference); }
    std::string current_authorization();
    Result<> authorize(HttpClient& client, const HttpResponse& refusal, const std::string& refused);
    Result<std::string> fetch_token(HttpClient& client, const Challenge& challenge);
    Result<std::optional<Credentials>> find_login(const std::string& token_host);
    std::optional<Credentials> last_sent();
    Result<HttpResponse> get(HttpClient& client, HttpRequest request, size_t limit, const std::string& what);
    std::unexpected<core::Error> unreachable(core::Error error, const std::string& what) const;
    core::Failure refusal(const HttpResponse& response, std::string_view what,
                          const std::optional<Credentials>& login) const;
};

Registry::Registry(const Reference& reference, RegistryOptions options, core::Clock& clock)
    : state_(new State{.reference = reference, .options = std::move(options), .clock = clock}) {
    State& state = *state_;
    const std::string& name = reference.registry;
    state.insecure = core::fetch::is_loopback(name) ||
                     std::ranges::find(state.options.insecure, name) != state.options.insecure.end();
    state.base =
        fmt::format("{}://{}/v2/{}", state.insecure ? "http" : "https",
                    name == kDockerHub ? kDockerHubHost : std::string_view(name), reference.repository);
}

Registry::~Registry() = default;

std::string Registry::State::current_authorization() {
    std::lock_guard lock(mutex);
    if (expires && clock.monotonic() + kRenewEarly >= *expires) authorization.clear();
    return authorization;
}

std::optional<Credentials> Registry::State::last_sent() {
    std::lock_guard lock(mutex);
    return sent;
}

Result<std::optional<Credentials>> Registry::State::find_login(const std::string& token_host) {
    if (auto known = logins.find(token_host); known != logins.end()) return known->second;
    CredentialQuery query{reference.registry, reference.repository, reference.user, ""};
    BELAY_TRY(found, options.credentials(query));
    if (!found && is_token_host_of(reference.registry, token_host)) {
        query.token_host = token_host;
        BELAY_TRY(of_token_host, options.credentials(query));
        found = std::move(of_token_host);
    }
    if (!found && !reference.user.empty())
        return bad_input("{}: no login of \"{}\" for {} is stored", name(), reference.user,
                         reference.registry)
            .hint("log in with podman login or docker login, or leave the user out");
    // Nor by https to a token host: without TLS, anybody may have named that one.
    if (found && insecure && !core::fetch::is_loopback(reference.registry))
        return bad_input("{}: the login of \"{}\" is not sent to {} over http, where others could read it",
                         name(), found->user, reference.registry)
            .hint(fmt::format("serve the registry by https and not as insecure, or remove its login from {}",
                              found->origin));
    return logins.emplace(token_host, std::move(found)).first->second;
}

Result<std::string> Registry::State::fetch_token(HttpClient& client, const Challenge& challenge) {
    std::string realm = challenge.parameter("realm");
    std::string host = core::fetch::url_authority(realm);
    bool same_insecure = insecure && (core::fetch::is_loopback(host) || host == reference.registry);
    if (core::fetch::url_scheme(realm) != "https" &&
        !(same_insecure && core::fetch::url_scheme(realm) == "http"))
        return system_error("{}: the registry names \"{}\" for a token, which does not use https", name(),
                            core::printable(realm));
    if (realm_names_scope(realm))
        return system_error(
                   "{}: the registry sends to \"{}\" for a token, which says itself what scope the token is "
                   "to "
                   "have",
                   name(), core::printable(realm))
            .hint("ask who runs the registry; the realm of its challenge must not have a scope");
    BELAY_TRY(login, find_login(host));
    sent = login;
    HttpRequest request{
        .url = fmt::format("{}{}scope={}", realm, realm.contains('?') ? "&" : "?",
                           core::fetch::url_encode(fmt::format("repository:{}:pull", reference.repository)))};
    if (std::string service = challenge.parameter("service"); !service.empty())
        request.url += "&service=" + core::fetch::url_encode(service);
    if (login) request.authorization = basic(*login);
    BELAY_TRY(response, core::with_context(client.get(request, kMaxTokenBytes), name()));
    if (!response.success()) return refusal(response, "a token", sent);
    BELAY_TRY(answer,
              core::with_context(parse_strict_json(response.body, "the token", kMaxTokenBytes), name()));
    if (!answer.is_object()) return system_error("{}: the token is not a JSON object", name());
    BELAY_TRY(token, core::with_context(text_member(answer, "token"), name()));
    BELAY_TRY(access_token, core::with_context(text_member(answer, "access_token"), name()));
    if (token.empty()) token = access_token;
    if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
        return system_error("{}: {} gave no token", name(), host);
    auto life = answer.find("expires_in");
    std::chrono::seconds seconds = kShortestTokenLife;
    if (life != answer.end() && life->is_number_unsigned())
        seconds = std::chrono::seconds(std::clamp<uint64_t>(life->get<uint64_t>(), kShortestTokenLife.count(),
                                                            kLongestTokenLife.count()));
    expires = clock.monotonic() + seconds;
    return "Bearer " + token;
}

// After a 401: what to send next time. `refused` is what was sent.
Result<> Registry::State::authorize(HttpClient& client, const HttpResponse& refusal_response,
                                    const std::string& refused) {
    std::lock_guard lock(mutex);
    if (!authorization.empty() && authorization != refused) return {};  // another thread has been here
    authorization.clear();
    auto headers = refusal_response.headers.find("www-authenticate");
    if (headers == refusal_response.headers.end()) return refusal(refusal_response, "access", sent);
    std::vector<Challenge> challenges;
    for (const std::string& header : headers->second)
        for (Challenge& challenge : parse_challenges(header)) challenges.push_back(std::move(challenge));
    for (const Challenge& challenge : challenges) {
        if (challenge.scheme != "bearer") continue;
        BELAY_TRY(token, fetch_token(client, challenge));
        authorization = std::move(token);
        return {};
    }
    for (const Challenge& challenge : challenges) {
        if (challenge.scheme != "basic") continue;
        BELAY_TRY(login, find_login(""));
        sent = login;
        if (!login || basic(*login) == refused) return refusal(refusal_response, "access", sent);
        authorization = basic(*login);
        expires.reset();
        return {};
    }
    return system_error("{}: the registry asks for a login of an unknown kind", name());
}

core::Failure Registry::State::refusal(const HttpResponse& response, std::string_view what,
                                       const std::optional<Credentials>& login) const {
    std::string text = refusal_text(response);
    if (response.status == 401 || response.status == 403) {
        if (login)
            return bad_input("{}: {} refuses {} to \"{}\" (status {}){}", name(), reference.registry, what,
                             login->user, response.status, text)
                .because(core::Cause::kDenied)
                .hint(fmt::format("check the login in {}, or log in anew with podman login {}", login->origin,
                                  reference.registry));
        return bad_input("{}: {} refuses {} without a login (status {}){}", name(), reference.registry, what,
                         response.status, text)
            .because(core::Cause::kDenied)
            .hint(fmt::format("log in with podman login {0} or docker login {0}; check the name of the image",
                              reference.registry));
    }
    if (response.status == 404)
        return bad_input("{}: {} does not have {}{}", name(), reference.registry, what, text)
            .because(core::Cause::kNotFound)
            .hint("check repository and tag; a private image may look like that without a login");
    return system_error("{}: {} answered {} when asked for {}{}", name(), reference.registry, response.status,
                        what, text)
        .hint("try again later; if it stays, ask who runs the registry");
}

// What kept an answer from coming.
std::unexpected<core::Error> Registry::State::unreachable(core::Error error, const std::string& what) const {
    const bool is_network =
        error.cause() == core::Cause::kUnreachable || error.cause() == core::Cause::kTimedOut;
    error = std::move(error).context(what.empty() ? name() : name() + ": " + what);
    if (is_network)
        error =
            std::move(error).hint("check the name of the registry, and whether it can be reached from here");
    return std::unexpected(std::move(error));
}

Result<HttpResponse> Registry::State::get(HttpClient& client, HttpRequest request, size_t limit,
                                          const std::string& what) {
    for (int renewal = 0;; ++renewal) {
        request.authorization = current_authorization();
        auto response = client.get(request, limit);
        if (!response) return unreachable(std::move(response.error()), what);
        if (response->status != 401 || renewal == kMaxRenewals) return std::move(*response);
        BELAY_CHECK(authorize(client, *response, request.authorization));
    }
}

Result<FetchedManifest> Registry::manifest(HttpClient& client, const std::string& selector) {
    State& state = *state_;
    std::string accept;
    for (std::string_view type : manifest_media_types())
        accept += (accept.empty() ? "" : ", ") + std::string(type);
    const std::string what = fmt::format("\"{}\"", selector);
    BELAY_TRY(
        response,
        state.get(client, {.url = state.base + "/manifests/" + selector, .headers = {{"Accept", accept}}},
                  kMaxManifestBytes, ""));
    if (response.status != 200) return state.refusal(response, what, state.last_sent());
    FetchedManifest out{.body = std::move(response.body),
                        .content_type = std::string(response.header("content-type")),
                        .digest = ""};
    out.digest = digest_of(out.body);
    if (is_digest(selector) && out.digest != selector)
        return system_error("{}: the registry sent another manifest than {}", state.name(), selector)
            .hint(
                "something between here and the registry changes what it sends; try again, then ask who runs "
                "it");
    return out;
}

Result<std::string> Registry::small_blob(HttpClient& client, const Descriptor& blob) {
    State& state = *state_;
    const std::string what = "blob " + short_digest(blob.digest);
    BELAY_TRY(response,
              state.get(client, {.url = state.base + "/blobs/" + blob.digest}, kMaxConfigBytes, what));
    if (response.status != 200) return state.refusal(response, what, state.last_sent());
    if (response.body.size() != blob.size || digest_of(response.body) != blob.digest)
        return system_error("{}: blob {} is not what its hash says", state.name(), short_digest(blob.digest))
            .hint(
                "something between here and the registry changes what it sends; try again, then ask who runs "
                "it");
    return std::move(response.body);
}

namespace {

// Passes all on, and knows whether a download ended because of the sink.
class WatchedSink : public core::fetch::DownloadSink {
  public:
    explicit WatchedSink(core::fetch::DownloadSink& sink) : sink_(sink) {}
    uint64_t position() const override { return sink_.position(); }
    Result<> restart() override { return watched(sink_.restart()); }
    Result<> write(std::string_view bytes) override { return watched(sink_.write(bytes)); }
    bool has_failed() const { return has_failed_; }

  private:
    Result<> watched(Result<> done) {
        has_failed_ |= !done;
        return done;
    }
    core::fetch::DownloadSink& sink_;
    bool has_failed_ = false;
};

}  // namespace

Result<> Registry::layer(HttpClient& client, const Descriptor& blob, core::fetch::DownloadSink& destination) {
    State& state = *state_;
    WatchedSink sink(destination);
    const std::string what = "layer " + short_digest(blob.digest);
    uint64_t before = sink.position();
    bool restarted = false;
    for (int renewal = 0;; ++renewal) {
        HttpRequest request{.url = state.base + "/blobs/" + blob.digest,
                            .authorization = state.current_authorization()};
        auto response = client.download(request, sink);
        if (!response && sink.has_failed())  // a file that cannot be written is nothing of the network
            return std::unexpected(std::move(response.error()).context(state.name() + ": " + what));
        if (!response) return state.unreachable(std::move(response.error()), what);
        if (response->status == 200 || response->status == 206) return {};
        if (response->status == 416 && sink.position() > 0 &&
            !restarted) {  // it is shorter than what there is
            restarted = true;
            BELAY_CHECK(sink.restart());
            continue;
        }
        if (sink.position() != before) renewal = 0;
        before = sink.position();
        if (response->status != 401 || renewal == kMaxRenewals)
            return state.refusal(*response, what, state.last_sent());
        BELAY_CHECK(state.authorize(client, *response, request.authorization));
    }
}

}  // namespace belay::image

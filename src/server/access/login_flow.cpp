#include "server/access/login_flow.h"

#include "core/hash.h"
#include "core/json.h"
#include "core/text.h"
#include "core/utf8.h"
#include "server/access/base64url.h"
#include "server/access/token.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr auto kPatience = std::chrono::minutes(10);

// The unreserved letters of RFC 3986 stay.
std::string percent_encoded(std::string_view text) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string encoded;
    for (char c : text)
        if (kPlain.find(c) != std::string_view::npos)
            encoded += c;
        else
            encoded += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    return encoded;
}

std::string form_of(const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
    std::string form;
    for (const auto& [name, value] : fields)
        form += fmt::format("{}{}={}", form.empty() ? "" : "&", name, percent_encoded(value));
    return form;
}

bool is_usable_address(std::string_view url) {
    constexpr size_t kLongest = 2048;
    if (url.size() > kLongest) return false;
    for (char c : url)
        if (c <= ' ' || c == '"' || c == '<' || c == '>' || c == '#') return false;
    if (url.starts_with("https://")) return url.size() > std::string_view("https://").size();
    for (std::string_view here : {"http://127.0.0.1:", "http://[::1]:", "http://localhost:"})
        if (url.starts_with(here)) return true;
    return false;
}

core::Failure not_accepted(std::string_view why) {
    return core::negative("the login was not accepted: {}", why).because(core::Cause::kDenied);
}

std::string value_of(const std::map<std::string, std::string>& query, const char* name) {
    const auto found = query.find(name);
    return found == query.end() ? "" : found->second;
}

}  // namespace

Result<Provider> parse_provider(std::string_view json, std::string_view issuer) {
    const nlohmann::json document = core::parse_json(json);
    Provider provider;
    try {
        provider = {.issuer = document.at("issuer").get<std::string>(),
                    .authorization_endpoint = document.at("authorization_endpoint").get<std::string>(),
                    .token_endpoint = document.at("token_endpoint").get<std::string>(),
                    .keys_uri = document.at("jwks_uri").get<std::string>()};
    } catch (const nlohmann::json::exception&) {
        return bad_input(
            "{}: its openid-configuration lacks issuer, authorization_endpoint, token_endpoint or jwks_uri",
            core::printable(issuer));
    }
    if (provider.issuer != issuer)
        return bad_input("{}: its openid-configuration is of the issuer \"{}\"", core::printable(issuer),
                         core::printable(provider.issuer))
            .hint("write the issuer as the provider does, with or without a slash at its end");
    for (const std::string* url :
         {&provider.issuer, &provider.authorization_endpoint, &provider.token_endpoint, &provider.keys_uri})
        if (!is_usable_address(*url))
            return bad_input("{}: \"{}\" is not an https address", core::printable(issuer),
                             core::printable(*url));
    return provider;
}

Result<LoginAttempt> begin_login(core::Time now) {
    BELAY_TRY(state, make_token());
    BELAY_TRY(nonce, make_token());
    BELAY_TRY(verifier, make_token());
    return LoginAttempt{.state = state.secret,
                        .nonce = nonce.secret,
                        .verifier = verifier.secret,
                        .expires = now + kPatience};
}

std::string authorization_url(const Provider& provider, const Client& client, const LoginAttempt& attempt) {
    const core::Sha256Digest challenge = core::sha256(attempt.verifier);
    const std::string challenge_text = base64url_encode(core::bytes_of(challenge));
    const bool has_query = provider.authorization_endpoint.find('?') != std::string::npos;
    return fmt::format("{}{}{}", provider.authorization_endpoint, has_query ? "&" : "?",
                       form_of({{"response_type", "code"},
                                {"client_id", client.id},
                                {"redirect_uri", client.redirect_uri},
                                {"scope", client.scope},
                                {"state", attempt.state},
                                {"nonce", attempt.nonce},
                                {"code_challenge", challenge_text},
                                {"code_challenge_method", "S256"}}));
}

Result<std::string> take_code(const std::map<std::string, std::string>& query, const LoginAttempt& attempt,
                              const Provider& provider, core::Time now) {
    constexpr size_t kLongestCode = 4096;
    if (now >= attempt.expires) return not_accepted("it took longer than ten minutes");
    if (attempt.state.empty() || !core::same_bytes(value_of(query, "state"), attempt.state))
        return not_accepted("it was not begun here");
    if (query.contains("iss") && query.at("iss") != provider.issuer)
        return not_accepted("another provider answered");
    if (query.contains("error"))
        return not_accepted(core::printable(value_of(query, "error").substr(0, 100)));
    std::string code = value_of(query, "code");
    if (code.empty() || code.size() > kLongestCode) return not_accepted("the provider sent no code");
    return code;
}

std::string token_request(const Client& client, const LoginAttempt& attempt, std::string_view code) {
    return form_of({{"grant_type", "authorization_code"},
                    {"code", code},
                    {"redirect_uri", client.redirect_uri},
                    {"client_id", client.id},
                    {"code_verifier", attempt.verifier}});
}

Result<std::string> id_token_in(std::string_view json) {
    const nlohmann::json answer = core::parse_json(json);
    if (!answer.is_object() || !answer.contains("id_token") || !answer.at("id_token").is_string())
        return core::system_error("the provider of identities sent no id_token");
    return answer.at("id_token").get<std::string>();
}

}  // namespace belay::server

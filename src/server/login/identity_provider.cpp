#include "server/login/identity_provider.h"

#include "core/fetch/http.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "server/access/base64url.h"
#include "server/state/names.h"

#include <algorithm>
#include <utility>

namespace belay::server {

using core::Result;

namespace {

core::Failure not_taken(std::string_view why) {
    return core::negative("{}", why).because(core::Cause::kDenied);
}

// OpenID Connect Discovery 1.0, section 4.1.
std::string configuration_url(std::string_view issuer) {
    if (issuer.ends_with('/')) issuer.remove_suffix(1);
    return std::string(issuer) + "/.well-known/openid-configuration";
}

bool is_in_staff_group(const nlohmann::json& claims, const ProviderOptions& options) {
    const auto groups = claims.find(options.groups_claim);
    if (groups == claims.end() || !groups->is_array()) return false;
    return std::ranges::any_of(*groups, [&](const nlohmann::json& group) {
        return group.is_string() && options.staff_groups.contains(group.get<std::string>());
    });
}

}  // namespace

std::optional<std::string> issuer_named_in(std::string_view token) {
    if (token.size() > kMaxTokenBytes) return std::nullopt;
    const auto parts = core::split(token, '.');
    if (parts.size() != 3) return std::nullopt;
    const auto payload = base64url_decode(parts[1]);
    if (!payload) return std::nullopt;
    const nlohmann::json claims = core::parse_json(*payload);
    if (!claims.is_object() || !claims.contains("iss") || !claims.at("iss").is_string()) return std::nullopt;
    return claims.at("iss").get<std::string>();
}

Result<std::string> IdentityProvider::fetch_document(const std::string& url) const {
    BELAY_TRY(answer, fetch_({.url = url, .headers = {{"Accept", "application/json"}}}));
    if (answer.status != 200) return core::system_error("{} answers with status {}", url, answer.status);
    return std::move(answer.body);
}

Result<IdentityProvider::Known> IdentityProvider::fetch_all() const {
    BELAY_TRY(document, fetch_document(configuration_url(options_.issuer.name)));
    BELAY_TRY(addresses, parse_provider(document, options_.issuer.name));
    BELAY_TRY(key_document, fetch_document(addresses.keys_uri));
    BELAY_TRY(keys, parse_key_set(key_document));
    return Known{.addresses = std::move(addresses),
                 .keys = std::make_shared<const std::vector<PublicKey>>(std::move(keys)),
                 .fetched = clock_.monotonic()};
}

// Under the lock.
bool IdentityProvider::is_wanting(const std::optional<std::string>& key_id) const {
    if (!known_ || clock_.monotonic() - known_->fetched >= options_.refresh_after) return true;
    return key_id && !key_id->empty() &&
           std::ranges::find(*known_->keys, *key_id, &PublicKey::id) == known_->keys->end();
}

// One at a time. Those who have keys, though perhaps not the right ones, do not wait for another's fetch: a provider that
// hangs would hold all threads.
void IdentityProvider::refresh(const std::optional<std::string>& key_id) {
    std::unique_lock fetching(fetching_, std::try_to_lock);
    if (!fetching.owns_lock()) {
        {
            const std::lock_guard lock(mutex_);
            if (known_) return;
        }
        fetching.lock();
    }
    {
        const std::lock_guard lock(mutex_);
        const core::Duration now = clock_.monotonic();
        if (!is_wanting(key_id) || (last_try_ && now - *last_try_ < options_.least_interval)) return;
        last_try_ = now;
    }
    auto fetched = fetch_all();
    const std::lock_guard lock(mutex_);
    if (fetched) {
        known_ = std::move(*fetched);
        failure_.reset();
        return;
    }
    core::log_warning("the keys of {} cannot be fetched: {}", options_.issuer.name,
                      fetched.error().headline());
    failure_ = std::move(fetched.error());
}

Result<IdentityProvider::Known> IdentityProvider::known(const std::optional<std::string>& key_id) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_wanting(key_id)) return *known_;
    }
    refresh(key_id);
    const std::lock_guard lock(mutex_);
    if (known_ && clock_.monotonic() - known_->fetched < options_.longest_age) return *known_;
    if (failure_) return std::unexpected(*failure_);
    return core::system_error("the keys of {} are not there yet", options_.issuer.name)
        .because(core::Cause::kUnreachable);
}

Result<Provider> IdentityProvider::addresses() {
    BELAY_TRY(all, known(std::nullopt));
    return std::move(all.addresses);
}

Result<Claims> IdentityProvider::verify(std::string_view token) {
    const auto key_id = key_id_of(token);
    if (!key_id) return not_taken("it is not a token");
    BELAY_TRY(all, known(key_id));
    return verify_token(token, options_.issuer, *all.keys, clock_.now());
}

Result<Claims> IdentityProvider::exchange(const Client& client, const LoginAttempt& attempt,
                                          std::string_view code) {
    BELAY_TRY(to, addresses());
    std::string body = token_request(client, attempt, code);
    if (!options_.client_secret.empty())
        body += "&client_secret=" + core::fetch::url_encode(options_.client_secret);
    BELAY_TRY(answer, fetch_({.method = "POST",
                              .url = to.token_endpoint,
                              .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                          {"Accept", "application/json"}},
                              .body = std::move(body)}));
    if (answer.status >= 500)
        return core::system_error("{} answers with status {}", to.token_endpoint, answer.status);
    if (answer.status != 200) return not_taken("the provider does not take the code");
    BELAY_TRY(token, id_token_in(answer.body));
    BELAY_TRY(claims, verify(token));
    if (claims.nonce.empty() || !core::same_bytes(claims.nonce, attempt.nonce))
        return not_taken("its token was made for another login");
    // OpenID Connect Core 1.0, section 3.1.3.7: for whom it was made, where it is for several.
    if (claims.all.contains("azp") && claims.all.at("azp") != options_.issuer.audience)
        return not_taken("its token was made for another client");
    return claims;
}

Result<Person> IdentityProvider::person_in(const Claims& claims) const {
    const auto name = claims.all.find(options_.user_claim);
    if (name == claims.all.end() || !name->is_string())
        return not_taken("its claim for the name of the user is missing");
    Person person{.user = name->get<std::string>(), .is_staff = is_in_staff_group(claims.all, options_)};
    if (!is_plain_name(person.user)) return not_taken("it names a user as none can be called");
    return person;
}

}  // namespace belay::server

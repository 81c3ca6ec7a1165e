// A provider of identities (OpenID Connect): its addresses and keys, fetched when they are needed, and what its tokens say
// about a person.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/access/jwk.h"
#include "server/access/jwt.h"
#include "server/access/login_flow.h"
#include "server/login/fetch.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::server {

struct ProviderOptions {
    Issuer issuer;                   // its audience is our client id
    std::string client_secret = {};  // where the provider wants one beside PKCE
    std::string user_claim = "preferred_username";
    std::string groups_claim = "groups";
    std::set<std::string> staff_groups = {};                  // whose members are staff
    core::Duration refresh_after = std::chrono::minutes(15);  // keys are fetched anew then,
    core::Duration longest_age = std::chrono::hours(1);       // and without an answer count until then
    core::Duration least_interval = std::chrono::minutes(1);  // between two tries
};

struct Person {
    std::string user;
    bool is_staff = false;  // by their groups
};

// Thread-safe. Functions that fetch block.
class IdentityProvider {
  public:
    IdentityProvider(ProviderOptions options, Fetch fetch, core::Clock& clock)
        : options_(std::move(options)), fetch_(std::move(fetch)), clock_(clock) {}

    const ProviderOptions& options() const { return options_; }
    // Fetches what is missing or old. Errors: kSystem where that cannot be had.
    core::Result<Provider> addresses();
    // A token of its. For a key that is not known, keys are fetched anew. Errors: those of verify_token(): kNegative,
    // kDenied; those of addresses().
    core::Result<Claims> verify(std::string_view token);
    // What a browser's code stands for: asks for the token and checks it, and that it was made for this attempt. Errors:
    // likewise.
    core::Result<Claims> exchange(const Client& client, const LoginAttempt& attempt, std::string_view code);
    // Errors: kNegative, kDenied where the claim is missing or no name of a user.
    core::Result<Person> person_in(const Claims& claims) const;

  private:
    struct Known {
        Provider addresses;
        std::shared_ptr<const std::vector<PublicKey>> keys;
        core::Duration fetched{};  // monotonic
    };
    core::Result<Known> known(const std::optional<std::string>& key_id);
    bool is_wanting(const std::optional<std::string>& key_id) const;
    void refresh(const std::optional<std::string>& key_id);
    core::Result<Known> fetch_all() const;
    core::Result<std::string> fetch_document(const std::string& url) const;

    const ProviderOptions options_;
    const Fetch fetch_;
    core::Clock& clock_;
    std::mutex fetching_;
    std::mutex mutex_;  // of what follows
    std::optional<Known> known_;
    std::optional<core::Duration> last_try_;  // monotonic
    std::optional<core::Error> failure_;      // of that one
};

// The issuer that a token names, unchecked: to find the provider whose keys decide. Pure.
std::optional<std::string> issuer_named_in(std::string_view token);

}  // namespace belay::server

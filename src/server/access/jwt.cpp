#include "server/access/jwt.h"

#include "core/json.h"
#include "core/text.h"
#include "server/access/base64url.h"
#include "server/access/json_keys.h"

#include <algorithm>
#include <cmath>

namespace belay::server {

using core::Result;

namespace {

template <typename... Args>
core::Failure refused(fmt::format_string<Args...> format, Args&&... args) {
    return core::negative(format, std::forward<Args>(args)...).because(core::Cause::kDenied);
}

struct Parts {
    std::string_view signed_text;  // header and payload, as they were signed
    nlohmann::json header, payload;
    std::string signature;
};

Result<nlohmann::json> object_of(std::string_view part, std::string_view what) {
    const auto bytes = base64url_decode(part);
    if (!bytes) return refused("its {} is not base64url", what);
    nlohmann::json json = core::parse_json(*bytes);
    if (!json.is_object()) return refused("its {} is not a JSON object", what);
    if (repeats_a_key(*bytes)) return refused("its {} states a key twice", what);
    return json;
}

Result<Parts> take_apart(std::string_view token) {
    if (token.size() > kMaxTokenBytes) return refused("it has more than {} bytes", kMaxTokenBytes);
    const auto parts = core::split(token, '.');
    if (parts.size() != 3) return refused("it does not have three parts");
    BELAY_TRY(header, object_of(parts[0], "header"));
    BELAY_TRY(payload, object_of(parts[1], "payload"));
    auto signature = base64url_decode(parts[2]);
    if (!signature || signature->empty()) return refused("its signature is not base64url");
    return Parts{.signed_text = token.substr(0, parts[0].size() + 1 + parts[1].size()),
                 .header = std::move(header),
                 .payload = std::move(payload),
                 .signature = std::move(*signature)};
}

// Only `alg` and `kid` are read: whatever else a header points to (jku, x5u, jwk, x5c) is the sender's word.
Result<> check_signature(const Parts& parts, const Issuer& issuer, std::span<const PublicKey> keys) {
    if (parts.header.contains("crit")) return refused("it needs what is not known here (crit)");
    const auto algorithm = algorithm_named(parts.header.at("alg").get<std::string>());
    if (!algorithm || !issuer.algorithms.contains(*algorithm))
        return refused("it is signed by an algorithm that is not allowed");
    const auto id = parts.header.contains("kid") ? std::optional(parts.header.at("kid").get<std::string>())
                                                 : std::nullopt;
    const bool is_signed = std::ranges::any_of(keys, [&](const PublicKey& key) {
        return (!id || key.id() == *id) && key.verifies(*algorithm, parts.signed_text, parts.signature);
    });
    if (!is_signed) return refused("no key of its issuer has signed it");
    return {};
}

// Seconds since 1970, also with a fraction.
Result<core::Time> time_in(const nlohmann::json& payload, const char* name) {
    constexpr double kLatest = 253402300800;  // the year 10000
    const auto found = payload.find(name);
    if (found == payload.end() || !found->is_number()) return refused("it does not say {}", name);
    const double seconds = found->get<double>();
    if (!(seconds >= 0) || seconds > kLatest) return refused("its {} is beyond reason", name);
    constexpr double kMicro = 1e6;
    return core::time_from_microseconds(seconds * kMicro);
}

bool is_for(const nlohmann::json& audience, const std::string& wanted) {
    if (audience.is_string()) return audience.get<std::string>() == wanted;
    return audience.is_array() && std::ranges::any_of(audience, [&](const nlohmann::json& one) {
               return one.is_string() && one.get<std::string>() == wanted;
           });
}

Result<Claims> check_claims(nlohmann::json payload, const Issuer& issuer, core::Time now) {
    if (payload.at("iss").get<std::string>() != issuer.name) return refused("it is of another issuer");
    if (issuer.audience.empty() || !is_for(payload.at("aud"), issuer.audience))
        return refused("it is for somebody else");
    BELAY_TRY(expires, time_in(payload, "exp"));
    BELAY_TRY(issued, time_in(payload, "iat"));
    if (now >= expires + issuer.skew) return refused("it has expired");
    if (issued > now + issuer.skew) return refused("it was made in the future");
    if (expires - issued > issuer.longest_life)
        return refused("it lives longer than {:g} s", core::to_seconds(issuer.longest_life));
    if (payload.contains("nbf")) {
        BELAY_TRY(not_before, time_in(payload, "nbf"));
        if (not_before > now + issuer.skew) return refused("it does not hold yet");
    }
    Claims claims{.subject = payload.at("sub").get<std::string>(),
                  .issued = issued,
                  .expires = expires,
                  .nonce = payload.value("nonce", "")};
    if (claims.subject.empty()) return refused("it names nobody");
    claims.all = std::move(payload);
    return claims;
}

}  // namespace

std::optional<std::string> key_id_of(std::string_view token) {
    const auto parts = take_apart(token);
    if (!parts) return std::nullopt;
    const auto id = parts->header.find("kid");
    return id != parts->header.end() && id->is_string() ? id->get<std::string>() : "";
}

Result<Claims> verify_token(std::string_view token, const Issuer& issuer, std::span<const PublicKey> keys,
                            core::Time now) {
    try {
        BELAY_TRY(parts, take_apart(token));
        BELAY_CHECK(check_signature(parts, issuer, keys));
        return check_claims(std::move(parts.payload), issuer, now);
    } catch (const nlohmann::json::exception&) {
        return refused("a claim is missing, or of another type");
    }
}

}  // namespace belay::server

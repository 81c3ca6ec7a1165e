#include "server/access/jwt.h"

#include "server/access/base64url.h"
#include "server/access/json_keys.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'700'000'000;
const core::Time kSigned = core::time_from_nanoseconds(kSecond * 1'000'000'000);

std::string text_of(const BIGNUM* number, size_t size) {
    std::string bytes(size, '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size));
    return base64url_encode(bytes);
}
BIGNUM* parameter(EVP_PKEY* key, const char* name) {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key, name, &number);
    return number;
}

// A provider of identities: signs with keys made here.
class SigningProvider {
  public:
    SigningProvider()
        : rsa_(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{2048})),
          curve_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")),
          edwards_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")) {}
    ~SigningProvider() {
        for (EVP_PKEY* key : {rsa_, curve_, edwards_}) EVP_PKEY_free(key);
    }
    SigningProvider(const SigningProvider&) = delete;
    SigningProvider& operator=(const SigningProvider&) = delete;

    std::string key_set() const {
        std::string point(65, '\0');
        size_t size = 0;
        EVP_PKEY_get_octet_string_param(curve_, OSSL_PKEY_PARAM_PUB_KEY,
                                        reinterpret_cast<unsigned char*>(point.data()), point.size(), &size);
        std::string x(32, '\0');
        size = x.size();
        EVP_PKEY_get_raw_public_key(edwards_, reinterpret_cast<unsigned char*>(x.data()), &size);
        return fmt::format(R"({{"keys":[{{"kty":"RSA","kid":"r","n":"{}","e":"AQAB","use":"sig"}},
            {{"kty":"EC","kid":"c","crv":"P-256","x":"{}","y":"{}"}},
            {{"kty":"OKP","kid":"e","crv":"Ed25519","x":"{}","alg":"EdDSA"}},
            {{"kty":"RSA","kid":"enc","n":"AQAB","e":"AQAB","use":"enc"}},{{"kty":"oct","k":"AAAA"}}]}})",
                           text_of(parameter(rsa_, OSSL_PKEY_PARAM_RSA_N), 256),
                           base64url_encode(point.substr(1, 32)), base64url_encode(point.substr(33)),
                           base64url_encode(x));
    }
    std::string sign(std::string_view algorithm, const std::string& text) const {
        EVP_PKEY* key = algorithm == "ES256" ? curve_ : algorithm == "EdDSA" ? edwards_ : rsa_;
        EVP_MD_CTX* context = EVP_MD_CTX_new();
        std::string signature(512, '\0');
        size_t size = signature.size();
        EVP_DigestSignInit_ex(context, nullptr, algorithm == "EdDSA" ? nullptr : "SHA256", nullptr, nullptr,
                              key, nullptr);
        EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                       reinterpret_cast<const unsigned char*>(text.data()), text.size());
        EVP_MD_CTX_free(context);
        signature.resize(size);
        if (algorithm != "ES256") return signature;
        const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
        ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
        std::string both(64, '\0');
        auto* out = reinterpret_cast<unsigned char*>(both.data());
        BN_bn2binpad(ECDSA_SIG_get0_r(parts), out, 32);
        BN_bn2binpad(ECDSA_SIG_get0_s(parts), out + 32, 32);
        ECDSA_SIG_free(parts);
        return both;
    }
    std::string token(const std::string& header, const std::string& payload,
                      std::string_view algorithm) const {
        const std::string text = base64url_encode(header) + "." + base64url_encode(payload);
        return text + "." + base64url_encode(sign(algorithm, text));
    }

  private:
    EVP_PKEY *rsa_, *curve_, *edwards_;
};

const SigningProvider& provider() {
    static const SigningProvider one;
    return one;
}
const std::vector<PublicKey>& keys() {
    static const std::vector<PublicKey> all = parse_key_set(provider().key_set()).value();
    return all;
}
const Issuer kIssuer{.name = "https://id.example.org", .audience = "belay"};

std::string payload(const std::string& more = "", int64_t issued = kSecond - 10,
                    int64_t expires = kSecond + 3600) {
    return fmt::format(R"({{"iss":"https://id.example.org","aud":"belay","sub":"ann","iat":{},"exp":{}{}}})",
                       issued, expires, more);
}
std::string good(std::string_view algorithm = "RS256", const std::string& kid = "r") {
    return provider().token(fmt::format(R"({{"alg":"{}","kid":"{}"}})", algorithm, kid), payload(),
                            algorithm);
}
std::string why(const std::string& token, const Issuer& issuer = kIssuer, core::Time now = kSigned) {
    const auto claims = verify_token(token, issuer, keys(), now);
    if (claims) return "accepted";
    EXPECT_EQ(claims.error().cause(), core::Cause::kDenied);
    return claims.error().message();
}

TEST(server_access, a_token_that_its_issuer_signed_is_accepted) {
    EXPECT_THAT(keys(), SizeIs(3)) << "a key for encryption and a secret one are left out";
    EXPECT_EQ(why(good("RS256", "r")), "accepted");
    EXPECT_EQ(why(good("ES256", "c")), "accepted");
    EXPECT_EQ(why(good("EdDSA", "e")), "accepted");
    EXPECT_EQ(why(provider().token(R"({"alg":"RS256"})", payload(), "RS256")), "accepted")
        << "without a key id";
    const auto claims = verify_token(
        provider().token(R"({"alg":"RS256","kid":"r"})", payload(R"(,"nonce":"n","groups":["a"])"), "RS256"),
        kIssuer, keys(), kSigned);
    ASSERT_TRUE(claims);
    EXPECT_EQ(claims->subject, "ann");
    EXPECT_EQ(claims->nonce, "n");
    EXPECT_EQ(claims->all.at("groups").at(0), "a");
    EXPECT_EQ(key_id_of(good("ES256", "c")), "c");
}

// Examples of RFC 7515, A.3, and RFC 8037, A.4.
TEST(server_access, signatures_of_the_standards_are_verified) {
    const auto set = parse_key_set(
        R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
        {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})");
    ASSERT_TRUE(set) << set.error().message();
    ASSERT_THAT(*set, SizeIs(2));
    const std::string curve =
        "eyJhbGciOiJFUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const std::string of_curve = *base64url_decode(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
    EXPECT_TRUE((*set)[0].verifies(Algorithm::kEs256, curve, of_curve));
    EXPECT_FALSE((*set)[0].verifies(Algorithm::kEs256, curve + "x", of_curve));
    EXPECT_FALSE((*set)[0].verifies(Algorithm::kEs384, curve, of_curve));
    const std::string edwards = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    const std::string of_edwards = *base64url_decode(
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
    EXPECT_TRUE((*set)[1].verifies(Algorithm::kEdDsa, edwards, of_edwards));
    EXPECT_FALSE((*set)[1].verifies(Algorithm::kRs256, edwards, of_edwards));
}

TEST(server_access, tricks_with_the_algorithm_are_refused) {
    const std::string body = base64url_encode(payload());
    const auto with_header = [&](const std::string& header) { return base64url_encode(header) + "." + body; };
    for (const char* name : {"none", "None", "NONE", "HS256", "RS257", "PS256", ""})
        EXPECT_THAT(why(with_header(fmt::format(R"({{"alg":"{}"}})", name)) + ".AAAA"),
                    HasSubstr("not allowed"))
            << name;
    EXPECT_THAT(why(with_header(R"({"alg":"none"})") + "."), HasSubstr("signature"));
    EXPECT_THAT(why(with_header(R"({"alg":["RS256"]})") + ".AAAA"), HasSubstr("another type"));
    // A key of one kind, named by another algorithm; an algorithm that the site did not allow.
    EXPECT_THAT(why(provider().token(R"({"alg":"ES256","kid":"r"})", payload(), "RS256")),
                HasSubstr("no key"));
    EXPECT_THAT(why(provider().token(R"({"alg":"RS256","kid":"c"})", payload(), "ES256")),
                HasSubstr("no key"));
    EXPECT_THAT(why(good("ES256", "c"),
                    {.name = kIssuer.name, .audience = "belay", .algorithms = {Algorithm::kRs256}}),
                HasSubstr("not allowed"));
    // A key that the sender brings along, or points to.
    for (const char* more : {R"("jwk":{"kty":"oct","k":"AAAA"})", R"("jku":"https://evil.example/keys")",
                             R"("x5u":"https://evil.example")"})
        EXPECT_THAT(
            why(with_header(fmt::format(R"({{"alg":"RS256","kid":"../../dev/null",{}}})", more)) + ".AAAA"),
            HasSubstr("no key"))
            << more;
    EXPECT_THAT(why(provider().token(R"({"alg":"RS256","kid":"r","crit":["exp"]})", payload(), "RS256")),
                HasSubstr("crit"));
}

TEST(server_access, claims_are_checked_to_the_letter) {
    const auto with = [](const std::string& text) {
        return why(provider().token(R"({"alg":"RS256","kid":"r"})", text, "RS256"));
    };
    const std::string iss = R"("iss":"https://id.example.org")", aud = R"("aud":"belay")",
                      sub = R"("sub":"ann")";
    const std::string times = fmt::format(R"("iat":{},"exp":{})", kSecond, kSecond + 60);
    const auto of = [](std::initializer_list<std::string> parts) {
        return fmt::format("{{{}}}", fmt::join(parts, ","));
    };
    EXPECT_EQ(with(of({iss, aud, sub, times})), "accepted");
    EXPECT_EQ(with(of({iss, R"("aud":["other","belay"])", sub, times})), "accepted");
    EXPECT_THAT(with(of({R"("iss":"https://id.example.org/")", aud, sub, times})),
                HasSubstr("another issuer"));
    EXPECT_THAT(with(of({iss, R"("aud":"belay2")", sub, times})), HasSubstr("somebody else"));
    EXPECT_THAT(with(of({iss, R"("aud":[])", sub, times})), HasSubstr("somebody else"));
    EXPECT_THAT(with(of({iss, aud, times})), HasSubstr("missing"));
    EXPECT_THAT(with(of({iss, aud, R"("sub":"")", times})), HasSubstr("nobody"));
    EXPECT_THAT(with(of({iss, aud, R"("sub":7)", times})), HasSubstr("another type"));
    EXPECT_THAT(with(of({iss, aud, sub, R"("iat":1)"})), HasSubstr("does not say exp"));
    EXPECT_THAT(with(of({iss, aud, sub, fmt::format(R"("exp":{})", kSecond + 60)})),
                HasSubstr("does not say iat"));
    EXPECT_THAT(with(of({iss, aud, sub, R"("iat":1e300,"exp":1e300)"})), HasSubstr("beyond reason"));
    EXPECT_THAT(with(of({iss, aud, sub, times, sub})), HasSubstr("twice"));
    EXPECT_THAT(with(of({iss, aud, sub, times, R"("\u0073ub":"root")"})), HasSubstr("twice"))
        << "a key that is spelt otherwise";
    EXPECT_THAT(with("[]"), HasSubstr("not a JSON object"));
    EXPECT_THAT(why(good(), {.name = kIssuer.name}), HasSubstr("somebody else"))
        << "a site that names no audience accepts nothing";
}

TEST(server_access, times_count_with_a_minute_between_clocks) {
    const auto at = [](int64_t issued, int64_t expires, const std::string& more = "") {
        return why(provider().token(R"({"alg":"RS256","kid":"r"})",
                                    payload(more, kSecond + issued, kSecond + expires), "RS256"));
    };
    EXPECT_EQ(at(-100, -59), "accepted");
    EXPECT_THAT(at(-100, -60), HasSubstr("expired"));
    EXPECT_EQ(at(60, 100), "accepted");
    EXPECT_THAT(at(61, 100), HasSubstr("future"));
    EXPECT_EQ(at(0, 24 * 3600), "accepted");
    EXPECT_THAT(at(0, 24 * 3600 + 1), HasSubstr("longer"));
    EXPECT_THAT(at(0, 100, fmt::format(R"(,"nbf":{})", kSecond + 61)), HasSubstr("yet"));
}

TEST(server_access, every_letter_of_a_token_counts) {
    const std::string token = good();
    std::mt19937 random(2);
    for (size_t at = 0; at < token.size(); ++at) {
        std::string other = token;
        other[at] = other[at] == 'A' ? 'B' : 'A';
        EXPECT_NE(why(other), "accepted") << at;
    }
    for (const std::string& other :
         {token + "=", token + ".", "." + token, token.substr(0, token.rfind('.')), std::string(),
          std::string("..."), token + " ", "Bearer " + token, std::string(kMaxTokenBytes + 1, 'A')})
        EXPECT_NE(why(other), "accepted") << other;
    for (int round = 0; round < 2000; ++round) {
        std::string other = token.substr(0, random() % token.size());
        for (unsigned i = random() % 6; i > 0 && !other.empty(); --i)
            other[random() % other.size()] = static_cast<char>(random());
        EXPECT_NE(why(other), "accepted");
    }
}

TEST(server_access, base64url_has_one_form) {
    std::mt19937 random(9);
    for (size_t size = 0; size < 70; ++size) {
        std::string bytes(size, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        EXPECT_EQ(base64url_decode(base64url_encode(bytes)), bytes);
    }
    EXPECT_EQ(base64url_encode("\xFB\xFF"), "-_8");  // RFC 4648: 62 is "-", 63 is "_"
    for (const char* text : {"A", "AB==", "AB+A", "AB/A", "AB", "A B", "AAAAA"})
        EXPECT_FALSE(base64url_decode(text)) << text;
}

TEST(server_access, keys_of_an_object_are_compared_as_what_they_mean) {
    for (const char* json : {R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", R"([{"x":{"b":1,"b":1}}])"})
        EXPECT_TRUE(repeats_a_key(json)) << json;
    for (const char* json : {R"({"a":1,"b":{"a":2}})", R"({"a":"a","b":["a","a"]})", R"([])", R"("a")",
                             R"({"a\"":1,"a":2})", R"({"x":[{"a":1},{"a":1}]})"})
        EXPECT_FALSE(repeats_a_key(json)) << json;
}

TEST(server_access, a_document_without_usable_keys_is_refused) {
    for (
        const char* json :
        {"", "{}", "[]", R"({"keys":{}})", R"({"keys":[]})",
         R"({"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]})",
         R"({"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})", R"({"keys":[{"kty":7}]})",
         R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}]})"})
        EXPECT_FALSE(parse_key_set(json)) << json;
    EXPECT_FALSE(parse_key_set(std::string(kMaxKeySetBytes + 1, ' ')));
}

}  // namespace
}  // namespace belay::server

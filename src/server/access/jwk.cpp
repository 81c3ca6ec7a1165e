#include "server/access/jwk.h"

#include "core/json.h"
#include "server/access/base64url.h"
#include "server/access/json_keys.h"

#include <algorithm>
#include <array>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

struct AlgorithmRow {
    Algorithm algorithm;
    std::string_view name;
    const char* key_type;  // of OpenSSL
    const char* group;     // of an elliptic curve
    const char* digest;    // nullptr: the algorithm's own
    size_t part_bytes;     // of each of the two numbers of a signature by an elliptic curve
};
constexpr std::array kAlgorithms = {
    AlgorithmRow{Algorithm::kRs256, "RS256", "RSA", nullptr, "SHA256", 0},
    AlgorithmRow{Algorithm::kRs384, "RS384", "RSA", nullptr, "SHA384", 0},
    AlgorithmRow{Algorithm::kRs512, "RS512", "RSA", nullptr, "SHA512", 0},
    AlgorithmRow{Algorithm::kEs256, "ES256", "EC", "prime256v1", "SHA256", 32},
    AlgorithmRow{Algorithm::kEs384, "ES384", "EC", "secp384r1", "SHA384", 48},
    AlgorithmRow{Algorithm::kEdDsa, "EdDSA", "ED25519", nullptr, nullptr, 0},
};
const AlgorithmRow& row_of(Algorithm algorithm) {
    return *std::ranges::find(kAlgorithms, algorithm, &AlgorithmRow::algorithm);
}

constexpr int kLeastRsaBits = 2048;  // NIST SP 800-131A
constexpr size_t kMaxKeys = 100;

template <auto Function>
struct Freed {
    template <typename T>
    void operator()(T* pointer) const {
        Function(pointer);
    }
};
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using ParametersBuild = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

const unsigned char* octets(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
Number number_of(std::string_view bytes) {
    return Number(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

evp_pkey_st* key_from(const char* type, const ParametersBuild& build) {
    const Parameters parameters(OSSL_PARAM_BLD_to_param(build.get()));
    const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
    EVP_PKEY* key = nullptr;
    if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) <= 0) return nullptr;
    if (EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) <= 0) return nullptr;
    return key;
}

// Of base64url in a key; nothing where that is missing. Throws the library's exceptions.
std::optional<std::string> part_of(const nlohmann::json& json, const char* name) {
    constexpr size_t kMostLetters = 4096;
    const auto text = json.at(name).get<std::string>();
    return text.size() > kMostLetters ? std::nullopt : base64url_decode(text);
}

evp_pkey_st* rsa_key(const nlohmann::json& json) {
    const auto modulus = part_of(json, "n"), exponent = part_of(json, "e");
    if (!modulus || !exponent) return nullptr;
    const Number n = number_of(*modulus), e = number_of(*exponent);
    if (!n || !e || BN_num_bits(n.get()) < kLeastRsaBits) return nullptr;
    const ParametersBuild build(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
    OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
    return key_from("RSA", build);
}

evp_pkey_st* curve_key(const nlohmann::json& json) {
    const auto curve = json.at("crv").get<std::string>();
    const AlgorithmRow& row = row_of(curve == "P-384" ? Algorithm::kEs384 : Algorithm::kEs256);
    const auto x = part_of(json, "x"), y = part_of(json, "y");
    if ((curve != "P-256" && curve != "P-384") || !x || !y || x->size() != row.part_bytes ||
        y->size() != row.part_bytes)
        return nullptr;
    const std::string point = "\x04" + *x + *y;  // uncompressed: SEC 1, section 2.3.3
    const ParametersBuild build(OSSL_PARAM_BLD_new());
    OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, row.group, 0);
    OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
    return key_from("EC", build);
}

evp_pkey_st* edwards_key(const nlohmann::json& json) {
    const auto x = part_of(json, "x");
    if (json.at("crv").get<std::string>() != "Ed25519" || !x) return nullptr;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(*x), x->size());
}

// Nothing for a key that is left out. Throws likewise.
std::optional<PublicKey> key_of(const nlohmann::json& json) {
    if (json.value("use", "sig") != "sig") return std::nullopt;
    std::optional<Algorithm> only;
    if (json.contains("alg")) {
        only = algorithm_named(json.at("alg").get<std::string>());
        if (!only) return std::nullopt;
    }
    const auto type = json.at("kty").get<std::string>();
    evp_pkey_st* key = type == "RSA"   ? rsa_key(json)
                       : type == "EC"  ? curve_key(json)
                       : type == "OKP" ? edwards_key(json)
                                       : nullptr;
    if (key == nullptr) return std::nullopt;
    return PublicKey(json.value("kid", ""), only, key);
}

// The two numbers of a token's signature as OpenSSL takes them (RFC 7518, section 3.4); empty where they are not two.
std::string as_der(std::string_view signature, size_t part_bytes) {
    if (signature.size() != 2 * part_bytes) return {};
    const Signature parts(ECDSA_SIG_new());
    Number r = number_of(signature.substr(0, part_bytes)), s = number_of(signature.substr(part_bytes));
    if (!parts || !r || !s || ECDSA_SIG_set0(parts.get(), r.get(), s.get()) != 1) return {};
    (void)r.release(), (void)s.release();  // they are the signature's now
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(parts.get(), &der);
    if (size <= 0) return {};
    std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    return bytes;
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
    return row_of(algorithm).name;
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
    const auto found = std::ranges::find(kAlgorithms, name, &AlgorithmRow::name);
    if (found == kAlgorithms.end()) return std::nullopt;
    return found->algorithm;
}

PublicKey::PublicKey(std::string id, std::optional<Algorithm> only, evp_pkey_st* key)
    : id_(std::move(id)), only_(only), key_(key, [](evp_pkey_st* owned) { EVP_PKEY_free(owned); }) {}

bool PublicKey::fits(Algorithm algorithm) const {
    if (only_ && *only_ != algorithm) return false;
    const AlgorithmRow& row = row_of(algorithm);
    if (EVP_PKEY_is_a(key_.get(), row.key_type) != 1) return false;
    if (row.group == nullptr) return true;
    std::array<char, 64> group{};
    return EVP_PKEY_get_group_name(key_.get(), group.data(), group.size(), nullptr) == 1 &&
           std::string_view(group.data()) == row.group;
}

bool PublicKey::verifies(Algorithm algorithm, std::string_view message, std::string_view signature) const {
    if (!fits(algorithm)) return false;
    const AlgorithmRow& row = row_of(algorithm);
    const std::string der = row.part_bytes > 0 ? as_der(signature, row.part_bytes) : std::string(signature);
    const DigestContext context(EVP_MD_CTX_new());
    if (der.empty() || !context) return false;
    if (EVP_DigestVerifyInit_ex(context.get(), nullptr, row.digest, nullptr, nullptr, key_.get(), nullptr) !=
        1)
        return false;
    return EVP_DigestVerify(context.get(), octets(der), der.size(), octets(message), message.size()) == 1;
}

Result<std::vector<PublicKey>> parse_key_set(std::string_view json) {
    if (json.size() > kMaxKeySetBytes)
        return bad_input("the set of keys has more than {} bytes", kMaxKeySetBytes);
    const nlohmann::json set = core::parse_json(json);
    std::vector<PublicKey> keys;
    try {
        const nlohmann::json& list = set.at("keys");
        if (!list.is_array() || list.size() > kMaxKeys || repeats_a_key(json))
            return bad_input("it is not a set of keys (RFC 7517)");
        for (const nlohmann::json& one : list)
            if (auto key = key_of(one)) keys.push_back(std::move(*key));
    } catch (const nlohmann::json::exception&) {
        return bad_input("it is not a set of keys (RFC 7517)");
    }
    if (keys.empty())
        return bad_input(
            "the set of keys holds none that can be used: RSA from {} bits, P-256, P-384 or Ed25519",
            kLeastRsaBits);
    return keys;
}

}  // namespace belay::server

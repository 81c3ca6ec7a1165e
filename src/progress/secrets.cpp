#include "progress/secrets.h"

#include <memory>
#include <string_view>

#include <re2/re2.h>

namespace belay::progress {

using re2::RE2;

namespace {

// Words whose values are secrets whatever they look like, and what stands between the two. In JSON within a
// text each quote has a backslash.
#define BELAY_SECRET_KEY                                                                                          \
    R"re(\b[a-z0-9_.-]*(?:passw(?:or)?d|passphrase|_pass|_pwd|secret|(?:api|access|account|private)[_.-]?key))re" \
    R"re((?:[_-]?key)?)re"
#define BELAY_SEPARATOR R"re(\\?["']?\s*(?:=>|:=|[:=])\s*)re"

// What stands for the value is \1 and \2 around kMaskedText. (?i) where people write both.
constexpr std::string_view kExpressions[] = {
    R"re((-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----).+?(-----END [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----|$))re",
    // PASSWORD="x y", "api_key": "x", password=b'x', password := x
    R"re((?i)()re" BELAY_SECRET_KEY BELAY_SEPARATOR R"re(b?")(?:[^"\\]|\\.)*())re",
    R"re((?i)()re" BELAY_SECRET_KEY BELAY_SEPARATOR R"re(\\")[^"\\]*())re",
    R"re((?i)()re" BELAY_SECRET_KEY BELAY_SEPARATOR R"re(b?')[^']*())re",
    R"re((?i)()re" BELAY_SECRET_KEY BELAY_SEPARATOR R"re()[^\s"'\\&=:>][^\s"'&]*())re",
    // --client-secret x
    R"re((?i)(--[a-z0-9-]*(?:password|passphrase|secret|token|api-?key|access-?key|private-?key)\s+)[^\s-]\S*())re",
    R"re((?i)(\b[a-z0-9_.-]*token\\?["']?\s*[:=]\s*")(?:[^"\\]|\\.)*[a-z_-](?:[^"\\]|\\.)*())re",
    // hf_token=x, "access_token": "x"; a number is a count of tokens
    R"re((?i)(\b[a-z0-9_.-]*token\\?["']?\s*[:=]\s*\\?["']?)[^\s"',;&]*[a-z_-][^\s"',;&]*())re",
    R"re((?i)(\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic|token|negotiate|digest|apikey)\s+)?)[^\s"'\\][^"'\\]*())re",
    R"re((?i)(\bbearer\s+)[a-z0-9._~+/=-]{8,}())re",
    R"re((?i)(\bcookie:\s*)[^\s"'][^"']*())re",
    R"re((?i)(\bx-amz-signature=)[0-9a-f]+())re",
    R"re((?i)([?&]sig=)[0-9a-z%+/=-]{6,}())re",
    // curl -u user:password
    R"re((\s-u\s*[^\s:'"-][^\s:'"]*:)[^\s'"]+())re",
    R"re(()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b())re",
    R"re(()\bgh[oprsu]_[A-Za-z0-9]{20,}())re",
    R"re(()\bgithub_pat_\w{20,}())re",
    R"re(()\bglpat-[\w-]{20,}())re",
    R"re(()\bhf_[A-Za-z0-9]{20,}())re",
    R"re(()\bnvapi-[\w-]{20,}())re",
    R"re(()\blsv2_(?:pt|sk)_\w{20,}())re",
    R"re(()\br8_[A-Za-z0-9]{20,}())re",
    R"re(()\bdckr_pat_[\w-]{20,}())re",
    R"re(()\bpypi-[\w-]{20,}())re",
    R"re(()\bsk-[A-Za-z0-9_-]{20,}())re",
    R"re(()\b[rs]k_(?:live|test)_\w{10,}())re",
    R"re(()\bSG\.[\w-]{16,}\.[\w-]{16,}())re",
    R"re(()\bya29\.[\w-]{20,}())re",
    R"re(()\bAGE-SECRET-KEY-1[0-9A-Z]{20,}())re",
    R"re((\bhooks\.slack\.com/services/)[\w/]+())re",
    R"re(()\bxox[abeprs]-[A-Za-z0-9-]{10,}())re",
    R"re(()\bAIza[\w-]{35}())re",
    R"re(()\bnpm_[A-Za-z0-9]{36}())re",
    R"re(()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*())re",
    // https://user:password@host, https://TOKEN@host
    R"re((\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/]+(@))re",
    R"re((\b[a-z][a-z0-9+.-]*://)[^\s/:@]{20,}(@))re",
    // A line of a PEM file whose beginning is not there, or a long key of another kind.
    R"re(()^[A-Za-z0-9+/]{60,}={0,2}$())re",
};

#undef BELAY_SECRET_KEY
#undef BELAY_SEPARATOR

const std::vector<std::unique_ptr<RE2>>& compiled() {
    static const auto all = [] {
        std::vector<std::unique_ptr<RE2>> expressions;
        for (std::string_view each : kExpressions) expressions.push_back(std::make_unique<RE2>(each));
        return expressions;
    }();
    return all;
}

bool is_key_edge(std::string_view line, std::string_view edge) {
    const size_t at = line.find(edge);
    return at != std::string_view::npos && line.find("PRIVATE KEY", at) != std::string_view::npos;
}

}  // namespace

void mask_secrets(std::vector<std::string>& lines) {
    static const std::string replacement = std::string("\\1") + kMaskedText + "\\2";
    bool in_key = false;
    for (std::string& line : lines) {
        if (in_key && !is_key_edge(line, "-----END ")) {
            line = kMaskedText;
            continue;
        }
        // Of one on a single line, with or without its end, the next lines are no part.
        in_key =
            is_key_edge(line, "-----BEGIN ") && line.ends_with("-----") && !is_key_edge(line, "-----END ");
        for (const auto& expression : compiled()) RE2::GlobalReplace(&line, *expression, replacement);
    }
}

}  // namespace belay::progress

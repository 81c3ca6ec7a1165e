#include "progress/secrets.h"

#include <memory>
#include <string_view>

#include <re2/re2.h>

namespace belay::progress {

using re2::RE2;

namespace {

// What stands for the value is \1 and \2 around kMaskedText. (?i) where people write both.
constexpr std::string_view kExpressions[] = {
    // PASSWORD=x, "api_key": "x"; whatever the value is
    R"re((?i)(\b[a-z0-9_.-]*(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&]+())re",
    // --client-secret x
    R"re((?i)(--[a-z0-9-]*(?:password|passphrase|secret|token|api-?key|access-?key|private-?key)\s+)[^\s-]\S*())re",
    // hf_token=x, "access_token": "x"; a number is a count of tokens
    R"re((?i)(\b[a-z0-9_.-]*token["']?\s*[:=]\s*["']?)[^\s"',;&]*[a-z_-][^\s"',;&]*())re",
    R"re((?i)(\bauthorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"',;]+())re",
    R"re((?i)(\bbearer\s+)[a-z0-9._~+/=-]{8,}())re",
    R"re(()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b())re",
    R"re(()\bgh[oprsu]_[A-Za-z0-9]{20,}())re",
    R"re(()\bgithub_pat_\w{20,}())re",
    R"re(()\bglpat-[\w-]{20,}())re",
    R"re(()\bhf_[A-Za-z0-9]{20,}())re",
    R"re(()\bsk-[A-Za-z0-9_-]{20,}())re",
    R"re(()\bxox[abeprs]-[A-Za-z0-9-]{10,}())re",
    R"re(()\bAIza[\w-]{35}())re",
    R"re(()\bnpm_[A-Za-z0-9]{36}())re",
    R"re(()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*())re",
    // https://user:password@host
    R"re((\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(@))re",
    // A line of a PEM file whose beginning is not there, or a long key of another kind.
    R"re(()^[A-Za-z0-9+/]{60,}={0,2}$())re",
};

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
        in_key = is_key_edge(line, "-----BEGIN ") && !is_key_edge(line, "-----END ");
        for (const auto& expression : compiled()) RE2::GlobalReplace(&line, *expression, replacement);
    }
}

}  // namespace belay::progress

#include "image/credentials.h"

#include "core/file.h"
#include "core/tell.h"
#include "core/text.h"
#include "core/utf8.h"
#include "image/base64.h"
#include "image/reference.h"
#include "image/strict_json.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace belay::image {

namespace {

using core::bad_input;
using core::Result;
using nlohmann::json;
using Found = std::optional<Credentials>;

constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr std::chrono::seconds kHelperTimeout{30};
// Docker's own key comes first; the others are in use too.
constexpr std::array kDockerHubKeys = {std::string_view("index.docker.io"), std::string_view("docker.io"),
                                       std::string_view("registry-1.docker.io")};
constexpr std::string_view kDockerHubHelperKey = "https://index.docker.io/v1/";

// "https://index.docker.io/v1/" and "index.docker.io" are the same key.
std::string_view normal_key(std::string_view key) {
    for (std::string_view scheme : {"https://", "http://"})
        if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
    while (key.ends_with('/')) key.remove_suffix(1);
    for (std::string_view version : {"/v1", "/v2"})
        if (key.ends_with(version)) key.remove_suffix(version.size());
    return key;
}

std::vector<std::string> names_of(const CredentialQuery& query) {
    if (query.registry != kDockerHub) return {query.registry};
    return {kDockerHubKeys.begin(), kDockerHubKeys.end()};
}

// Bytes of the key that fit; 0 if it is another's.
size_t match(std::string_view key, std::string_view registry, std::string_view repository) {
    key = normal_key(key);
    if (key == registry) return key.size();
    if (!key.starts_with(registry) || key[registry.size()] != '/') return 0;
    std::string_view path = key.substr(registry.size() + 1);
    bool fits = repository == path || (repository.starts_with(path) && repository[path.size()] == '/');
    return fits ? key.size() : 0;
}

// The member of an object whose key fits best.
const json* best_member(const json& object, const CredentialQuery& query) {
    const json* best = nullptr;
    size_t longest = 0;
    for (const std::string& name : names_of(query)) {
        for (const auto& [key, value] : object.items()) {
            size_t length = match(key, name, query.repository);
            if (length <= longest) continue;
            longest = length;
            best = &value;
        }
    }
    return best;
}

bool is_wanted(const std::string& user, const CredentialQuery& query) {
    return query.user.empty() || query.user == user;
}

Result<Found> from_auth_entry(const json& entry, const CredentialQuery& query) {
    if (!entry.is_object()) return Found();
    BELAY_TRY(encoded, text_member(entry, "auth"));
    if (encoded.empty()) return Found();
    std::optional<std::string> decoded = base64_decode(encoded);
    size_t colon = decoded ? decoded->find(':') : std::string::npos;
    if (colon == std::string::npos)
        return bad_input("the login for {} is not the base64 of user:password", query.registry);
    std::string user = decoded->substr(0, colon);
    if (!is_wanted(user, query)) return Found();
    return Found(Credentials{std::move(user), decoded->substr(colon + 1), ""});
}

Result<Found> from_helper(const json& name, const std::string& key, const CredentialQuery& query,
                          const CredentialHelper& helper) {
    if (!name.is_string()) return bad_input("the name of a credential helper is not a text");
    BELAY_TRY(printed, helper(name.get<std::string>(), key));
    if (!printed) return Found();
    BELAY_TRY(answer, parse_strict_json(*printed, "what the credential helper printed", kMaxFileBytes));
    if (!answer.is_object())
        return bad_input("the credential helper {} printed no object", name.get<std::string>());
    BELAY_TRY(user, text_member(answer, "Username"));
    BELAY_TRY(secret, text_member(answer, "Secret"));
    if (!is_wanted(user, query)) return Found();
    return Found(Credentials{std::move(user), std::move(secret), ""});
}

// "registry.example.org" of "Registry.example.org:5000".
std::string host_of(std::string_view authority) {
    const bool has_port = !authority.ends_with(']') && std::ranges::count(authority, ':') > 0;
    return core::lower_case(has_port ? authority.substr(0, authority.rfind(':')) : authority);
}

// Of domains with at least two labels, so that "org" is nobody's parent; an address has none.
bool is_parent_domain(std::string_view parent, std::string_view child) {
    const bool is_name = !child.empty() && (child.back() < '0' || child.back() > '9') && child.back() != ']';
    return is_name && parent.contains('.') && child.size() > parent.size() && child.ends_with(parent) &&
           child[child.size() - parent.size() - 1] == '.';
}

}  // namespace

bool is_token_host_of(std::string_view registry, std::string_view token_authority) {
    constexpr std::array kKnown = {
        std::pair(kDockerHub, std::string_view("auth.docker.io")),
        std::pair(std::string_view("nvcr.io"), std::string_view("authn.nvidia.com"))};
    const std::string own = host_of(registry);
    const std::string token = host_of(token_authority);
    return own == token || is_parent_domain(own, token) || is_parent_domain(token, own) ||
           std::ranges::find(kKnown, std::pair(std::string_view(own), std::string_view(token))) !=
               kKnown.end();
}

std::vector<CredentialFile> credential_files(const core::Environment& environment) {
    std::vector<CredentialFile> out;
    auto add = [&](const char* variable, std::string_view below, CredentialFile::Format format) {
        auto found = environment.find(variable);
        if (found != environment.end() && !found->second.empty())
            out.push_back({std::filesystem::path(found->second + std::string(below)), format});
    };
    add("REGISTRY_AUTH_FILE", "", CredentialFile::Format::kJson);
    add("XDG_RUNTIME_DIR", "/containers/auth.json", CredentialFile::Format::kJson);
    add("HOME", "/.config/containers/auth.json", CredentialFile::Format::kJson);
    add("HOME", "/.docker/config.json", CredentialFile::Format::kJson);
    add("HOME", "/.config/enroot/.credentials", CredentialFile::Format::kNetrc);
    return out;
}

Result<std::optional<std::string>> run_credential_helper(const std::string& name, const std::string& key) {
    bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    });
    if (!plain) return bad_input("\"{}\" is not a name of a credential helper", core::printable(name));
    BELAY_TRY(output,
              core::run({.argv = {"docker-credential-" + name, "get"}},
                        {.timeout = kHelperTimeout, .output_limit = kMaxFileBytes, .input = key + "\n"}));
    if (output.status.success()) return std::optional(output.out);
    // The protocol says this on standard output for a login that is not known.
    if (output.out.contains("credentials not found")) return std::nullopt;
    return core::system_error("docker-credential-{} failed: {}", name,
                              core::printable(core::trim(output.err.empty() ? output.out : output.err)));
}

Result<Found> credentials_from_json(std::string_view text, const CredentialQuery& query,
                                    const CredentialHelper& helper) {
    BELAY_TRY(document, parse_strict_json(text, "the file", kMaxFileBytes));
    if (!document.is_object()) return bad_input("the file is not a JSON object");
    const std::string key(query.registry == kDockerHub ? kDockerHubHelperKey
                                                       : std::string_view(query.registry));
    if (auto helpers = document.find("credHelpers"); helpers != document.end() && helpers->is_object()) {
        if (const json* name = best_member(*helpers, query)) {
            BELAY_TRY(found, from_helper(*name, key, query, helper));
            if (found) return found;
        }
    }
    if (auto auths = document.find("auths"); auths != document.end() && auths->is_object()) {
        if (const json* entry = best_member(*auths, query)) {
            BELAY_TRY(found, from_auth_entry(*entry, query));
            if (found) return found;
        }
    }
    if (auto store = document.find("credsStore"); store != document.end())
        return from_helper(*store, key, query, helper);
    return Found();
}

Result<Found> credentials_from_netrc(std::string_view text, const CredentialQuery& query) {
    std::vector<std::string_view> words;
    for (std::string_view line : core::split(text, '\n')) {
        if (core::trim(line).starts_with('#')) continue;
        for (std::string_view word : core::split_words(core::trim(line))) words.push_back(word);
    }
    std::vector<std::string> hosts = names_of(query);
    if (query.registry == kDockerHub) hosts.emplace_back("auth.docker.io");
    if (!query.token_host.empty()) hosts.push_back(query.token_host);
    for (const std::string& host : hosts) {
        std::string_view machine;
        Credentials login;
        for (size_t i = 0; i < words.size(); ++i) {
            bool starts = words[i] == "machine" || words[i] == "default";
            if (starts) {
                machine = words[i] == "machine" && i + 1 < words.size() ? words[++i] : "";
                login = {};
            } else if (words[i] == "login" && i + 1 < words.size()) {
                login.user = words[++i];
            } else if (words[i] == "password" && i + 1 < words.size()) {
                login.password = words[++i];
            }
            if (machine != host || login.user.empty() || login.password.empty() ||
                !is_wanted(login.user, query))
                continue;
            if (login.password.starts_with("$("))
                return bad_input("the password for {} would have to be run by a shell", host)
                    .hint("keep it with a credential helper (credHelpers in ~/.docker/config.json)");
            return Found(std::move(login));
        }
    }
    return Found();
}

Result<Found> find_credentials(const std::vector<CredentialFile>& files, const CredentialQuery& query,
                               const CredentialHelper& helper) {
    for (const CredentialFile& file : files) {
        auto text = core::read_file(file.path, kMaxFileBytes);
        if (!text && text.error().cause() == core::Cause::kNotFound) continue;
        if (!text && text.error().cause() == core::Cause::kDenied) {  // another may hold them
            core::tell_error("credentials may be missing", text.error());
            continue;
        }
        if (!text) return std::unexpected(std::move(text.error()));
        auto found = file.format == CredentialFile::Format::kJson
                         ? credentials_from_json(*text, query, helper)
                         : credentials_from_netrc(*text, query);
        if (!found) return core::with_context(std::move(found), file.path.string());
        if (!*found) continue;
        (*found)->origin = file.path.string();
        return found;
    }
    return Found();
}

}  // namespace belay::image

// Logins for registries, from where people keep them: the files of podman, Docker and enroot, and credential
// helpers. Nothing is ever evaluated by a shell.
#pragma once

#include "core/error.h"
#include "core/process.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

struct Credentials {
    std::string user;
    std::string password;
    std::string origin;  // the file, for messages
};

// For whom a login is looked for.
struct CredentialQuery {
    std::string registry;    // as in a Reference
    std::string repository;  // keys may name a path below a registry; the longest that fits wins
    std::string user;        // if not empty, only a login of this user
    std::string token_host;  // where the registry sends for tokens; enroot's file may name that
};

// Whether a login of this token host may be used for the registry: they are one host, or one's domain is the
// other's parent, or they are known to belong together. The registry says where tokens are to be had and gets
// what is given there, so any other host's token would be one for somebody else. Ports do not matter.
bool is_token_host_of(std::string_view registry, std::string_view token_authority);

struct CredentialFile {
    enum class Format { kJson, kNetrc };
    std::filesystem::path path;
    Format format;
};

// In the order in which they are asked: $REGISTRY_AUTH_FILE, $XDG_RUNTIME_DIR/containers/auth.json,
// ~/.config/containers/auth.json, ~/.docker/config.json, ~/.config/enroot/.credentials.
std::vector<CredentialFile> credential_files(const core::Environment& environment);

// `docker-credential-NAME get` with the key on its standard input; what it printed, or nothing if it has no
// login.
using CredentialHelper =
    std::function<core::Result<std::optional<std::string>>(const std::string& name, const std::string& key)>;
core::Result<std::optional<std::string>> run_credential_helper(const std::string& name,
                                                               const std::string& key);

// The first login that fits; nothing if there is none. Errors: kBadInput for a file that is not readable as
// its format, or a password that a shell would have to evaluate.
core::Result<std::optional<Credentials>> find_credentials(
    const std::vector<CredentialFile>& files, const CredentialQuery& query,
    const CredentialHelper& helper = run_credential_helper);

// The two formats, for one file's text.
core::Result<std::optional<Credentials>> credentials_from_json(std::string_view text,
                                                               const CredentialQuery& query,
                                                               const CredentialHelper& helper);
core::Result<std::optional<Credentials>> credentials_from_netrc(std::string_view text,
                                                                const CredentialQuery& query);

}  // namespace belay::image

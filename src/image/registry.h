// One repository of an OCI registry (distribution specification 1.1): manifests and blobs, with the login
// that the registry asks for. May be used from several threads, each with its own HttpClient.
#pragma once

#include "core/fetch/http.h"
#include "image/credentials.h"
#include "image/manifest.h"
#include "image/reference.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::image {

// Asked when the registry wants a login.
using CredentialLookup = std::function<core::Result<std::optional<Credentials>>(const CredentialQuery&)>;

struct RegistryOptions {
    // Reached by http; so are registries on this machine itself.
    std::vector<std::string> insecure = {};
    CredentialLookup credentials = [](const CredentialQuery&) { return std::optional<Credentials>(); };
};

struct FetchedManifest {
    std::string body;
    std::string content_type;
    std::string digest;  // of the body
};

class Registry {
  public:
    Registry(const Reference& reference, RegistryOptions options, core::Clock& clock);
    ~Registry();

    // `selector` is a tag or a digest; the body of a digest is checked. Errors: kBadInput for an image that
    // is not there or a login that is refused, kSystem otherwise; all name the reference.
    core::Result<FetchedManifest> manifest(core::fetch::HttpClient& client, const std::string& selector);
    // A small blob in memory, checked.
    core::Result<std::string> small_blob(core::fetch::HttpClient& client, const Descriptor& blob);
    // A layer into a sink, from its position on; the token is renewed when it runs out meanwhile. Not
    // checked.
    core::Result<> layer(core::fetch::HttpClient& client, const Descriptor& blob,
                         core::fetch::DownloadSink& sink);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace belay::image

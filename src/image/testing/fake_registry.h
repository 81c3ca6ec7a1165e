// A registry in memory, for tests: what it serves is a map, and can be made wrong.
#pragma once

#include "core/fetch/testing/http_server.h"
#include "image/digest.h"
#include "image/manifest.h"
#include "image/testing/tar_builder.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::image::testing {

class FakeRegistry {
  public:
    using Response = core::fetch::testing::ServedResponse;
    using Request = core::fetch::testing::ServedRequest;

    struct Pushed {
        std::string digest;               // of the manifest
        std::vector<std::string> layers;  // digests
    };

    // Stores an image of these tars under "/v2/NAME/manifests/TAG"; each is compressed as `compress` does.
    Pushed push(const std::string& name, const std::string& tag, const std::vector<std::string>& tars,
                nlohmann::json config = nlohmann::json::object(),
                const std::function<std::string(std::string_view)>& compress = gzip) {
        Pushed out;
        config["rootfs"] = {{"type", "layers"}, {"diff_ids", nlohmann::json::array()}};
        if (!config.contains("architecture")) config["architecture"] = host_platform().architecture;
        config["os"] = "linux";
        nlohmann::json layers = nlohmann::json::array();
        for (const std::string& tar : tars) {
            std::string blob = compress(tar);
            out.layers.push_back(put(name, blob));
            config["rootfs"]["diff_ids"].push_back(digest_of(tar));
            layers.push_back(descriptor("application/vnd.oci.image.layer.v1.tar+gzip", blob));
        }
        std::string config_text = config.dump();
        put(name, config_text);
        nlohmann::json manifest{
            {"schemaVersion", 2},
            {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
            {"config", descriptor("application/vnd.oci.image.config.v1+json", config_text)},
            {"layers", layers}};
        out.digest = put_manifest(name, tag, manifest.dump());
        return out;
    }

    // An index of one manifest that is there already, for `platform`.
    std::string push_index(const std::string& name, const std::string& tag, const std::string& digest,
                           const Platform& platform) {
        nlohmann::json entry{{"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                             {"digest", digest},
                             {"size", served["/v2/" + name + "/manifests/" + digest].size()},
                             {"platform", {{"os", platform.os}, {"architecture", platform.architecture}}}};
        nlohmann::json index{{"schemaVersion", 2},
                             {"mediaType", "application/vnd.oci.image.index.v1+json"},
                             {"manifests", {entry}}};
        return put_manifest(name, tag, index.dump());
    }

    static std::string blob_path(const std::string& name, const std::string& digest) {
        return "/v2/" + name + "/blobs/" + digest;
    }

    std::string name(const std::string& repository_and_tag) const {
        return server.authority() + "/" + repository_and_tag;
    }

    // How often a path was asked for.
    size_t count(const std::string& path) const {
        auto requests = server.requests();
        return static_cast<size_t>(std::ranges::count(requests, path, &Request::target));
    }

    std::map<std::string, std::string> served;                   // path -> body; not changed during a request
    std::function<void(const Request&, Response&)> before_sent;  // may spoil an answer
    core::fetch::testing::HttpServer server{[this](const Request& request) { return answer(request); }};

  private:
    static nlohmann::json descriptor(const std::string& type, const std::string& bytes) {
        return {{"mediaType", type}, {"digest", digest_of(bytes)}, {"size", bytes.size()}};
    }
    std::string put(const std::string& name, const std::string& blob) {
        served[blob_path(name, digest_of(blob))] = blob;
        return digest_of(blob);
    }
    std::string put_manifest(const std::string& name, const std::string& tag, const std::string& text) {
        served["/v2/" + name + "/manifests/" + tag] = text;
        served["/v2/" + name + "/manifests/" + digest_of(text)] = text;
        return digest_of(text);
    }

    Response answer(const Request& request) {
        Response response;
        auto found = served.find(request.target);
        if (found == served.end()) {
            response = {.status = 404, .body = R"({"errors":[{"message":"unknown"}]})"};
        } else {
            response.body = found->second;
            if (std::string range = request.header("range"); range.starts_with("bytes=")) {
                size_t from = std::min<size_t>(std::stoul(range.substr(6)), response.body.size());
                response.status = 206;
                response.headers = {
                    {"Content-Range",
                     fmt::format("bytes {}-{}/{}", from, response.body.size() - 1, response.body.size())}};
                response.body.erase(0, from);
            }
        }
        if (before_sent) before_sent(request, response);
        return response;
    }
};

}  // namespace belay::image::testing

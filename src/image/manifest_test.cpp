#include "image/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string digest(char c) {
    return "sha256:" + std::string(64, c);
}
std::string descriptor(const std::string& type, const std::string& hash, const std::string& rest = "") {
    return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":123{}}})", type, hash, rest);
}
const std::string kLayer = "application/vnd.oci.image.layer.v1.tar+gzip";
const std::string kConfig = "application/vnd.oci.image.config.v1+json";

std::string manifest(const std::string& layers,
                     const std::string& config = descriptor(kConfig, digest('c'))) {
    return fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[{}]}})", config, layers);
}
std::string index_entry(char hash, const std::string& platform) {
    return descriptor("application/vnd.oci.image.manifest.v1+json", digest(hash),
                      R"(,"platform":)" + platform);
}

TEST(image, manifest_of_oci_and_docker) {
    for (std::string type : {"", R"("mediaType":"application/vnd.docker.distribution.manifest.v2+json",)"}) {
        std::string body =
            manifest(descriptor(kLayer, digest('1')) + "," +
                     descriptor("application/vnd.docker.image.rootfs.diff.tar.gzip", digest('2')));
        body.insert(1, type);
        auto document = parse_document(body, "");
        ASSERT_TRUE(document) << document.error().render();
        const Manifest& parsed = std::get<Manifest>(*document);
        EXPECT_EQ(parsed.config.digest, digest('c'));
        ASSERT_EQ(parsed.layers.size(), 2u);
        EXPECT_EQ(parsed.layers[1],
                  (Descriptor{"application/vnd.docker.image.rootfs.diff.tar.gzip", digest('2'), 123}));
    }
}

TEST(image, manifest_type_comes_from_the_document_then_the_response) {
    std::string index = R"({"schemaVersion":2,"manifests":[]})";
    EXPECT_TRUE(std::holds_alternative<Index>(*parse_document(index, "")));
    EXPECT_TRUE(std::holds_alternative<Index>(
        *parse_document(index, "application/vnd.docker.distribution.manifest.list.v2+json; charset=utf-8")));
    EXPECT_FALSE(parse_document(index, "application/vnd.oci.image.manifest.v1+json"));
    auto artifact = parse_document(R"({"schemaVersion":2,"mediaType":"application/x","layers":[]})", "");
    ASSERT_FALSE(artifact);
    EXPECT_THAT(artifact.error().message(), HasSubstr("\"application/x\", no image"));
}

TEST(image, manifest_refusals) {
    const std::pair<std::string, std::string> kBad[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"{}", "no schema version"},
        {R"({"schemaVersion":1,"fsLayers":[]})", "schema 1"},
        {R"({"schemaVersion":3})", "schema 3"},
        {R"({"schemaVersion":2})", "names no configuration"},
        {R"({"schemaVersion":2,"schemaVersion":2})", "\"schemaVersion\" stands twice"},
        {manifest(descriptor(kLayer, "sha256:12")), "\"sha256:12\" is not a sha256 hash"},
        {manifest(descriptor(kLayer, "sha512:" + std::string(128, 'a'))), "is not a sha256 hash"},
        {manifest(descriptor("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", digest('1'))),
         "foreign"},
        {manifest(descriptor("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", digest('1'))),
         "foreign"},
        {manifest(descriptor("application/x-lzip", digest('1'))), "unknown type \"application/x-lzip\""},
        {manifest("7"), "not an object"},
        {manifest(fmt::format(R"({{"mediaType":"{}","digest":"{}","size":-1}})", kLayer, digest('1'))),
         "\"size\""},
        {manifest(fmt::format(R"({{"mediaType":"{}","digest":"{}","size":1e3}})", kLayer, digest('1'))),
         "\"size\""},
        {manifest(fmt::format(R"({{"mediaType":"{}","digest":"{}","size":18446744073709551615}})", kLayer,
                              digest('1'))),
         "18446744073709551615 bytes"},
        {manifest("", fmt::format(R"({{"digest":"{}","size":99999999}})", digest('c'))),
         "configuration of 99999999"},
        {R"({"schemaVersion":2,"config":)" + descriptor(kConfig, digest('c')) + R"(,"layers":{}})",
         "\"layers\" is not a list"},
        {std::string(40, '[') + std::string(40, ']'), "nested deeper"},
        {std::string(kMaxManifestBytes + 1, ' '), "larger than"},
    };
    for (const auto& [body, why] : kBad) {
        auto document = parse_document(body, "");
        ASSERT_FALSE(document) << body;
        EXPECT_EQ(document.error().kind(), core::ErrorKind::kSystem);
        EXPECT_THAT(document.error().message(), HasSubstr(why));
    }
}

TEST(image, platform_is_chosen_by_os_architecture_and_variant) {
    auto index =
        parse_document(fmt::format(R"({{"schemaVersion":2,"manifests":[{},{},{},{},{}]}})",
                                   index_entry('0', R"({"os":"unknown","architecture":"unknown"})"),
                                   index_entry('1', R"({"os":"windows","architecture":"amd64"})"),
                                   index_entry('2', R"({"os":"linux","architecture":"arm","variant":"v7"})"),
                                   index_entry('3', R"({"os":"linux","architecture":"arm64"})"),
                                   index_entry('4', R"({"os":"linux","architecture":"amd64"})")),
                       "");
    ASSERT_TRUE(index) << index.error().render();
    const Index& parsed = std::get<Index>(*index);
    EXPECT_EQ(choose_platform(parsed, {"linux", "amd64", ""})->digest, digest('4'));
    EXPECT_EQ(choose_platform(parsed, {"linux", "arm64", "v8"})->digest, digest('3'));
    EXPECT_EQ(choose_platform(parsed, {"linux", "arm", "v7"})->digest, digest('2'));
    auto none = choose_platform(parsed, {"linux", "amd64", "v3"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(none.error().message(),
                HasSubstr("linux/amd64/v3, only for windows/amd64, linux/arm/v7, linux/arm64"));
}

TEST(image, platform_that_is_not_said_fits) {
    Index index{
        {{{"", digest('1'), 1}, Platform{"linux", "arm64", ""}}, {{"", digest('2'), 1}, std::nullopt}}};
    EXPECT_EQ(choose_platform(index, {"linux", "amd64", ""})->digest, digest('2'));
    EXPECT_FALSE(choose_platform(Index{}, {"linux", "amd64", ""}));
}

TEST(image, platform_of_this_machine) {
    Platform here = host_platform();
    EXPECT_EQ(here.os, "linux");
    EXPECT_NE(here.architecture, "x86_64");
    EXPECT_NE(here.architecture, "aarch64");
}

TEST(image, config_is_read) {
    auto config = parse_image_config(fmt::format(
        R"({{"os":"linux","architecture":"amd64","created":"2026-01-02T03:04:05Z","rootfs":{{"type":"layers",
            "diff_ids":["{}","{}"]}},"config":{{"Env":["A=1","B=x=y"],"Entrypoint":["/e"],"Cmd":null,
            "WorkingDir":"/w","Labels":{{"a":"b","c":1}}}}}})",
        digest('1'), digest('2')));
    ASSERT_TRUE(config) << config.error().render();
    EXPECT_EQ(config->platform, (Platform{"linux", "amd64", ""}));
    EXPECT_EQ(config->created, "2026-01-02T03:04:05Z");
    EXPECT_THAT(config->environment, ElementsAre("A=1", "B=x=y"));
    EXPECT_THAT(config->entrypoint, ElementsAre("/e"));
    EXPECT_TRUE(config->command.empty());
    EXPECT_EQ(config->working_directory, "/w");
    EXPECT_THAT(config->diff_ids, ElementsAre(digest('1'), digest('2')));
}

TEST(image, config_refusals) {
    const std::pair<std::string, std::string> kBad[] = {
        {"x", "not JSON"},
        {"[]", "not a JSON object"},
        {"{}", "rootfs.diff_ids"},
        {R"({"rootfs":{"diff_ids":["x"]}})", "\"x\" in rootfs.diff_ids"},
        {R"({"rootfs":{"diff_ids":[1]}})", "something else than texts"},
        {R"({"rootfs":{},"config":[]})", "\"config\""},
        {R"({"rootfs":{},"config":{"Env":"A=1"}})", "\"Env\" is not a list"},
        {R"({"rootfs":{},"config":{"WorkingDir":1}})", "\"WorkingDir\" is not a text"},
        {R"({"os":1,"rootfs":{}})", "\"os\" is not a text"},
    };
    for (const auto& [body, why] : kBad) {
        auto config = parse_image_config(body);
        ASSERT_FALSE(config) << body;
        EXPECT_THAT(config.error().message(), HasSubstr(why)) << body;
    }
}

}  // namespace
}  // namespace belay::image

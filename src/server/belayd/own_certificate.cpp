#include "server/belayd/own_certificate.h"

#include "core/new_file.h"
#include "http/server/self_signed.h"

#include <cerrno>
#include <chrono>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

// Ten years: who minds renews it by removing the files.
constexpr core::Duration kLife = std::chrono::hours(24 * 3650);
constexpr std::string_view kCertificateName = "certificate.pem", kKeyName = "key.pem";

Result<> write_new(const core::Directory& directory, std::string_view name, std::string_view text) {
    BELAY_TRY(file, core::NewFile::begin(directory, name, 0600));
    if (write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return core::errno_error(errno, fmt::format("cannot write {}", file.path().string()));
    return std::move(file).replace();
}

}  // namespace

Result<http::TlsFiles> own_certificate(const std::filesystem::path& path, std::span<const std::string> names,
                                       core::Time now) {
    BELAY_TRY(directory, core::Directory::make_guarded(path, 0700));
    BELAY_TRY(certificate, directory.facts(kCertificateName));
    BELAY_TRY(key, directory.facts(kKeyName));
    if (!certificate || !key) {
        BELAY_TRY(made, http::make_self_signed("belayd", names, now, kLife));
        BELAY_CHECK(write_new(directory, kKeyName, made.key));
        BELAY_CHECK(write_new(directory, kCertificateName, made.certificate));
    }
    return http::TlsFiles{.certificate = directory.path_of(kCertificateName),
                          .key = directory.path_of(kKeyName)};
}

}  // namespace belay::server

#include "metrics/remote/credentials.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/text.h"
#include "core/user.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace belay::metrics::remote {

namespace {

namespace fs = std::filesystem;
using core::bad_input;

constexpr size_t kMostBytes = size_t{64} << 10;
constexpr mode_t kOthers = 0077;

std::string base64(std::string_view bytes) {
    std::vector<unsigned char> out(4 * ((bytes.size() + 2) / 3) + 1);  // with a NUL at the end
    const int size = EVP_EncodeBlock(out.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    return {reinterpret_cast<const char*>(out.data()), static_cast<size_t>(size)};
}

core::Result<> check_owner_and_mode(int fd, const fs::path& file) {
    struct stat status{};
    if (fstat(fd, &status) != 0) return core::errno_error(errno, "cannot read " + file.string());
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return bad_input("{} belongs to {}: credentials are taken from files of this user or root only",
                         file.string(), core::user_name(status.st_uid))
            .because(core::Cause::kDenied);
    if ((status.st_mode & kOthers) != 0)
        return bad_input("{} holds credentials, but others may use it (mode {:04o})", file.string(),
                         status.st_mode & 07777U)
            .hint("chmod 600 " + file.string())
            .because(core::Cause::kDenied);
    return {};
}

}  // namespace

core::Result<std::string> authorization_of(std::string_view text, CredentialKind kind) {
    std::string_view secret = text.substr(0, text.find_last_not_of("\r\n") + 1);
    if (core::trim(secret).empty()) return bad_input("it holds no credentials");
    if (secret.size() > kMostBytes) return bad_input("credentials of {} bytes", secret.size());
    const bool basic = kind == CredentialKind::kBasic ||
                       (kind == CredentialKind::kEither && secret.find(':') != std::string_view::npos);
    // A token stands in the header as it is (RFC 6750, 2.1: no blanks either); the other form is encoded.
    const bool plain = std::ranges::all_of(secret, [&](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte != 0x7f && (basic ? byte >= 0x20 : byte > 0x20 && byte < 0x7f);
    });
    if (!plain)
        return bad_input("credentials with a character that cannot be sent").hint("one line, one secret");
    if (!basic) return "Bearer " + std::string(secret);
    if (secret.find(':') == std::string_view::npos)
        return bad_input("credentials without a colon").hint("write USER:PASSWORD");
    return "Basic " + base64(secret);
}

core::Result<std::string> read_authorization(const fs::path& file, CredentialKind kind) {
    const fs::path parent = file.has_parent_path() ? file.parent_path() : ".";
    BELAY_TRY(directory, core::Directory::open_guarded(parent));
    BELAY_TRY(fd, directory.open_file(file.filename().string(), O_RDONLY));
    BELAY_CHECK(check_owner_and_mode(fd.get(), file));
    BELAY_TRY(text, core::read_opened(fd.get(), file, kMostBytes));
    return core::with_context(authorization_of(text, kind), file.string());
}

}  // namespace belay::metrics::remote

// What decides over logins: challenges of any server, and files of logins as anybody may have written them.
#include "image/challenge.h"
#include "image/credentials.h"
#include "image/local_image.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

namespace {

core::Result<std::optional<std::string>> helper(const std::string& name, const std::string& key) {
    return std::optional(name + key);
}

void check(const core::Result<std::optional<image::Credentials>>& found) {
    if (!found && found.error().render().empty()) abort();
    if (found && *found && (*found)->password.starts_with("$(") && (*found)->origin == "netrc") abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const image::Challenge& challenge : image::parse_challenges(text))
        if (challenge.scheme.empty()) abort();
    image::CredentialQuery query{.registry = "a.io", .repository = "b/c", .user = "", .token_host = "t.io"};
    check(image::credentials_from_json(text, query, helper));
    auto netrc = image::credentials_from_netrc(text, query);
    if (netrc && *netrc) (*netrc)->origin = "netrc";
    check(netrc);
    for (const std::string& line : image::parse_environment_file(text))
        if (line.find('=') == std::string::npos || line.find('\n') != std::string::npos) abort();
    std::string directory = image::working_directory_of_rc(text);
    if (!directory.empty() && directory.front() != '/') abort();
    return 0;
}

// Policies and lists of what is purged: the first byte says which. A list is also tried with the signature
// that belongs to it, which no fuzzer finds.
#include "core/hash.h"
#include "many_parsers.h"
#include "stage/retention/exemptions.h"
#include "stage/retention/glob.h"
#include "stage/retention/policy.h"
#include "stage/retention/purge_list.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace belay;

namespace {

void read_policy(std::string_view text) {
    const auto policy = stage::parse_retention_policy(text, "fuzz");
    require(policy ? policy->days >= 0 : !policy.error().render().empty());
}

void read_list(std::string_view text) {
    constexpr std::string_view kKey = "0123456789abcdef";
    const auto as_it_is = stage::read_signed_list(text, kKey, "fuzz");
    require(!as_it_is || stage::sign_list(*as_it_is, kKey) == text);
    // The signature stands on a line of its own behind what it is of.
    const std::string signature = stage::sign_list({.root = "/"}, kKey);
    std::string body(text);
    if (!body.ends_with('\n')) body += '\n';
    const std::string line = signature.substr(signature.rfind('\n', signature.size() - 2) + 1);
    const std::string name = line.substr(0, line.find(' ') + 1);
    const std::string signed_text = body + name + core::to_hex(core::hmac_sha256(kKey, body)) + "\n";
    const auto list = stage::read_signed_list(signed_text, kKey, "fuzz");
    require(list || !list.error().render().empty());
    if (list)
        require(stage::read_signed_list(stage::sign_list(*list, kKey), kKey, "fuzz")->entries ==
                list->entries);
}

void read_path(std::string_view text) {
    require(text.find('\0') != std::string_view::npos ||
            stage::unescape_path(stage::escape_path(text)).value() == text);
    (void)stage::unescape_path(text);
}

// A pattern, a line feed, a path.
void match_pattern(std::string_view text) {
    const std::string_view pattern = text.substr(0, text.find('\n'));
    const std::string_view path = text.substr(std::min(pattern.size() + 1, text.size()));
    const stage::Glob glob(pattern);
    require(!glob.matches(path) || glob.covers(path));
    require(!glob.covers(path) || glob.covers(std::string(path) + "/x"));
    const size_t slash = path.find('/');
    if (slash != std::string_view::npos)
        require(glob.covers(path) == glob.after(path.substr(0, slash + 1)).covers(path.substr(slash + 1)));
    const std::string patterns[] = {std::string(pattern)};
    (void)stage::Exemptions(patterns, {.canonical = "/scratch", .names = {"scratch"}}).covers(path);
}

constexpr void (*kParsers[])(std::string_view) = {read_policy, read_list, read_path, match_pattern};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}

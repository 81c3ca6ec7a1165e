#include "image/reference.h"

#include "core/text.h"

#include <algorithm>
#include <array>

namespace belay::image {

namespace {

using core::bad_input;
using core::lower_case;
using core::Result;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr size_t kMaxRepositoryBytes = 255;
constexpr size_t kMaxTagBytes = 128;
constexpr size_t kSha256Digits = 64;
constexpr std::string_view kSha256 = "sha256:";
constexpr std::array kDockerHubNames = {std::string_view("docker.io"), std::string_view("index.docker.io"),
                                        std::string_view("registry-1.docker.io")};
constexpr std::array kFileEndings = {std::string_view(".sqsh"), std::string_view(".sqfs"),
                                     std::string_view(".squashfs"), std::string_view(".sif"),
                                     std::string_view(".tar")};
constexpr std::array kHashNames = {std::string_view("sha256"), std::string_view("sha384"),
                                   std::string_view("sha512"), std::string_view("sha1"),
                                   std::string_view("md5")};
constexpr std::string_view kFileHint = "a SquashFS file begins with \"/\", \"./\" or \"../\"";

bool one_of(char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
}
bool all_of(std::string_view text, std::string_view set) {
    return text.find_first_not_of(set) == std::string_view::npos;
}
bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_alphanumeric(char c) {
    return one_of(c, kLower) || one_of(c, kDigits);
}

// Bytes of a separator that begins at `at`: ".", "_", "__" or any number of "-"; 0 if there is none.
size_t separator_length(std::string_view text, size_t at) {
    if (text[at] == '.') return 1;
    if (text[at] == '_') return text.substr(at, 2) == "__" ? 2 : 1;
    size_t end = at;
    while (end < text.size() && text[end] == '-') ++end;
    return end - at;
}

// Where a component leaves the grammar [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*; npos if nowhere.
size_t component_error(std::string_view text) {
    size_t at = 0;
    while (true) {
        size_t start = at;
        while (at < text.size() && is_alphanumeric(text[at])) ++at;
        if (at == start) return at == text.size() && at > 0 ? at - 1 : at;
        if (at == text.size()) return std::string_view::npos;
        size_t length = separator_length(text, at);
        if (length == 0) return at;
        at += length;
    }
}

// A host name or address, and a port: enough that nothing else can hide in an URL that is made from it.
size_t registry_error(std::string_view text) {
    size_t at = 0;
    if (text.starts_with('[')) {
        at = text.find(']');
        if (at == std::string_view::npos || at < 3 ||
            !all_of(text.substr(1, at - 1), "0123456789abcdefABCDEF:."))
            return 0;
        ++at;
    } else {
        while (at < text.size() &&
               (is_alphanumeric(text[at]) || is_upper(text[at]) || one_of(text[at], ".-")))
            ++at;
        if (at == 0 || one_of(text.front(), ".-") || text.substr(0, at).find("..") != std::string_view::npos)
            return 0;
    }
    if (at == text.size()) return std::string_view::npos;
    if (text[at] != ':') return at;
    auto port = core::parse_number<uint16_t>(text.substr(at + 1));
    return port && *port > 0 ? std::string_view::npos : at + 1;
}

class Parser {
  public:
    Parser(std::string_view text, std::string_view origin) : text_(text), rest_(text), origin_(origin) {}

    Result<Reference> parse() {
        if (text_.empty()) return fail(0, "the image reference is empty", "");
        if (text_.size() > kMaxReferenceBytes)
            return bad_input("an image reference of more than {} bytes", kMaxReferenceBytes);
        if (size_t at = text_.find('\0'); at != std::string_view::npos)
            return fail(at, "an image reference holds a NUL byte", "");
        for (std::string_view start : {"/", "./", "../"}) {
            if (!text_.starts_with(start)) continue;
            out_.file = text_;
            return out_;
        }
        BELAY_CHECK(take_scheme());
        BELAY_CHECK(take_digest());
        BELAY_CHECK(take_user());
        BELAY_CHECK(take_registry());
        BELAY_CHECK(take_tag());
        BELAY_CHECK(check_not_a_file());
        BELAY_CHECK(take_repository());
        return out_;
    }

  private:
    core::Failure fail(size_t offset, std::string_view what, std::string_view hint) const {
        return bad_input("{}", what)
            .hint(hint.empty() ? std::string(kFileHint) : fmt::format("{}; {}", hint, kFileHint))
            .at({.file = std::string(origin_),
                 .line = 1,
                 .column = 1 + static_cast<int>(offset),
                 .line_text = text_.contains('\n') ? "" : std::string(text_)});
    }
    // Where a part that is a view into the text begins.
    size_t offset_of(std::string_view part) const { return static_cast<size_t>(part.data() - text_.data()); }

    Result<> take_scheme() {
        size_t at = rest_.find("://");
        if (at == std::string_view::npos) return {};
        if (rest_.substr(0, at) != "docker")
            return fail(0, fmt::format("no image can be had through \"{}\"", rest_.substr(0, at + 3)),
                        "write docker://REGISTRY/REPOSITORY:TAG, or leave the scheme out");
        rest_.remove_prefix(at + 3);
        explicit_ = true;
        return {};
    }

    // A trailing @ALG:HEX is known by the name of a hash or by its length: in "me@ubuntu:24" "me" is a user.
    Result<> take_digest() {
        size_t at = rest_.rfind('@');
        if (at == std::string_view::npos) return {};
        std::string_view digest = rest_.substr(at + 1);
        std::string_view name = digest.substr(0, digest.find(':'));
        std::string_view hex = name.size() < digest.size() ? digest.substr(name.size() + 1) : "";
        bool named = std::ranges::find(kHashNames, name) != kHashNames.end();
        bool long_hex = hex.size() >= 32 && all_of(hex, "0123456789abcdefABCDEF");
        if (!named && !long_hex) return {};
        if (name != "sha256")
            return fail(offset_of(digest), fmt::format("an image hash of kind \"{}\"", name),
                        "images are pinned by sha256:HEX");
        if (!is_digest(digest))
            return fail(offset_of(digest), fmt::format("\"{}\" is not an image hash", digest),
                        fmt::format("after sha256: stand {} digits of hex in lower case", kSha256Digits));
        out_.digest = digest;
        rest_ = rest_.substr(0, at);
        explicit_ = true;
        return {};
    }

    Result<> take_user() {
        size_t at = rest_.rfind('@');
        if (at == std::string_view::npos) return {};
        std::string_view user = rest_.substr(0, at);
        auto bad = [](char c) { return c <= ' ' || c == '\x7f' || one_of(c, "/#:\"\\"); };
        auto first_bad = std::ranges::find_if(user, bad);
        if (user.empty() || first_bad != user.end())
            return fail(offset_of(user) + static_cast<size_t>(first_bad - user.begin()),
                        fmt::format("\"{}\" is not a user name", user),
                        "before \"@\" stands the name of a login, after it the image");
        out_.user = user;
        rest_.remove_prefix(at + 1);
        return {};
    }

    Result<> take_registry() {
        std::string_view registry = kDockerHub;
        if (size_t hash = rest_.find('#'); hash != std::string_view::npos) {
            registry = rest_.substr(0, hash);
            rest_.remove_prefix(hash + 1);
            explicit_ = true;
        } else if (size_t slash = rest_.find('/'); slash != std::string_view::npos) {
            std::string_view first = rest_.substr(0, slash);
            if (first == "localhost" || first.find_first_of(".:") != std::string_view::npos) {
                registry = first;
                rest_.remove_prefix(slash + 1);
            }
        }
        if (size_t at = registry_error(registry); at != std::string_view::npos)
            return fail(offset_of(registry) + at, fmt::format("\"{}\" is not a registry", registry),
                        "a registry is HOST or HOST:PORT");
        out_.registry = lower_case(registry);
        if (std::ranges::find(kDockerHubNames, out_.registry) != kDockerHubNames.end())
            out_.registry = kDockerHub;
        return {};
    }

    Result<> take_tag() {
        size_t colon = rest_.rfind(':');
        size_t slash = rest_.rfind('/');
        if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) {
            if (out_.digest.empty()) out_.tag = "latest";
            return {};
        }
        std::string_view tag = rest_.substr(colon + 1);
        auto allowed = [](char c) { return is_alphanumeric(c) || is_upper(c) || one_of(c, "._-"); };
        auto first_bad = std::ranges::find_if_not(tag, allowed);
        size_t at = static_cast<size_t>(first_bad - tag.begin());
        if (tag.empty() || at < tag.size() || one_of(tag.front(), ".-"))
            return fail(
                offset_of(tag) + (at < tag.size() ? at : 0), fmt::format("\"{}\" is not a tag", tag),
                "a tag has letters, digits, \"_\", \".\" and \"-\", and begins with none of the last two");
        if (tag.size() > kMaxTagBytes)
            return fail(offset_of(tag), fmt::format("a tag of more than {} bytes", kMaxTagBytes), "");
        out_.tag = tag;
        rest_ = rest_.substr(0, colon);
        explicit_ = true;
        return {};
    }

    // "i.sqsh" would be an image of Docker Hub by the grammar, and is a file in every mind.
    Result<> check_not_a_file() const {
        if (explicit_) return {};
        for (std::string_view ending : kFileEndings) {
            if (rest_.ends_with(ending))
                return fail(0, fmt::format("\"{}\" looks like a file, but is the name of an image", text_),
                            fmt::format("for the file write \"./{}\"", text_));
        }
        return {};
    }

    Result<> take_repository() {
        if (rest_.empty()) return fail(offset_of(rest_), "there is no repository in the image reference", "");
        for (std::string_view component : core::split(rest_, '/')) {
            size_t at = component_error(component);
            if (at == std::string_view::npos) continue;
            return bad_component(component, at);
        }
        bool single = out_.registry == kDockerHub && !rest_.contains('/');
        out_.repository = single ? fmt::format("library/{}", rest_) : std::string(rest_);
        if (out_.repository.size() > kMaxRepositoryBytes)
            return fail(offset_of(rest_),
                        fmt::format("a repository of more than {} bytes", kMaxRepositoryBytes), "");
        return {};
    }

    core::Failure bad_component(std::string_view component, size_t at) const {
        size_t offset = offset_of(component) + at;
        if (component.empty())
            return fail(offset, "the repository has an empty component", "leave one \"/\" out");
        if (component == "~" || component.starts_with("~"))
            return fail(offset, fmt::format("\"~\" is not expanded in \"{}\"", text_),
                        "write ${HOME} in an environment file, or the whole path");
        std::string_view end = rest_.substr(offset_of(component) + component.size() - offset_of(rest_));
        if (std::string lower = lower_case(component); is_upper(component[at]))
            return fail(offset,
                        fmt::format("repository component \"{}\" has an upper case letter", component),
                        component_error(lower) == std::string_view::npos
                            ? fmt::format("write \"{}\"{}", lower, end.empty() ? "" : " there")
                            : "repositories are lower case");
        return fail(offset, fmt::format("\"{}\" is not a component of a repository", component),
                    "it has a-z and 0-9, and between them one \".\", one or two \"_\", or \"-\"");
    }

    std::string_view text_;
    std::string_view rest_;
    std::string_view origin_;
    bool explicit_ = false;  // something that a file's name would not have
    Reference out_;
};

// Whether REG/REPO is taken for a registry and a repository.
bool known_by_slash(std::string_view registry) {
    return registry == "localhost" || registry.find_first_of(".:") != std::string_view::npos;
}

}  // namespace

bool is_digest(std::string_view text) {
    return text.starts_with(kSha256) && text.size() == kSha256.size() + kSha256Digits &&
           all_of(text.substr(kSha256.size()), kHex);
}

Result<Reference> parse_reference(std::string_view text, std::string_view origin) {
    return Parser(text, origin).parse();
}

std::string display_name(const Reference& reference) {
    if (reference.is_file()) return reference.file;
    std::string out =
        reference.registry + (known_by_slash(reference.registry) ? "/" : "#") + reference.repository;
    if (!reference.tag.empty()) out += ":" + reference.tag;
    if (!reference.digest.empty()) out += "@" + reference.digest;
    return out;
}

std::string to_text(const Reference& reference) {
    std::string user = reference.user.empty() ? "" : reference.user + "@";
    std::string name = display_name(reference);
    // Without tag and digest no reference stands here; a name that looks like a file always has one of them.
    return user + name;
}

}  // namespace belay::image

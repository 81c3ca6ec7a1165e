// What a server asks for with a 401: the header WWW-Authenticate (RFC 9110, 11.6.1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

// A scheme and its parameters, names in lower case.
struct Challenge {
    std::string scheme;
    std::map<std::string, std::string> parameters;
    bool operator==(const Challenge&) const = default;

    // Empty if it is not there.
    std::string parameter(const std::string& name) const {
        auto found = parameters.find(name);
        return found == parameters.end() ? std::string() : found->second;
    }
};

// What is not understood is left out.
std::vector<Challenge> parse_challenges(std::string_view header);

// Whether the realm of a challenge, an URL, says itself what the token is to be for, or cuts off (by "#")
// what is said of that behind it.
bool realm_names_scope(std::string_view realm);

}  // namespace belay::image

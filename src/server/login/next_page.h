// Where a browser goes after a login: a page of this server, whatever a link to the login says. Pure.
#pragma once

#include <string>
#include <string_view>

namespace belay::server {

// The path with its query where it leads to a page of this server, and "/" for anything else: other sites ("//evil", "/\evil",
// "https:…"), what browsers take for these ("/\t/evil"), paths that the server would refuse, and the login itself.
std::string safe_next(std::string_view wanted);

}  // namespace belay::server

// The TOML side of config.h: text to values of declared settings.
#pragma once

#include "core/config.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

struct TomlAssignment {
    std::string key;
    SettingValue value;
    int line;
};

struct TomlSettings {
    std::vector<TomlAssignment> assignments;
    std::vector<Error> unknown;  // keys that no setting has
};

// Every assignment of `text`, in no particular order. Errors: kBadInput with the position in `file`.
Result<TomlSettings> read_settings(std::span<const Setting> settings, std::string_view text,
                                   const std::string& file);

// `["a", "b"]` as a TOML array of texts; what does not begin with "[" is the one element, an empty text no
// element.
Result<TextList> parse_text_list(std::string_view text);

}  // namespace belay::core

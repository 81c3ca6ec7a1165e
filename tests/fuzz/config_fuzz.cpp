// Configuration from any text: every error has a place inside the text, every accepted value reads back as it
// is shown.
#include "core/config.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay::core;

namespace {

constexpr Setting kSettings[] = {
    {"a.text", SettingType::kText, "", ""},           {"a.integer", SettingType::kInteger, "0", ""},
    {"a.number", SettingType::kNumber, "0", ""},      {"a.boolean", SettingType::kBoolean, "no", ""},
    {"b.duration", SettingType::kDuration, "0s", ""}, {"b.size", SettingType::kSize, "0B", ""},
    {"b.list", SettingType::kTextList, "", ""},
};

void check_place(const Error& error, std::string_view text) {
    if (!error.position()) abort();
    long lines = 1 + std::count(text.begin(), text.end(), '\n');
    const SourcePosition& position = *error.position();
    if (position.line < 1 || position.line > lines + 1 || position.column < 1) abort();
    if (position.column > static_cast<int>(position.line_text.size()) + 1) abort();
    if (error.render().empty()) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    Configuration configuration(kSettings);
    if (Result<> merged = configuration.merge_toml(text, "fuzz.toml"); !merged)
        check_place(merged.error(), text);
    for (const ConfiguredValue& value : configuration.values()) {
        Result<SettingValue> again = parse_setting(value.setting, to_text(value.value));
        bool number = value.setting.type == SettingType::kNumber;  // nan is not equal to itself
        if (!again || (!number && *again != value.value)) abort();
    }
    for (const Setting& setting : kSettings) (void)parse_setting(setting, text);
    return 0;
}

// belay config: each setting, its value, and where that came from.
#include "core/config.h"

#include "cli/commands.h"
#include "cli/text_table.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using nlohmann::json;

json value_json(const std::string& value) {
    return value;
}
json value_json(int64_t value) {
    return value;
}
json value_json(double value) {
    return value;
}
json value_json(bool value) {
    return value;
}
json value_json(core::Duration value) {
    return core::to_seconds(value);
}
json value_json(core::ByteSize value) {
    return value.bytes;
}
json value_json(const core::TextList& value) {
    return value;
}

json settings_json(const core::Configuration& configuration) {
    json out = json::array();
    for (const core::ConfiguredValue& each : configuration.values()) {
        out.push_back({{"key", each.setting.key},
                       {"type", core::type_name(each.setting.type)},
                       {"value", std::visit([](const auto& value) { return value_json(value); }, each.value)},
                       {"origin", each.origin},
                       {"default", each.setting.default_text},
                       {"environment", core::environment_name(each.setting.key)},
                       {"doc", each.setting.meaning}});
    }
    return out;
}

void print_settings(const core::CommandContext& context, const core::Configuration& configuration) {
    std::vector<std::vector<std::string>> rows;
    for (const core::ConfiguredValue& each : configuration.values())
        rows.push_back({std::string(each.setting.key), core::to_text(each.value), each.origin,
                        std::string(each.setting.meaning)});
    context.print("{}", render_table({"setting", "value", "from", "meaning"}, rows));
}

}  // namespace

void add_config(core::Application& application) {
    auto command = application.add({
        .name = "config",
        .summary = "show each setting and where its value comes from",
        .description = "Settings are read from /etc/belay/*.toml, then ~/.config/belay/*.toml (each in the "
                       "order of their names), then "
                       "the environment, then options; later ones win. BELAY_CONFIG_DIR names other "
                       "directories, separated by colons. "
                       "The setting record.interval is the key interval in the section [record] of a file, "
                       "and BELAY_RECORD_INTERVAL in "
                       "the environment.\n\n"
                       "In JSON durations are in seconds and sizes in bytes.",
        .examples = {{"belay config", "all settings"},
                     {"BELAY_RECORD_INTERVAL=5s belay config --json", "as a script or a job would see them"}},
    });
    auto as_json = std::make_shared<bool>(false);
    command.json(*as_json);
    command.run([as_json](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(configuration, context.configuration());
        if (*as_json)
            context.print_json(settings_json(configuration));
        else
            print_settings(context, configuration);
        return 0;
    });
}

}  // namespace belay::cli

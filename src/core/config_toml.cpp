#include "core/config_toml.h"

#include "core/text.h"
#include "core/toml.h"

#include <algorithm>

namespace belay::core {

namespace {

struct Expectation {
    SettingType type;
    std::string_view expected;
};
constexpr Expectation kExpectations[] = {
    {SettingType::kText, "a text in quotes"},
    {SettingType::kInteger, "an integer"},
    {SettingType::kNumber, "a number"},
    {SettingType::kBoolean, "true or false"},
    {SettingType::kDuration, "a duration in quotes such as \"500ms\""},
    {SettingType::kSize, "a size in quotes such as \"10GB\" or \"10GiB\""},
    {SettingType::kTextList, "an array of texts such as [\"a\", \"b\"]"},
};

class Reader {
  public:
    Reader(std::span<const Setting> settings, std::string_view text, const std::string& file)
        : settings_(settings), source_(text, file) {}

    Result<TomlSettings> read() && {
        BELAY_TRY(table, parse_toml(source_));
        BELAY_CHECK(read_table(table, ""));
        return std::move(read_);
    }

  private:
    Result<> read_table(const toml::table& table, const std::string& prefix) {
        for (const auto& [key, node] : table) {
            std::string path = prefix + std::string(key.str());
            if (const Setting* setting = find(path)) {
                BELAY_TRY(value, read_value(*setting, node));
                read_.assignments.push_back(
                    {path, std::move(value), static_cast<int>(key.source().begin.line)});
            } else if (is_section(path) && node.is_table()) {
                BELAY_CHECK(read_table(*node.as_table(), path + "."));
            } else if (is_section(path)) {
                return bad_input("{} is a section, found {}", path, describe(node))
                    .hint(fmt::format("write [{}] on a line of its own and its keys below", path))
                    .at(place(node.source().begin));
            } else {
                read_.unknown.push_back(unknown_key(path, prefix, key));
            }
        }
        return {};
    }

    const Setting* find(std::string_view path) const {
        auto setting =
            std::find_if(settings_.begin(), settings_.end(), [&](auto& entry) { return entry.key == path; });
        return setting == settings_.end() ? nullptr : &*setting;
    }

    bool is_section(const std::string& path) const {
        return std::any_of(settings_.begin(), settings_.end(),
                           [&](const Setting& setting) { return setting.key.starts_with(path + "."); });
    }

    Error unknown_key(const std::string& path, const std::string& prefix, const toml::key& key) const {
        // First among what may stand here, then a known name in a wrong section.
        std::vector<std::string_view> here;
        for (const Setting& setting : settings_)
            if (setting.key.starts_with(prefix))
                here.push_back(
                    setting.key.substr(prefix.size()).substr(0, setting.key.substr(prefix.size()).find('.')));
        std::string hint = "\"belay config\" lists the keys";
        std::string name(key.str());
        if (auto meant = nearest(name, here)) {
            hint = fmt::format("did you mean \"{}\"?", *meant);
        } else {
            for (const Setting& setting : settings_)
                if (setting.key.ends_with("." + name))
                    hint = fmt::format("did you mean \"{}\"?", setting.key);
        }
        return Error(ErrorKind::kBadInput, fmt::format("unknown key \"{}\", which is ignored", path))
            .hint(hint)
            .at(place(key.source().begin));
    }

    Failure wrong_type(const Setting& setting, const toml::node& node) const {
        auto row =
            std::find_if(std::begin(kExpectations), std::end(kExpectations),
                         [&](const Expectation& expectation) { return expectation.type == setting.type; });
        return bad_input("{}: expected {}, found {}", setting.key, row->expected, describe(node))
            .at(place(node.source().begin));
    }

    Result<SettingValue> read_value(const Setting& setting, const toml::node& node) const {
        switch (setting.type) {
            case SettingType::kBoolean:
                if (auto* value = node.as_boolean()) return SettingValue(value->get());
                break;
            case SettingType::kInteger:
                if (auto* value = node.as_integer()) return SettingValue(value->get());
                break;
            case SettingType::kNumber:
                if (auto* value = node.as_floating_point()) return SettingValue(value->get());
                if (auto* value = node.as_integer()) return SettingValue(static_cast<double>(value->get()));
                break;
            case SettingType::kTextList:
                if (auto* value = node.as_array()) return read_list(setting, *value);
                break;
            case SettingType::kText:
            case SettingType::kDuration:
            case SettingType::kSize:
                if (auto* value = node.as_string()) return read_text(setting, value->get(), node);
                break;
        }
        return wrong_type(setting, node);
    }

    Result<SettingValue> read_text(const Setting& setting, const std::string& text,
                                   const toml::node& node) const {
        Result<SettingValue> value = parse_setting(setting, text);
        if (value) return value;
        return std::unexpected(std::move(value.error()).at(place(node.source().begin)));
    }

    Result<SettingValue> read_list(const Setting& setting, const toml::array& array) const {
        TextList list;
        for (const toml::node& element : array) {
            const auto* text = element.as_string();
            if (text == nullptr) return wrong_type(setting, element);
            list.push_back(text->get());
        }
        return SettingValue(std::move(list));
    }

    SourcePosition place(toml::source_position position) const { return toml_position(source_, position); }

    std::span<const Setting> settings_;
    SourceText source_;
    TomlSettings read_;
};

}  // namespace

Result<TomlSettings> read_settings(std::span<const Setting> settings, std::string_view text,
                                   const std::string& file) {
    return Reader(settings, text, file).read();
}

Result<TextList> parse_text_list(std::string_view text) {
    if (text.empty()) return TextList{};
    if (!text.starts_with('[')) return TextList{std::string(text)};
    constexpr std::string_view kHint =
        "write a TOML array such as [\"a\", \"b\"], or one text without brackets";
    Result<toml::table> table = parse_toml(SourceText(fmt::format("list = {}", text), ""));
    if (!table) return bad_input("\"{}\": {}", text, table.error().message()).hint(kHint);
    const toml::array* array = table->size() == 1 ? table->get_as<toml::array>("list") : nullptr;
    if (array == nullptr) return bad_input("\"{}\" is not a list", text).hint(kHint);
    TextList list;
    for (const toml::node& element : *array) {
        const auto* item = element.as_string();
        if (item == nullptr)
            return bad_input("\"{}\": expected texts, found {}", text, describe(element)).hint(kHint);
        list.push_back(item->get());
    }
    return list;
}

}  // namespace belay::core

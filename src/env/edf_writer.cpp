#include "env/edf_writer.h"

#include "core/text.h"

namespace belay::env {

namespace {

// A basic string of TOML.
std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        out += byte < 0x20 || byte == 0x7f ? fmt::format("\\u{:04x}", byte) : std::string(1, c);
    }
    return out + "\"";
}

// "$" is doubled, since what is read is expanded; keys and names of [[startup]] are not.
std::string toml_text(std::string_view text) {
    std::string doubled;
    for (char c : text) doubled.append(c == '$' ? 2 : 1, c);
    return toml_string(doubled);
}

class EdfWriter {
  public:
    EdfWriter(const Environment& environment, bool explain) : environment_(environment), explain_(explain) {}

    std::string write(const std::map<std::string, std::string>& variables) {
        add("image", "image", toml_text(environment_.image));
        if (!environment_.workdir.empty()) add("workdir", "workdir", toml_text(environment_.workdir));
        add("entrypoint", "entrypoint", environment_.entrypoint ? "true" : "false");
        add("writable", "writable", environment_.writable ? "true" : "false");
        add_mounts();
        if (!environment_.devices.empty()) add("devices", "devices", list(environment_.devices));
        if (!variables.empty() || !environment_.unset.empty()) text_ += "\n[env]\n";
        for (const auto& [name, value] : variables) add(quoted_key(name), "env." + name, toml_text(value));
        for (const std::string& name : environment_.unset) add(quoted_key(name), "env." + name, "\"\"");
        if (!environment_.annotations.empty()) text_ += "\n[annotations]\n";
        for (const auto& [name, value] : environment_.annotations)
            add(quoted_key(name), "annotations." + name, toml_text(value));
        for (const ResolvedStartup& entry : environment_.startup) add_startup(entry);
        return std::move(text_);
    }

  private:
    void add(const std::string& key, const std::string& origin, std::string_view value) {
        text_ += fmt::format("{} = {}{}\n", key, value, comment(origin));
    }
    void add_mounts() {
        if (environment_.mounts.empty()) return;
        text_ += "mounts = [\n";
        for (size_t i = 0; i < environment_.mounts.size(); ++i)
            text_ += fmt::format("    {},{}\n", mount_text(environment_.mounts[i]),
                                 comment(fmt::format("mounts[{}]", i)));
        text_ += "]\n";
    }
    // A colon within a path can only stand in a default: what a variable gives is not split.
    static std::string mount_text(const Mount& mount) {
        auto field = [](const std::string& path) {
            bool splits = path.find(':') != std::string::npos;
            std::string inner = toml_text(path);
            inner = inner.substr(1, inner.size() - 2);
            return splits ? fmt::format("${{belay_no_such_variable:-{}}}", inner) : inner;
        };
        return fmt::format("\"{}:{}{}\"", field(mount.source), field(mount.destination),
                           mount.flags.empty() ? "" : ":" + core::join(mount.flags, "+"));
    }
    void add_startup(const ResolvedStartup& entry) {
        text_ += "\n[[startup]]\n";
        add("name", "startup." + entry.name, toml_string(entry.name));
        add("command", "", list(entry.command));
        add("once", "", entry.once == StartupScope::kNode ? "\"node\"" : "\"task\"");
        add("timeout", "", fmt::format("\"{}ns\"", entry.timeout.count()));
        add("on_failure", "", entry.on_failure == StartupFailure::kAbort ? "\"abort\"" : "\"warn\"");
    }

    static std::string list(const std::vector<std::string>& texts) {
        std::vector<std::string> parts;
        for (const std::string& text : texts) parts.push_back(toml_text(text));
        return "[" + core::join(parts, ", ") + "]";
    }
    static std::string quoted_key(const std::string& key) {
        bool bare = !key.empty() && key.find_first_not_of(
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789_-") == std::string::npos;
        if (bare) return key;
        return toml_string(key);
    }
    std::string comment(const std::string& key) const {
        auto origin = environment_.origins.find(key);
        return explain_ && origin != environment_.origins.end() ? "  # " + origin->second : "";
    }

    const Environment& environment_;
    bool explain_;
    std::string text_;
};

}  // namespace

std::string to_edf(const Environment& environment, const std::map<std::string, std::string>& variables,
                   bool explain) {
    return EdfWriter(environment, explain).write(variables);
}

}  // namespace belay::env

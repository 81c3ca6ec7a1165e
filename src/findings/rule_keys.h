// Values of a TOML table by their keys, for the readers of rules and of fixtures: each mistake with its
// place.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "core/toml.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

class TomlKeys {
  public:
    // The text must outlive this.
    explicit TomlKeys(const core::SourceText& source) : source_(source) {}

    // No key but these. Errors of all functions: kBadInput.
    core::Result<> check(const toml::table& table, std::span<const std::string_view> known) const;
    core::Failure unknown(const toml::key& key, std::span<const std::string_view> known) const;

    // Without `otherwise` the key must be there, and not empty.
    core::Result<std::string> text(const toml::table& table, std::string_view key,
                                   std::optional<std::string> otherwise = std::nullopt) const;
    core::Result<std::vector<std::string>> texts(const toml::table& table, std::string_view key) const;
    core::Result<std::string> choice(const toml::table& table, std::string_view key,
                                     std::span<const std::string_view> choices,
                                     std::string_view otherwise) const;
    core::Result<double> number(const toml::table& table, std::string_view key, double otherwise,
                                double least, double most) const;
    core::Result<double> number_of(const toml::node& value, double least, double most) const;
    core::Result<core::Duration> duration(const toml::table& table, std::string_view key,
                                          core::Duration otherwise) const;
    // nullptr where there is none.
    core::Result<const toml::table*> section(const toml::table& table, std::string_view key) const;

    core::SourcePosition position(const toml::node& node) const;
    core::SourcePosition position(const toml::key& key) const;
    // Where a word first stands from this line on.
    core::SourcePosition place_of(std::string_view word, int from_line) const;

    template <typename... Args>
    core::Failure wrong(const toml::node& node, fmt::format_string<Args...> format, Args&&... args) const {
        return core::bad_input(format, std::forward<Args>(args)...).at(position(node));
    }
    core::Failure wrong_key(const toml::key& key, std::string_view hint) const;

  private:
    const core::SourceText& source_;
};

}  // namespace belay::findings

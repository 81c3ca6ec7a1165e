// The rules that are asked: those that come with Belay, a site's own, and what the site changes.
#pragma once

#include "findings/rule.h"
#include "findings/rule_reader.h"
#include "record/archive/query_limits.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::findings {

struct RuleFile {
    std::string name;  // for messages: "belay", or the file's path
    std::string text;
    bool is_ours = false;  // tested with each build
};

// What is embedded: src/findings/rules/*.toml.
std::vector<RuleFile> builtin_files();
// The *.toml of a directory in the order of their names, without *.cases.toml; none where there is no such
// directory. A file's path is that file. Errors: kSystem.
core::Result<std::vector<RuleFile>> site_files(const std::filesystem::path& path);

// Reads the files one after the other and applies their overrides to the rules of all. What is wrong is among
// the problems, and the rest still holds. SQL is prepared against an empty record, within `limits`: to
// prepare it evaluates what is constant. Errors: kSystem.
core::Result<RuleSet> load_rules(std::span<const RuleFile> files, const record::QueryLimits& limits = {});

}  // namespace belay::findings

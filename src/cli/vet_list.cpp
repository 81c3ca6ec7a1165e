// belay vet list: the types of checks and their parameters.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "core/text.h"
#include "vet/protocol_json.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using core::Result;

std::string types_table(std::span<const vet::CheckType> types) {
    std::vector<std::vector<std::string>> rows;
    for (const vet::CheckType& type : types)
        rows.push_back(
            {std::string(type.type), std::string(vet::scope_name(type.scope)),
             std::string(vet::cost_name(type.cost)),
             std::string(type.summary) + (type.unsupported_because.empty() ? "" : " (not supported yet)")});
    return render_table({"type", "scope", "cost", "what passes"}, rows);
}

std::string type_page(const vet::CheckType& type) {
    std::string text = fmt::format("{}: {}\n", type.type, type.summary);
    if (!type.unsupported_because.empty()) text += fmt::format("unsupported: {}\n", type.unsupported_because);
    if (type.parameters.empty()) return text;
    std::vector<std::vector<std::string>> rows;
    for (const vet::Parameter& parameter : type.parameters)
        rows.push_back({std::string(parameter.name), std::string(vet::kind_name(parameter.kind)),
                        parameter.required ? "required" : std::string(parameter.default_text),
                        vet::range_text(parameter), std::string(parameter.meaning)});
    return text + "\n" + render_table({"parameter", "type", "default", "range", "meaning"}, rows);
}

Result<const vet::CheckType*> find_type(const std::string& name) {
    if (const vet::CheckType* type = vet::find_check_type(name)) return type;
    std::vector<std::string_view> names;
    for (const vet::CheckType& type : vet::catalogue()) names.push_back(type.type);
    auto near = core::nearest(name, names);
    return core::bad_input("unknown check type \"{}\"", name)
        .hint(near ? fmt::format("did you mean \"{}\"?", *near) : "`belay vet list` shows the types");
}

}  // namespace

void add_vet_list(core::Application& application) {
    auto command = application.add({
        .name = "vet list",
        .summary = "list the types of checks and their parameters",
        .description = "Lists all types, or with TYPE the parameters of that one. The scope says whether "
                       "each node measures alone or all nodes of a step together; the cost is instant (under "
                       "a second, beside running jobs), short (under ten) or exclusive (the node must be "
                       "idle). In JSON each type has its parameters.",
        .examples = {{"belay vet list fs.usage", "what can be checked on a file system"},
                     {"belay vet list --json", "all types with all parameters"}},
        .bounds_own_waits = true,
    });
    struct Options {
        std::string type;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("TYPE", options->type, "only this type");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> Result<int> {
        std::span<const vet::CheckType> types = vet::catalogue();
        if (!options->type.empty()) {
            BELAY_TRY(type, find_type(options->type));
            types = {type, 1};
        }
        if (options->json) {
            nlohmann::json list = nlohmann::json::array();
            for (const vet::CheckType& type : types) list.push_back(vet::to_json(type));
            context.print_json(list);
        } else {
            context.print("{}", options->type.empty() ? types_table(types) : type_page(types[0]));
        }
        return 0;
    });
}

}  // namespace belay::cli

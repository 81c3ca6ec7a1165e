// belay vet show: what a protocol would check.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "cli/vet_text.h"
#include "core/text.h"
#include "core/utf8.h"
#include "vet/protocol_json.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

std::string check_page(const vet::Check& check) {
    std::string text;
    for (const auto& [name, value] : check.parameters)
        text += (text.empty() ? "" : ", ") + name + ": " + vet::to_text(value);
    if (!check.type->unsupported_because.empty())
        text += fmt::format("{}(unsupported: {})", text.empty() ? "" : " ", check.type->unsupported_because);
    return text;
}

// The essential checks that are never measured, as they are written.
std::vector<std::string> refuses_every_node(const vet::Protocol& protocol) {
    std::vector<std::string> names;
    for (const vet::Check& check : protocol.checks)
        if (check.severity == vet::Severity::kEssential && !check.type->unsupported_because.empty())
            names.push_back(core::printable(check.name));
    return names;
}

}  // namespace

void add_vet_show(core::Application& application) {
    auto command = application.add({
        .name = "vet show",
        .summary = "show what a protocol would check, with all thresholds",
        .description = "Reads PROTOCOL as `belay vet run` does and shows its checks with every parameter, "
                       "defaults filled in, and which of them this version of Belay cannot measure. Nothing "
                       "is measured.",
        .examples = {{"belay vet show before-training.yaml", "before it is used"}},
        .exit_statuses = {{0, "the protocol is valid"},
                          {2, "it is not; the message shows the place"},
                          {3, "the system could not read it"}},
    });
    struct Options {
        std::string protocol;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    command.options().add_option("PROTOCOL", options->protocol, "file with the checks")->required();
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(protocol, load_protocol(options->protocol, true));
        if (options->json) {
            context.print_json(vet::to_json(protocol));
            return 0;
        }
        std::vector<std::vector<std::string>> rows;
        for (const vet::Check& check : protocol.checks)
            rows.push_back({check.name, check.written_type, std::string(vet::severity_name(check.severity)),
                            core::to_text(check.timeout), check_page(check)});
        context.print("{}{}\n\n", core::printable(protocol.name),
                      protocol.timeout ? ", at most " + core::to_text(*protocol.timeout) : "");
        context.print("{}", render_table({"check", "type", "severity", "timeout", "parameters"}, rows));
        if (auto refusing = refuses_every_node(protocol); !refusing.empty())
            fmt::print(stderr,
                       "belay: warning: no node can pass, since this version of Belay cannot measure {}\n"
                       "hint: take {} out of the protocol, or add severity: warning\n",
                       core::join(refusing, ", "), refusing.size() == 1 ? "it" : "them");
        return 0;
    });
}

}  // namespace belay::cli

// Vetting protocols from any text: every error has a place inside the text, and what is accepted checks
// something, with every parameter of its type.
#include "vet/protocol.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

namespace {

void check_place(const core::Error& error, std::string_view text) {
    if (error.message().empty() || !error.position()) abort();
    long lines = 1 + std::count(text.begin(), text.end(), '\n');
    const core::SourcePosition& position = *error.position();
    if (position.line < 1 || position.line > lines + 1 || position.column < 1) abort();
    if (position.column > static_cast<int>(position.line_text.size()) + 1) abort();
    if (error.render().empty()) abort();
}

void check_check(const vet::Check& check) {
    if (check.type == nullptr || check.name.empty() || check.timeout <= core::Duration::zero()) abort();
    if (check.type->measure == nullptr && check.type->unsupported_because.empty() &&
        check.type->scope == vet::Scope::kNode)
        abort();
    for (const vet::Parameter& parameter : check.type->parameters)
        if (parameter.required && !check.parameters.contains(parameter.name)) abort();
    for (const auto& [name, value] : check.parameters) (void)vet::to_text(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto protocol = vet::parse_protocol(text, "fuzz.yaml");
    if (!protocol) {
        if (protocol.error().kind() != core::ErrorKind::kBadInput) abort();
        check_place(protocol.error(), text);
        return 0;
    }
    if (protocol->name.empty() || protocol->checks.empty()) abort();
    for (const vet::Check& check : protocol->checks) check_check(check);
    for (const core::Error& warning : protocol->warnings) check_place(warning, text);
    return 0;
}

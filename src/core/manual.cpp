#include "core/manual.h"

#include "core/file.h"
#include "core/help.h"
#include "core/text.h"

#include <algorithm>
#include <vector>

namespace belay::core {

namespace {

// One character of valid UTF-8 off the front; what is not valid becomes U+FFFD.
char32_t take_character(std::string_view& text) {
    auto first = static_cast<unsigned char>(text[0]);
    size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
    if (length == 0 || length > text.size()) {
        text.remove_prefix(1);
        return 0xFFFD;
    }
    char32_t character = length == 1 ? first : first & (0xFF >> (length + 1));
    for (size_t i = 1; i < length; ++i)
        character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
    text.remove_prefix(length);
    return character;
}

// Text as roff that shows it as it is: "-" is a minus that can be copied, quotes stay straight, and nothing
// is a request.
std::string escape(std::string_view text) {
    struct Escape {
        char32_t character;
        std::string_view roff;
    };
    constexpr Escape kEscapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    std::string out;
    bool line_start = true;
    while (!text.empty()) {
        char32_t character = take_character(text);
        auto known = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                  [&](const Escape& entry) { return entry.character == character; });
        if (line_start && character == '.') out += "\\&";
        if (known != std::end(kEscapes))
            out += known->roff;
        else if (character < 0x80)
            out += static_cast<char>(character);
        else
            out += fmt::format("\\[u{:04X}]", static_cast<uint32_t>(character));
        line_start = character == '\n';
    }
    return out;
}

std::string bold(std::string_view text) {
    return "\\fB" + escape(text) + "\\fR";
}
std::string italic(std::string_view text) {
    return "\\fI" + escape(text) + "\\fR";
}

void add_paragraphs(std::string& out, std::string_view text) {
    std::vector<std::string> lines = wrap(text, 100);
    bool first = true;
    for (const std::string& line : lines) {
        if (line.empty() || first) out += ".PP\n";
        if (!line.empty()) out += escape(line) + "\n";
        first = false;
    }
}

void add_entry(std::string& out, std::string_view term, std::string_view meaning) {
    out += fmt::format(".TP\n{}\n{}\n", term, meaning.empty() ? "\\&" : escape(meaning));
}

std::string option_term(const OptionModel& option) {
    std::string term;
    for (const std::string& name : option.names) term += (term.empty() ? "" : ", ") + bold(name);
    return option.value_name.empty() ? term : term + " " + italic(option.value_name);
}

void add_synopsis(std::string& out, const CommandModel& command) {
    out += ".SH SYNOPSIS\n.nf\n";
    for (const std::string& line : usage(command))
        out +=
            bold(command.full_name) + escape(std::string_view(line).substr(command.full_name.size())) + "\n";
    out += ".fi\n";
}

void add_commands(std::string& out, const CommandModel& command) {
    if (!command.is_group()) return;
    out += ".SH COMMANDS\n";
    for (const CommandModel& subcommand : command.subcommands) {
        if (subcommand.page.hidden) continue;
        std::string name = subcommand.full_name.substr(command.full_name.size() + 1);
        add_entry(out, bold(name),
                  fmt::format("{}; see {}(1)", subcommand.page.summary, manual_name(subcommand.full_name)));
    }
}

void add_options(std::string& out, const CommandModel& command) {
    if (!command.positionals.empty() || !command.command.empty()) out += ".SH ARGUMENTS\n";
    for (const auto* arguments : {&command.positionals, &command.command})
        for (const OptionModel& positional : *arguments)
            add_entry(out, italic(positional.names[0]), describe(positional));
    out += ".SH OPTIONS\n";
    for (const OptionModel& option : command.options) add_entry(out, option_term(option), describe(option));
}

void add_examples(std::string& out, const CommandPage& page) {
    if (page.examples.empty()) return;
    out += ".SH EXAMPLES\n";
    for (const Example& example : page.examples)
        out += fmt::format(".PP\n{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", escape(example.meaning),
                           bold(example.command));
}

const CommandModel* find_command(const CommandModel& root, std::string_view full_name) {
    if (root.full_name == full_name) return &root;
    for (const CommandModel& subcommand : root.subcommands)
        if (const CommandModel* found = find_command(subcommand, full_name)) return found;
    return nullptr;
}

// The pages above, beside and below.
void add_see_also(std::string& out, const CommandModel& program, const CommandModel& command) {
    std::vector<std::string> names;
    size_t blank = command.full_name.rfind(' ');
    if (blank != std::string::npos) {
        const CommandModel* parent =
            find_command(program, std::string_view(command.full_name).substr(0, blank));
        names.push_back(parent->full_name);
        if (parent != &program)
            for (const CommandModel& sibling : parent->subcommands)
                if (!sibling.page.hidden && sibling.full_name != command.full_name)
                    names.push_back(sibling.full_name);
    }
    for (const CommandModel& subcommand : command.subcommands)
        if (!subcommand.page.hidden) names.push_back(subcommand.full_name);
    if (names.empty()) return;
    out += ".SH SEE ALSO\n";
    for (const std::string& name : names)
        out += bold(manual_name(name)) + "(1)" + (&name == &names.back() ? "\n" : ",\n");
}

Result<> write_pages(const CommandModel& program, const CommandModel& command, std::string_view version,
                     const std::filesystem::path& directory) {
    if (command.page.hidden) return {};
    std::filesystem::path path = directory / (manual_name(command.full_name) + ".1");
    BELAY_CHECK(replace_file(path, render_manual(program, command, version)));
    for (const CommandModel& subcommand : command.subcommands)
        BELAY_CHECK(write_pages(program, subcommand, version, directory));
    return {};
}

}  // namespace

std::string manual_name(std::string_view full_name) {
    std::string name(full_name);
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

std::string render_manual(const CommandModel& program, const CommandModel& command,
                          std::string_view version) {
    std::string name = manual_name(command.full_name);
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    std::string out = fmt::format(".TH \"{}\" 1 \"\" \"{} {}\"\n", escape(title), escape(program.full_name),
                                  escape(version));
    out += fmt::format(".SH NAME\n{} \\- {}\n", escape(name), escape(command.page.summary));
    add_synopsis(out, command);
    out += ".SH DESCRIPTION\n";
    add_paragraphs(out,
                   command.page.description.empty() ? command.page.summary + "." : command.page.description);
    add_commands(out, command);
    add_options(out, command);
    if (command.runnable) {
        out += ".SH \"EXIT STATUS\"\n";
        for (const ExitMeaning& entry : exit_statuses(command.page))
            add_entry(out, bold(fmt::format("{}", entry.status)), entry.meaning);
    }
    add_examples(out, command.page);
    add_see_also(out, program, command);
    return out;
}

Result<> write_manual(const CommandModel& program, std::string_view version,
                      const std::filesystem::path& directory) {
    BELAY_CHECK(make_directories(directory));
    return write_pages(program, program, version, directory);
}

}  // namespace belay::core

#include "core/completion.h"

#include "core/process.h"
#include "core/text.h"

#include <vector>

namespace belay::core {

namespace {

// The program and every command that is not hidden, each before those below it.
std::vector<const CommandModel*> visible(const CommandModel& command) {
    std::vector<const CommandModel*> out{&command};
    for (const CommandModel& subcommand : command.subcommands) {
        if (subcommand.page.hidden) continue;
        std::vector<const CommandModel*> below = visible(subcommand);
        out.insert(out.end(), below.begin(), below.end());
    }
    return out;
}

std::string last_word(const CommandModel& command) {
    return command.full_name.substr(command.full_name.rfind(' ') + 1);
}

std::string quote(const std::string& text) {
    return quote_command(std::vector<std::string>{text});
}

// What may follow: its options when a word begins with "-", else its commands, or the words that an argument
// admits.
std::string words_of(const CommandModel& command, bool options) {
    std::vector<std::string> words;
    if (options) {
        for (const OptionModel& option : command.options)
            words.insert(words.end(), option.names.begin(), option.names.end());
        return join(words, " ");
    }
    for (const CommandModel& subcommand : command.subcommands)
        if (!subcommand.page.hidden) words.push_back(last_word(subcommand));
    for (const OptionModel& positional : command.positionals)
        words.insert(words.end(), positional.choices.begin(), positional.choices.end());
    return join(words, " ");
}

// The completion function of bash, which zsh runs too. The words typed so far are followed down to the
// command they name; `$path` is then its full name.
std::string render_bash(const CommandModel& program) {
    std::string paths, commands, options, values;
    for (const CommandModel* command : visible(program)) {
        std::string path = quote(command->full_name);
        if (command != &program) paths += (paths.empty() ? "" : "|") + path;
        if (std::string words = words_of(*command, false); !words.empty())
            commands += fmt::format("            {}) words={} ;;\n", path, quote(words));
        options += fmt::format("            {}) words={} ;;\n", path, quote(words_of(*command, true)));
        for (const OptionModel& option : command->options)
            for (const std::string& name : option.names)
                if (!option.choices.empty())
                    values += fmt::format("        {}) words={} ;;\n", quote(command->full_name + " " + name),
                                          quote(join(option.choices, " ")));
    }
    std::string function = "_" + program.full_name;
    return fmt::format(R"({0}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path={1} words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${{COMP_WORDS[i]}} != -- ]] || return 0
        case "$path ${{COMP_WORDS[i]}}" in
            {2}) path="$path ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$path $previous" in
{3}    esac
    if [[ -z $words && $current == -* ]]; then
        case "$path" in
{4}        esac
    elif [[ -z $words ]]; then
        case "$path" in
{5}        esac
    fi
    [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F {0} {1}
)",
                       function, program.full_name, paths, values, options, commands);
}

std::string render_zsh(const CommandModel& program) {
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
           render_bash(program);
}

// "__fish_seen_subcommand_from" for each word on the way, and for none of those below.
std::string fish_condition(const CommandModel& command) {
    std::vector<std::string> parts;
    std::vector<std::string_view> path = split_words(command.full_name);
    for (size_t i = 1; i < path.size(); ++i)
        parts.push_back(fmt::format("__fish_seen_subcommand_from {}", path[i]));
    if (command.is_group()) parts.push_back("not __fish_seen_subcommand_from " + words_of(command, false));
    return join(parts, "; and ");
}

std::string fish_option(const OptionModel& option) {
    std::string out;
    for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.choices.empty())
        out += " -x -a " + quote(join(option.choices, " "));
    else if (!option.value_name.empty())
        out += " -r";
    return out + " -d " + quote(option.meaning);
}

std::string render_fish(const CommandModel& program) {
    std::string out;
    for (const CommandModel* command : visible(program)) {
        std::string start =
            fmt::format("complete -c {} -n {}", program.full_name, quote(fish_condition(*command)));
        for (const CommandModel& subcommand : command->subcommands)
            if (!subcommand.page.hidden)
                out += fmt::format("{} -f -a {} -d {}\n", start, last_word(subcommand),
                                   quote(subcommand.page.summary));
        for (const OptionModel& positional : command->positionals)
            if (!positional.choices.empty())
                out += fmt::format("{} -f -a {} -d {}\n", start, quote(join(positional.choices, " ")),
                                   quote(positional.meaning));
        for (const OptionModel& option : command->options) out += start + fish_option(option) + "\n";
    }
    return out;
}

}  // namespace

std::string render_completion(const CommandModel& program, Shell shell) {
    switch (shell) {
        case Shell::kBash:
            return render_bash(program);
        case Shell::kZsh:
            return render_zsh(program);
        case Shell::kFish:
            return render_fish(program);
    }
    return {};
}

}  // namespace belay::core

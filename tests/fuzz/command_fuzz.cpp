// Any words as a command line, one a line: refused with a message, or taken apart so that the words written
// from what was understood are understood the same, and every text reaches its variable as it was typed.
#include "core/command.h"
#include "many_parsers.h"

#include <string>
#include <vector>

using namespace belay::core;

namespace {

// A small program with each kind of option, which notes what its handlers see.
struct Program {
    std::FILE* out;
    Application application;
    std::string text, unit = "tar", record;
    std::vector<std::string> tags, files, command;
    int number = 0;
    std::optional<uint64_t> size;
    double share = 0;
    std::vector<int64_t> numbers;
    bool flag = false, other = false;
    Duration duration{};
    int calls = 0;

    explicit Program(std::FILE* null)
        : out(null),
          application({.name = "p", .summary = "s", .description = "d", .version = "1"}, null, null) {
        auto take = application.add({.name = "take", .summary = "s"});
        auto& options = take.options();
        auto* text_option = options.add_option("-t,--text", text, "m");
        options.add_option("-T,--tag", tags, "m");
        options.add_option("-n,--number", number, "m")->between(-10, 1000);
        options.add_option("--size", size, "m");
        options.add_option("-x", share, "m");
        options.add_option("--numbers", numbers, "m");
        options.add_flag("-f,--flag", flag, "m");
        options.add_flag("-g", other, "m")->needs(text_option);
        take.duration("--duration", duration, "m");
        take.choice("--format", unit, {"tar", "squashfs"}, "m");
        options.add_option("RECORD", record, "m")->required();
        options.add_option("FILE", files, "m");
        take.run([this](const CommandContext&) { return note(); });
        auto run = application.add({.name = "take run", .summary = "s"});
        run.options().add_option("-o,--output", text, "m")->required();
        run.options().add_flag("-f", flag, "m");
        run.passthrough("CMD", command, "m");
        run.run([this](const CommandContext&) { return note(); });
        auto one = application.add({.name = "group one", .summary = "s"});
        one.options().add_option("N", number, "m");
        one.run([this](const CommandContext&) { return note(); });
    }

    Result<int> note() {
        ++calls;
        return 0;
    }

    auto values() const {
        return std::tie(text, unit, record, tags, files, command, number, size, share, numbers, flag, other,
                        duration, calls);
    }
};

std::vector<std::string> texts_of(const ParsedWords& parsed, std::string_view name) {
    std::vector<std::string> out;
    for (const GivenValue& value : parsed.given)
        if (value.name == name) out.push_back(value.text);
    return out;
}

// The words that a careful person would write for the same.
std::vector<std::string> words_of(const ParsedWords& parsed) {
    std::vector<std::string> words, arguments;
    for (std::string_view word : split_words(parsed.command->full_name)) words.emplace_back(word);
    words.erase(words.begin());
    for (const GivenValue& value : parsed.given) {
        const OptionModel* option = parsed.command->find_option(value.name);
        if (option == nullptr) {
            arguments.push_back(value.text);
        } else if (!option->takes_value()) {
            words.push_back(value.name);
        } else if (value.name.starts_with("--")) {
            words.push_back(value.name + "=" + value.text);
        } else {
            words.insert(words.end(), {value.name, value.text});
        }
    }
    words.emplace_back("--");
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), parsed.rest.begin(), parsed.rest.end());
    return words;
}

void check_values(const Program& program, const ParsedWords& parsed) {
    if (program.calls == 0) return;
    bool take = parsed.command->page.name == "take", run = parsed.command->page.name == "take run";
    if (take) {
        require(texts_of(parsed, "--tag") == program.tags && texts_of(parsed, "FILE") == program.files);
        require(texts_of(parsed, "RECORD").at(0) == program.record);
        require(program.number >= -10 && program.number <= 1000);
        require(texts_of(parsed, "--numbers").size() == program.numbers.size());
        require(program.flag == !texts_of(parsed, "--flag").empty());
        require(!program.other || !texts_of(parsed, "--text").empty());
    }
    if (run) require(parsed.rest == program.command && !program.command.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static std::FILE* null = std::fopen("/dev/null", "w");
    std::vector<std::string> words;
    for (std::string_view word : split({reinterpret_cast<const char*>(data), size}, '\n'))
        words.emplace_back(word);

    Program program(null);
    CommandModel model = program.application.model();
    int status = program.application.run(words);
    require(status == 0 || status == 2);
    require(program.calls == 0 || status == 0);
    Result<ParsedWords> parsed = parse_words(model, words);
    if (!parsed) {
        require(parsed.error().kind() == ErrorKind::kBadInput && !parsed.error().message().empty());
        require(program.calls == 0);
        return 0;
    }
    check_values(program, *parsed);
    std::vector<std::string> again_words = words_of(*parsed);
    Result<ParsedWords> again = parse_words(model, again_words);
    require(again && again->command == parsed->command && again->help == parsed->help);
    require(again->given == parsed->given && again->rest == parsed->rest);
    Program other(null);
    require(other.application.run(again_words) == status && other.values() == program.values());
    return 0;
}

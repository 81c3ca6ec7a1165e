#include "stage/retention/purge_list.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr std::string_view kFirstLine = "belay retention list 1\n";
constexpr std::string_view kSignature = "hmac-sha256 ";
constexpr std::string_view kDue = "due";
constexpr std::string_view kPressed = "pressed";
constexpr size_t kDigits = 64;
constexpr size_t kLeastKeyBytes = 16;
constexpr size_t kMostKeyBytes = 4096;

std::optional<unsigned> digit_value(char digit) {
    if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
    return std::nullopt;
}

std::optional<unsigned> byte_value(std::string_view digits) {
    if (digits.size() < 2) return std::nullopt;
    const auto high = digit_value(digits[0]);
    const auto low = digit_value(digits[1]);
    if (!high || !low) return std::nullopt;
    return 16 * *high + *low;
}

// The lines of a text, one after the other.
class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}
    std::optional<std::string_view> next() {
        if (rest_.empty()) return std::nullopt;
        const size_t end = rest_.find('\n');
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        ++number_;
        return line;
    }
    // What stands behind "NAME ".
    std::optional<std::string_view> value(std::string_view name) {
        const auto line = next();
        if (!line || !line->starts_with(name) || line->size() <= name.size() || (*line)[name.size()] != ' ')
            return std::nullopt;
        return line->substr(name.size() + 1);
    }
    int number() const { return number_; }

  private:
    std::string_view rest_;
    int number_ = 0;
};

template <typename Number>
bool take_number(std::string_view& line, Number& value) {
    const size_t end = line.find(' ');
    if (end == std::string_view::npos) return false;
    const auto number = core::parse_number<Number>(line.substr(0, end));
    line.remove_prefix(end + 1);
    if (number) value = *number;
    return number.has_value();
}

std::optional<PurgeEntry> parse_entry(std::string_view line) {
    PurgeEntry entry;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos ||
        (line.substr(0, blank) != kDue && line.substr(0, blank) != kPressed))
        return std::nullopt;
    entry.pressed = line.substr(0, blank) == kPressed;
    line.remove_prefix(blank + 1);
    if (!take_number(line, entry.inode) || !take_number(line, entry.user) ||
        !take_number(line, entry.times.accessed) || !take_number(line, entry.times.modified) ||
        !take_number(line, entry.times.changed) || !take_number(line, entry.bytes))
        return std::nullopt;
    auto path = unescape_path(line);
    if (!path || !core::is_name_beneath(*path)) return std::nullopt;
    entry.path = std::move(*path);
    return entry;
}

std::optional<RetentionTime> parse_time_name(std::string_view name) {
    for (const auto time : {RetentionTime::kAccessed, RetentionTime::kModified, RetentionTime::kChanged,
                            RetentionTime::kUsed, RetentionTime::kLatest})
        if (to_text(time) == name) return time;
    return std::nullopt;
}

}  // namespace

std::string escape_path(std::string_view path) {
    std::string text;
    text.reserve(path.size());
    while (!path.empty()) {
        const size_t length = core::utf8_character_length(path);
        const auto byte = static_cast<unsigned char>(path[0]);
        // C1 and the separators of lines and paragraphs are left to a terminal; what is printed goes through
        // core::printable().
        if (byte == '\n')
            text += "\\n";
        else if (byte == '\\')
            text += "\\\\";
        else if (length == 0 || byte < 0x20 || byte == 0x7f)
            text += fmt::format("\\x{:02x}", byte);
        else
            text += path.substr(0, length);
        path.remove_prefix(std::max<size_t>(length, 1));
    }
    return text;
}

Result<std::string> unescape_path(std::string_view text) {
    std::string path;
    path.reserve(text.size());
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\0') return core::bad_input("byte {} is NUL, which no path has", at + 1);
        if (text[at] != '\\') {
            path += text[at];
            continue;
        }
        const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
        const auto byte = kind == 'x' ? byte_value(text.substr(at + 2)) : std::nullopt;
        if (kind == 'n')
            path += '\n';
        else if (kind == '\\')
            path += '\\';
        else if (byte && *byte != 0 && *byte != '/')
            path += static_cast<char>(*byte);
        else
            return core::bad_input("\"{}\" at byte {} is not an escape", core::printable(text.substr(at, 4)),
                                   at + 1);
        at += byte ? 3 : 1;
    }
    return path;
}

std::string sign_list(const PurgeList& list, std::string_view key) {
    std::string text =
        fmt::format("{}root {}\nmade {}\ntimestamp {}\nolder_than_days {}\nask {}\nspare_days {}\nfiles {}\n",
                    kFirstLine, escape_path(list.root), core::format_time(list.made), to_text(list.time),
                    list.days, list.ask_share, list.spare_days, list.entries.size());
    for (const PurgeEntry& entry : list.entries)
        text += fmt::format("{} {} {} {} {} {} {} {}\n", entry.pressed ? kPressed : kDue, entry.inode,
                            entry.user, entry.times.accessed, entry.times.modified, entry.times.changed,
                            entry.bytes, escape_path(entry.path));
    const auto digest = core::hmac_sha256(key, text);
    text += fmt::format("{}{}\n", kSignature, core::to_hex(digest));
    return text;
}

Result<PurgeList> read_signed_list(std::string_view text, std::string_view key, const std::string& file) {
    const size_t trailer = kSignature.size() + kDigits + 1;
    if (!text.starts_with(kFirstLine))
        return core::bad_input("{}: is not a list of belay stage retention", file);
    if (text.size() < kFirstLine.size() + trailer || !text.ends_with('\n') ||
        !text.substr(text.size() - trailer).starts_with(kSignature))
        return core::bad_input("{}: has no signature at its end", file)
            .hint("the list was cut off or changed; make it again with --list");
    const std::string_view content = text.substr(0, text.size() - trailer);
    const auto digest = core::hmac_sha256(key, content);
    core::Sha256Digest given{};
    const std::string_view digits = text.substr(text.size() - trailer + kSignature.size(), kDigits);
    bool are_digits = true;
    for (size_t at = 0; at < given.size(); ++at) {
        const auto byte = byte_value(digits.substr(2 * at));
        are_digits = are_digits && byte.has_value();
        given[at] = static_cast<uint8_t>(byte.value_or(0));
    }
    if (!are_digits || !core::same_digest(digest, core::bytes_of(given)))
        return core::bad_input("{}: its signature does not match", file)
            .hint("the list was changed, or signed with another key; make it again with --list");

    Lines lines(content);
    auto wrong = [&] { return core::bad_input("{}:{}: is not a line of such a list", file, lines.number()); };
    (void)lines.next();
    PurgeList list;
    const auto root = lines.value("root");
    const auto made = lines.value("made");
    const auto time = lines.value("timestamp");
    const auto days = lines.value("older_than_days");
    const auto ask = lines.value("ask");
    const auto spare = lines.value("spare_days");
    const auto files = lines.value("files");
    const auto count = files ? core::parse_number<uint64_t>(*files) : std::nullopt;
    const auto which = time ? parse_time_name(*time) : std::nullopt;
    const auto age = days ? core::parse_number<double>(*days) : std::nullopt;
    const auto ask_share = ask ? core::parse_number<double>(*ask) : std::nullopt;
    const auto spare_days = spare ? core::parse_number<double>(*spare) : std::nullopt;
    if (!root || !made || !count || !which || !age || !ask_share || !spare_days) return wrong();
    auto root_path = unescape_path(*root);
    if (!root_path)
        return std::unexpected(std::move(root_path.error()).context(fmt::format("{}: its root", file)));
    if (!root_path->starts_with('/'))
        return core::bad_input("{}: its root {} is not an absolute path", file, core::printable(*root_path));
    BELAY_TRY(made_at, core::parse_time(*made));
    list.root = std::move(*root_path);
    list.made = made_at;
    list.time = *which;
    list.days = *age;
    list.ask_share = *ask_share;
    list.spare_days = *spare_days;
    while (const auto line = lines.next()) {
        auto entry = parse_entry(*line);
        if (!entry) return wrong();
        list.entries.push_back(std::move(*entry));
    }
    if (list.entries.size() != *count)
        return core::bad_input("{}: says {} and names {}", file, core::format_count(*count, "file"),
                               list.entries.size());
    return list;
}

Result<std::string> read_key(const std::filesystem::path& file) {
    BELAY_TRY(opened, core::open_file(file, O_RDONLY | O_NONBLOCK));
    struct stat status{};
    if (fstat(opened.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", file.string()));
    if (!S_ISREG(status.st_mode))
        return core::bad_input("{} is not a file", file.string()).hint("name a file with a key");
    if ((status.st_mode & 077U) != 0)
        return core::bad_input("{} can be read or written by others, so its key proves nothing",
                               file.string())
            .hint(fmt::format("chmod 600 {}, and make a new key if it was read", file.string()));
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return core::bad_input("{} belongs to another user, who could sign with its key", file.string())
            .hint("name a key of your own");
    BELAY_TRY(key, core::read_opened(opened.get(), file, kMostKeyBytes));
    if (key.size() < kLeastKeyBytes)
        return core::bad_input("{} holds {} bytes, and a key has {} at least", file.string(), key.size(),
                               kLeastKeyBytes)
            .hint(fmt::format("make one: (umask 077 && head -c 32 /dev/urandom > {})", file.string()));
    return key;
}

}  // namespace belay::stage

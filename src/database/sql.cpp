#include "database/sql.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <cctype>

namespace belay::database {

using core::bad_input;
using core::Result;

namespace {

enum class Kind { kBlank, kComment, kQuoted, kWord, kNumber, kParameter, kBraces, kSemicolon, kOther };

struct Piece {
    Kind kind = Kind::kOther;
    std::string_view text;
};

struct DialectWord {
    std::string_view word, sqlite, postgres;
};

// Whole numbers are 64 bits wide and texts are ordered by their bytes on both. "{now}" is the engine's own clock in
// microseconds UTC; SQLite's counts milliseconds, and both of its calls read the same time within a statement.
constexpr DialectWord kDialectWords[] = {
    {"{id}", "INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
    {"{int64}", "INTEGER", "BIGINT"},
    {"{double}", "REAL", "DOUBLE PRECISION"},
    {"{text}", "TEXT", "TEXT COLLATE \"C\""},
    {"{bytes}", "BLOB", "BYTEA"},
    {"{strict}", "STRICT", ""},
    {"{now}",
     "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) "
     "* 1000)",
     "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"},
};

// Transactions are begun and ended by Database only; the others change what a connection is.
constexpr std::string_view kWordsOfOurs[] = {"abort",    "attach", "begin",     "commit", "copy",
                                             "detach",   "end",    "listen",    "pragma", "prepare",
                                             "rollback", "set",    "savepoint", "start",  "release"};

bool begins_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit_of_sql(char c) {
    return c >= '0' && c <= '9';
}
bool is_in_word(char c) {
    return begins_word(c) || is_digit_of_sql(c);
}
bool is_blank_of_sql(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

template <typename Predicate>
size_t length_while(std::string_view text, const Predicate& predicate) {
    return static_cast<size_t>(std::ranges::find_if_not(text, predicate) - text.begin());
}

Result<size_t> comment_length(std::string_view text) {
    if (text.starts_with("--")) return std::min(text.find('\n'), text.size());
    size_t end = text.find("*/", 2);
    if (end == std::string_view::npos) return bad_input("a comment does not end");
    if (text.substr(2, end - 2).find("/*") != std::string_view::npos)
        return bad_input("a comment within a comment, which only PostgreSQL knows");
    return end + 2;
}

// A quote within is written twice, so that what follows it is the next piece.
Result<size_t> quoted_length(std::string_view text) {
    size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos) return bad_input("a quote does not end");
    return end + 1;
}

// E'', X'', B'', U&'': the engines read these differently.
Result<size_t> word_length(std::string_view text) {
    size_t length = length_while(text, is_in_word);
    std::string_view rest = text.substr(length);
    if (rest.starts_with("&'") || rest.starts_with("&\"")) rest.remove_prefix(1);
    if (rest.starts_with('\'') || rest.starts_with('"'))
        return bad_input("\"{}\" right before a quote means something else to each engine",
                         core::printable(text.substr(0, length)))
            .hint("write a parameter, or a blank before the quote");
    return length;
}

Result<size_t> parameter_length(std::string_view text) {
    if (text.size() > 1 && (is_in_word(text[1]) || text[1] == '?'))
        return bad_input("a parameter is one \"?\", they are numbered as they come");
    return 1;
}

Result<size_t> braces_length(std::string_view text) {
    size_t end = text.find('}');
    if (end == std::string_view::npos) return bad_input("a brace does not end");
    return end + 1;
}

Result<size_t> other_length(std::string_view text) {
    constexpr std::string_view kOwnUse = "$:@#[]`\\}";
    if (kOwnUse.find(text[0]) == std::string_view::npos && text[0] > ' ' && text[0] < 0x7f) return 1;
    return bad_input("the character {} is not part of what both engines understand",
                     text[0] > ' ' && text[0] < 0x7f ? std::string(1, text[0])
                                                     : fmt::format("0x{:02x}", static_cast<uint8_t>(text[0])))
        .hint("write \"?\" for a parameter and CAST(x AS type) for a conversion");
}

Kind kind_of(std::string_view text) {
    char first = text[0];
    if (is_blank_of_sql(first)) return Kind::kBlank;
    if (text.starts_with("--") || text.starts_with("/*")) return Kind::kComment;
    if (first == '\'' || first == '"') return Kind::kQuoted;
    if (begins_word(first)) return Kind::kWord;
    if (is_digit_of_sql(first)) return Kind::kNumber;
    if (first == '?') return Kind::kParameter;
    if (first == '{') return Kind::kBraces;
    return first == ';' ? Kind::kSemicolon : Kind::kOther;
}

Result<size_t> length_of(Kind kind, std::string_view text) {
    switch (kind) {
        case Kind::kBlank:
            return length_while(text, is_blank_of_sql);
        case Kind::kComment:
            return comment_length(text);
        case Kind::kQuoted:
            return quoted_length(text);
        case Kind::kWord:
            return word_length(text);
        case Kind::kNumber:
            return length_while(text, [](char c) { return is_in_word(c) || c == '.'; });
        case Kind::kParameter:
            return parameter_length(text);
        case Kind::kBraces:
            return braces_length(text);
        case Kind::kSemicolon:
            return 1;
        case Kind::kOther:
            return other_length(text);
    }
    return 1;
}

// A text in pieces that follow one another.
class Pieces {
  public:
    explicit Pieces(std::string_view sql) : sql_(sql) {}

    bool is_at_end() const { return at_ == sql_.size(); }
    size_t at() const { return at_; }
    Result<Piece> take() {
        std::string_view rest = sql_.substr(at_);
        Kind kind = kind_of(rest);
        auto length = length_of(kind, rest);
        if (!length) return std::unexpected(std::move(length.error()).context(place()));
        at_ += *length;
        return Piece{kind, rest.substr(0, *length)};
    }
    // "SQL, line 3".
    std::string place() const {
        return fmt::format("SQL, line {}", 1 + std::ranges::count(sql_.substr(0, at_), '\n'));
    }

  private:
    std::string_view sql_;
    size_t at_ = 0;
};

Result<std::string_view> dialect_word(std::string_view word, Engine engine) {
    for (const DialectWord& row : kDialectWords)
        if (row.word == word) return engine == Engine::kSqlite ? row.sqlite : row.postgres;
    std::string known;
    for (const DialectWord& row : kDialectWords) known += fmt::format(" {}", row.word);
    return bad_input("unknown word {}", core::printable(word)).hint("the words are" + known);
}

// One statement being put together.
class Translation {
  public:
    explicit Translation(Engine engine) : engine_(engine) {}

    Result<> add(const Piece& piece) {
        const bool is_nothing = piece.kind == Kind::kBlank || piece.kind == Kind::kComment;
        if (ended_ && !is_nothing) return bad_input("more than one statement");
        if (piece.kind == Kind::kSemicolon) {
            ended_ = true;
            return {};
        }
        if (!begun_ && !is_nothing) BELAY_CHECK(begin(piece));
        return append(piece);
    }
    Result<NativeStatement> finish() && {
        if (!begun_) return bad_input("no statement");
        return std::move(statement_);
    }

  private:
    Result<> begin(const Piece& first) {
        begun_ = true;
        const std::string word = core::lower_case(first.text);
        if (std::ranges::find(kWordsOfOurs, word) != std::end(kWordsOfOurs))
            return bad_input("{} is not for statements", core::printable(first.text))
                .hint("transactions are functions: Database::write and Database::read");
        return {};
    }
    Result<> append(const Piece& piece) {
        if (piece.kind == Kind::kParameter) ++statement_.parameters;
        if (piece.kind == Kind::kBraces) {
            BELAY_TRY(word, dialect_word(piece.text, engine_));
            statement_.sql += word;
        } else if (piece.kind == Kind::kParameter && engine_ == Engine::kPostgres) {
            statement_.sql += fmt::format("${}", statement_.parameters);
        } else {
            statement_.sql += piece.text;
        }
        return {};
    }

    Engine engine_;
    NativeStatement statement_;
    bool begun_ = false, ended_ = false;
};

}  // namespace

std::string_view engine_name(Engine engine) {
    return engine == Engine::kSqlite ? "SQLite" : "PostgreSQL";
}

Result<NativeStatement> to_native(std::string_view sql, Engine engine) {
    if (sql.find('\0') != std::string_view::npos) return bad_input("SQL with a NUL");
    Pieces pieces(sql);
    Translation translation(engine);
    while (!pieces.is_at_end()) {
        const std::string place = pieces.place();
        BELAY_TRY(piece, pieces.take());
        BELAY_CHECK(core::with_context(translation.add(piece), place));
    }
    return core::with_context(std::move(translation).finish(), "SQL");
}

Result<std::vector<std::string_view>> split_statements(std::string_view script) {
    std::vector<std::string_view> statements;
    Pieces pieces(script);
    size_t begin = 0;
    bool is_empty = true;
    auto end_at = [&](size_t end) {
        if (!is_empty) statements.push_back(script.substr(begin, end - begin));
        is_empty = true;
    };
    while (!pieces.is_at_end()) {
        const size_t at = pieces.at();
        BELAY_TRY(piece, pieces.take());
        if (piece.kind == Kind::kSemicolon) {
            end_at(at);
            begin = pieces.at();
        } else if (piece.kind != Kind::kBlank && piece.kind != Kind::kComment) {
            is_empty = false;
        }
    }
    end_at(script.size());
    return statements;
}

}  // namespace belay::database

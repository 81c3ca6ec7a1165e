#include "database/place.h"

#include "core/text.h"
#include "core/utf8.h"

#include <libpq-fe.h>
#include <memory>

namespace belay::database {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kSqlitePrefix = "sqlite:";
constexpr std::string_view kHint =
    "write sqlite:FILE, postgresql://USER@HOST/DATABASE or \"host=HOST dbname=DATABASE\"";

Result<Place> sqlite_place(std::string_view file) {
    // SQLite takes "" and ":memory:" for databases that are gone with their connection.
    if (file.empty() || file.starts_with(':'))
        return bad_input("\"sqlite:\" is followed by the path of a file").hint(kHint);
    return Place{
        .engine = Engine::kSqlite, .file = file, .settings = {}, .name = fmt::format("sqlite:{}", file)};
}

std::string name_of(const std::map<std::string, std::string>& settings) {
    std::string name = "PostgreSQL";
    for (const char* keyword : {"service", "host", "hostaddr", "port", "dbname", "user"})
        if (auto found = settings.find(keyword); found != settings.end())
            name += fmt::format(" {}={}", keyword, core::printable(found->second));
    return name;
}

Result<Place> postgres_place(const std::string& text) {
    struct Free {
        void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
    };
    char* why = nullptr;
    const std::unique_ptr<PQconninfoOption, Free> options(PQconninfoParse(text.c_str(), &why));
    const std::unique_ptr<char, decltype(&PQfreemem)> message(why, &PQfreemem);
    if (!options)
        return bad_input("the place of a database: {}", core::trim(why != nullptr ? why : "out of memory"))
            .hint(kHint);
    Place place{.engine = Engine::kPostgres, .file = {}, .settings = {}, .name = {}};
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option)
        if (option->val != nullptr) place.settings[option->keyword] = option->val;
    place.name = name_of(place.settings);
    return place;
}

}  // namespace

Result<Place> parse_place(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return bad_input("the place of a database has a NUL");
    if (text.starts_with(kSqlitePrefix)) return sqlite_place(text.substr(kSqlitePrefix.size()));
    const bool is_url = text.starts_with("postgresql://") || text.starts_with("postgres://");
    if (!is_url && text.find('=') == std::string_view::npos)
        return bad_input("\"{}\" does not say where a database is", core::printable(text)).hint(kHint);
    return postgres_place(std::string(text));
}

}  // namespace belay::database

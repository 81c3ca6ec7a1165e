#include "record/archive/duckdb_api.h"

#include <dlfcn.h>
#include <mutex>

namespace belay::record {

using core::Result;

namespace {

Result<DuckdbApi> load() {
    void* library = dlopen("libduckdb.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return core::system_error("cannot load DuckDB: {}", dlerror())
            .hint("run ./bootstrap, or put libduckdb.so into the lib directory beside belay's bin");
    DuckdbApi api{};
#define BELAY_DUCKDB_LOAD(name)                                                                   \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "duckdb_" #name));             \
    if (api.name == nullptr)                                                                      \
        return core::system_error("libduckdb.so has no function duckdb_" #name ": it is too old") \
            .hint("Belay needs DuckDB 1.4");
    BELAY_DUCKDB_FUNCTIONS(BELAY_DUCKDB_LOAD)
#undef BELAY_DUCKDB_LOAD
    return api;
}

}  // namespace

Result<const DuckdbApi*> duckdb_api() {
    static std::once_flag once;
    static Result<DuckdbApi> api = core::system_error("DuckDB is not loaded");
    std::call_once(once, [] { api = load(); });
    if (!api) return std::unexpected(api.error());
    return &*api;
}

}  // namespace belay::record

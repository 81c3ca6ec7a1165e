// Environment files: whatever a file says, it is read, resolved and written out; what is written reads back
// without errors.
#include "env/edf_writer.h"
#include "env/env_testing.h"
#include "env/json.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay;
    env::testing::FakeHost fake;
    fake.write("/w/base.toml", "image = 'a'\n[env]\nA = '1'\n");
    env::Environment first = fake.load(std::string(reinterpret_cast<const char*>(data), size));
    auto variables = fake.variables(first);
    (void)env::render(fake.problems);
    (void)env::to_json("job.toml", false, fake.problems)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (env::has_errors(fake.problems)) return 0;
    for (const env::Mount& mount : first.mounts)  // no colon can be written beside a brace
        if (mount.text().find('}') != std::string::npos) return 0;
    env::Environment second = fake.load(env::to_edf(first, variables, true));
    if (env::has_errors(fake.problems)) std::abort();
    if (env::to_json(first, variables, false) != env::to_json(second, fake.variables(second), false))
        std::abort();
    return 0;
}

#include "spank/plugin/configuration.h"

#include "spank/plugin/plugin.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::spank {

Choice choices[kOptions] = {
    {"environment", "NAME|FILE", "run the tasks in this environment (belay env)", 1, false, nullptr},
    {"vet", "PROTOCOL", "check the nodes first, run no task if one fails (belay vet)", 1, false, nullptr},
    {"record", "INTERVAL", "record the step: --record or --record=5s (belay record)", 2, false, nullptr},
    {"stage", "SRC:DST",
     "copy SRC to DST on each node before the tasks start (belay stage copy); %j in DST is the job", 1, false,
     nullptr},
};

Configuration configuration = {"", "/etc/belay/off", ""};

void keep(char* text, size_t size, const char* format, ...) {
    if (text[0] != '\0') return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
}
#define BELAY_MISTAKE(...) keep(configuration.mistake, sizeof configuration.mistake, __VA_ARGS__)

namespace {

void set_text(char* target, size_t size, const char* what, const char* value) {
    if (value[0] == '\0' || strlen(value) >= size)
        BELAY_MISTAKE("%s in plugstack.conf: empty or too long", what);
    else
        snprintf(target, size, "%s", value);
}

}  // namespace

void read_configuration(int count, char** words) {
    if (!find_step_program(configuration.step, sizeof configuration.step))
        BELAY_MISTAKE("belay-step is not beside the plugin; name it in plugstack.conf: step=PATH");
    struct {
        const char* key;
        char* target;
        size_t size;
    } const keys[] = {
        {"environment_option=", choices[kEnvironment].name, sizeof choices[0].name},
        {"vet_option=", choices[kVet].name, sizeof choices[0].name},
        {"record_option=", choices[kRecord].name, sizeof choices[0].name},
        {"stage_option=", choices[kStage].name, sizeof choices[0].name},
        {"step=", configuration.step, sizeof configuration.step},
        {"switch=", configuration.switch_file, sizeof configuration.switch_file},
    };
    for (int i = 0; i < count; ++i) {
        bool known = false;
        for (const auto& [key, target, size] : keys) {
            if (strncmp(words[i], key, strlen(key)) != 0) continue;
            known = true;
            set_text(target, size, key, words[i] + strlen(key));
        }
        if (!known)
            BELAY_MISTAKE(
                "unknown word \"%.80s\" in plugstack.conf; there are environment_option=, vet_option=, "
                "record_option=, stage_option=, step= and switch=",
                words[i]);
    }
}

bool has_mistake() {
    if (configuration.mistake[0] == '\0' && access(configuration.step, X_OK) != 0)
        BELAY_MISTAKE("%.200s: %s", configuration.step, strerror(errno));
    return configuration.mistake[0] != '\0';
}

bool is_off(char* reason, size_t size) {
    struct stat facts{};
    reason[0] = '\0';
    if (lstat(configuration.switch_file, &facts) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return false;
        // It may be there: who cannot tell stays out of the way.
        return snprintf(reason, size, "its switch cannot be looked at: %s", strerror(errno)) > 0;
    }
    if (facts.st_uid != 0) return false;
    // It may be a FIFO, which would hang.
    if (S_ISREG(facts.st_mode) && facts.st_size > 0) {
        if (FILE* file = fopen(configuration.switch_file, "re")) {
            if (fgets(reason, static_cast<int>(size), file) != nullptr) reason[strcspn(reason, "\n")] = '\0';
            fclose(file);
        }
    }
    return true;
}

}  // namespace belay::spank

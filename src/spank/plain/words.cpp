#include "spank/plain/words.h"

#include "spank/plain/wire.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace belay::spank {

namespace {

size_t count_of(char** words) {
    size_t count = 0;
    while (words != nullptr && words[count] != nullptr) ++count;
    return count;
}

char* joined(const char* first, const char* second) {
    size_t size = strlen(first) + strlen(second) + 1;
    char* text = static_cast<char*>(malloc(size));
    if (text != nullptr) snprintf(text, size, "%s%s", first, second);
    return text;
}

char* text_of(int number) {
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return strdup(text);
}

}  // namespace

char** program_arguments(const char* verb, const int* numbers, size_t count, char** command) {
    size_t words = count_of(command);
    char** arguments = static_cast<char**>(calloc(words + count + 3, sizeof *arguments));
    if (arguments == nullptr) return nullptr;
    char** next = arguments;
    *next++ = const_cast<char*>("belay-step");
    *next++ = const_cast<char*>(verb);
    for (size_t i = 0; i < count; ++i)
        if ((*next++ = text_of(numbers[i])) == nullptr) return nullptr;
    for (size_t i = 0; i < words; ++i) *next++ = command[i];
    return arguments;
}

char** program_environment(char** variables, const char* plan) {
    size_t count = count_of(variables);
    char** entries = static_cast<char**>(calloc(count + 2, sizeof *entries));
    if (entries == nullptr) return nullptr;
    for (size_t i = 0; i < count; ++i) {
        bool heeded = strncmp(variables[i], "LD_", 3) == 0;
        entries[i] = joined(heeded ? kLoaderPrefix : "", variables[i]);
        if (entries[i] == nullptr) return nullptr;
    }
    if (plan == nullptr) return entries;
    char name[sizeof kPlanVariable + 1];
    snprintf(name, sizeof name, "%s=", kPlanVariable);
    entries[count] = joined(name, plan);
    return entries[count] == nullptr ? nullptr : entries;
}

}  // namespace belay::spank

#include "spank/plain/words.h"

#include "spank/plain/wire.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace belay::spank {

namespace {

constexpr size_t kNumberSize = sizeof "-2147483648";

size_t count_of(char** words) {
    size_t count = 0;
    while (words != nullptr && words[count] != nullptr) ++count;
    return count;
}

// A list that is filled from the front, and behind it the texts that it owns.
struct List {
    List(size_t words, size_t text_size)
        : first(static_cast<char**>(malloc((words + 1) * sizeof(char*) + text_size))),
          next(first),
          text(first == nullptr ? nullptr : reinterpret_cast<char*>(first + words + 1)) {}

    void add(const char* word) { *next++ = const_cast<char*>(word); }
    void add_joined(const char* start, const char* rest) {
        add(text);
        text = stpcpy(stpcpy(text, start), rest) + 1;
    }
    void add_number(int number) {
        add(text);
        text += snprintf(text, kNumberSize, "%d", number) + 1;
    }
    char** end() {
        add(nullptr);
        return first;
    }

    char** first;
    char** next;
    char* text;
};

// What stands before a variable's name.
const char* prefix_of(const char* variable) {
    return strncmp(variable, "LD_", 3) == 0 ? kLoaderPrefix : "";
}

}  // namespace

char** program_arguments(const char* verb, const int* numbers, size_t count, char** command) {
    size_t words = count_of(command);
    List list(2 + count + words, count * kNumberSize);
    if (list.first == nullptr) return nullptr;
    list.add("belay-step");
    list.add(verb);
    for (size_t i = 0; i < count; ++i) list.add_number(numbers[i]);
    for (size_t i = 0; i < words; ++i) list.add(command[i]);
    return list.end();
}

char** program_environment(char** variables, const char* plan) {
    size_t count = count_of(variables);
    size_t size = plan == nullptr ? 0 : strlen(kPlanVariable) + strlen("=") + strlen(plan) + 1;
    for (size_t i = 0; i < count; ++i) size += strlen(prefix_of(variables[i])) + strlen(variables[i]) + 1;
    List list(count + 1, size);
    if (list.first == nullptr) return nullptr;
    for (size_t i = 0; i < count; ++i) list.add_joined(prefix_of(variables[i]), variables[i]);
    if (plan == nullptr) return list.end();
    char name[sizeof kPlanVariable + 1];
    snprintf(name, sizeof name, "%s=", kPlanVariable);
    list.add_joined(name, plan);
    return list.end();
}

}  // namespace belay::spank

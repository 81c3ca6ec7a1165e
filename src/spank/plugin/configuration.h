// What plugstack.conf says of the plugin, and what srun was given of its options. One of each in a process.
#pragma once

#include <cstddef>

namespace belay::spank {

enum { kEnvironment, kVet, kRecord, kStage, kOptions };

struct Choice {
    char name[75];  // as long as Slurm takes them (SPANK_OPTION_MAXLEN)
    const char* argument;
    const char* usage;
    int has_argument;  // as of getopt_long(3): 1 required, 2 optional
    bool used;
    char* value;  // nothing if it was given without
};
extern Choice choices[kOptions];

struct Configuration {
    char step[4096];         // the program beside us
    char switch_file[4096];  // the plugin is off while this file of root's exists
    char mistake[256];       // reported when one of our options is used, never before
};
extern Configuration configuration;

// The words after the plugin's path. What is wrong becomes the mistake.
void read_configuration(int count, char** words);

// To be asked where one of our options is used; of other steps nothing is looked at.
bool has_mistake();

// Whether root has switched the plugin off; `reason` gets the first line of the file.
bool is_off(char* reason, size_t size);

// Formats into `text`, unless there is something already: the first failure explains those after it.
__attribute__((format(printf, 3, 4))) void keep(char* text, size_t size, const char* format, ...);

}  // namespace belay::spank

#include "iotrace/preload/next.h"

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <link.h>

namespace belay::iotrace::preload {

namespace {

extern "C" int iterate_objects(int (*callback)(dl_phdr_info*, size_t, void*),
                               void* data) __asm__("dl_iterate_phdr") __attribute__((weak));

struct Wanted {
    const char* name = nullptr;
    void* found = nullptr;
};
struct Search {
    Wanted* wanted;
    size_t count;
    bool is_behind_us = false;
};

// What lies between these two is put there by BELAY_NEXT.
extern "C" NextFunction first_function[] __asm__("__start_belay_next") __attribute__((visibility("hidden")));
extern "C" NextFunction functions_end[] __asm__("__stop_belay_next") __attribute__((visibility("hidden")));
constexpr size_t kMostFunctions = 128;
constexpr size_t kLongestName = 32;

struct Symbols {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    const uint32_t* gnu_hash = nullptr;
    const uint32_t* hash = nullptr;
    const ElfW(Half) * versions = nullptr;
};

bool equal(const char* a, const char* b) {
    for (; *a != '\0' && *a == *b; ++a, ++b) {
    }
    return *a == *b;
}

// The dynamic linker of glibc puts addresses into the table, that of musl leaves what the file says.
template <typename T>
const T* address_of(const dl_phdr_info& object, ElfW(Addr) value) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the dynamic linker
    return reinterpret_cast<const T*>(value < object.dlpi_addr ? value + object.dlpi_addr : value);
}

Symbols symbols_of(const dl_phdr_info& object) {
    Symbols found;
    for (size_t i = 0; i < object.dlpi_phnum; ++i) {
        if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const auto* entry =
            // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the dynamic linker
            reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) {
            const ElfW(Addr) value = entry->d_un.d_ptr;
            if (entry->d_tag == DT_SYMTAB) found.symbols = address_of<ElfW(Sym)>(object, value);
            if (entry->d_tag == DT_STRTAB) found.names = address_of<char>(object, value);
            if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = address_of<uint32_t>(object, value);
            if (entry->d_tag == DT_HASH) found.hash = address_of<uint32_t>(object, value);
            if (entry->d_tag == DT_VERSYM) found.versions = address_of<ElfW(Half)>(object, value);
        }
    }
    return found;
}

// Picks the version that programs get which are linked today, and an old one only where that is all there is:
// old programs call __xstat, which a new glibc keeps for them.
struct Choice {
    const ElfW(Sym) * chosen = nullptr;
    bool is_old = true;

    void look_at(const Symbols& in, uint32_t index, const char* name) {
        const ElfW(Sym)& symbol = in.symbols[index];
        if (symbol.st_shndx == SHN_UNDEF || (symbol.st_info & 0xf) != STT_FUNC) return;
        if (!equal(in.names + symbol.st_name, name)) return;
        const bool is_old_one = in.versions != nullptr && (in.versions[index] & 0x8000) != 0;
        if (chosen != nullptr && (is_old_one || !is_old)) return;
        chosen = &symbol;
        is_old = is_old_one;
    }
};

// The table as GNU ld writes it: buckets, a filter in front, chains whose last hash is odd.
// https://sourceware.org/gnu-gabi/program-loading-and-dynamic-linking.txt
void look_by_gnu_hash(const Symbols& in, const char* name, Choice& choice) {
    const uint32_t buckets = in.gnu_hash[0], first = in.gnu_hash[1], filter_words = in.gnu_hash[2],
                   shift = in.gnu_hash[3];
    const auto* filter = reinterpret_cast<const ElfW(Addr)*>(in.gnu_hash + 4);
    const auto* bucket = reinterpret_cast<const uint32_t*>(filter + filter_words);
    if (buckets == 0 || filter_words == 0) return;
    uint32_t hash = 5381;
    for (const char* at = name; *at != '\0'; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
    constexpr uint32_t kBits = 8 * sizeof(ElfW(Addr));
    const ElfW(Addr) both = ElfW(Addr){1} << hash % kBits | ElfW(Addr){1} << (hash >> shift) % kBits;
    if ((filter[hash / kBits % filter_words] & both) != both) return;
    uint32_t index = bucket[hash % buckets];
    if (index < first) return;
    for (;; ++index) {
        const uint32_t link = bucket[buckets + index - first];
        if ((link | 1) == (hash | 1)) choice.look_at(in, index, name);
        if ((link & 1) != 0) return;
    }
}

// System V ABI, "Hash Table".
void look_by_hash(const Symbols& in, const char* name, Choice& choice) {
    const uint32_t buckets = in.hash[0];
    if (buckets == 0) return;
    uint32_t hash = 0;
    for (const char* at = name; *at != '\0'; ++at) {
        hash = (hash << 4) + static_cast<unsigned char>(*at);
        const uint32_t high = hash & 0xf0000000;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    for (uint32_t index = in.hash[2 + hash % buckets]; index != 0; index = in.hash[2 + buckets + index])
        choice.look_at(in, index, name);
}

const char inside_this_library = 0;

bool is_this_library(const dl_phdr_info& object) {
    const auto place = reinterpret_cast<ElfW(Addr)>(&inside_this_library);
    for (size_t i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && place - (object.dlpi_addr + part.p_vaddr) < part.p_memsz) return true;
    }
    return false;
}

int look_into(dl_phdr_info* object, size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (!search.is_behind_us) {
        search.is_behind_us = is_this_library(*object);
        return 0;
    }
    const Symbols symbols = symbols_of(*object);
    if (symbols.symbols == nullptr || symbols.names == nullptr) return 0;
    bool is_all = true;
    for (size_t i = 0; i < search.count; ++i) {
        Wanted& wanted = search.wanted[i];
        if (wanted.name == nullptr || wanted.found != nullptr) continue;
        Choice choice;
        if (symbols.gnu_hash != nullptr)
            look_by_gnu_hash(symbols, wanted.name, choice);
        else if (symbols.hash != nullptr)
            look_by_hash(symbols, wanted.name, choice);
        if (choice.chosen != nullptr)
            // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the dynamic linker
            wanted.found = reinterpret_cast<void*>(object->dlpi_addr + choice.chosen->st_value);
        else
            is_all = false;
    }
    return is_all ? 1 : 0;
}

void look_for(Wanted* wanted, size_t count) {
    Search search{.wanted = wanted, .count = count};
    iterate_objects(look_into, &search);
}

// "open" for "open64", "__pread_chk" for "__pread64_chk"; nullptr for one without.
const char* plain_name(const char* name, char (&plain)[kLongestName]) {
    size_t length = 0;
    bool is_plain = true;
    for (const char* at = name; *at != '\0'; ++at) {
        if (is_plain && at[0] == '6' && at[1] == '4') {
            is_plain = false;
            ++at;
        } else if (length + 1 < kLongestName) {
            plain[length++] = *at;
        }
    }
    plain[length] = '\0';
    return is_plain ? nullptr : plain;
}

}  // namespace

void* find_next(const char* name) {
    if (iterate_objects == nullptr) return nullptr;
    Wanted wanted{.name = name};
    look_for(&wanted, 1);
    char plain[kLongestName];
    if (wanted.found == nullptr && plain_name(name, plain) != nullptr) {
        wanted.name = plain;
        look_for(&wanted, 1);
    }
    return wanted.found;
}

void find_all() {
    if (iterate_objects == nullptr) return;
    static Wanted wanted[kMostFunctions];  // not on the stack: clearing it there would take a memset
    static char plain[kMostFunctions][kLongestName];
    const auto count = static_cast<size_t>(functions_end - first_function);
    for (size_t i = 0; i < count && i < kMostFunctions; ++i)
        if (first_function[i].found.load(std::memory_order_relaxed) == nullptr)
            wanted[i].name = first_function[i].name;
    look_for(wanted, count < kMostFunctions ? count : kMostFunctions);
    bool is_some_left = false;
    for (size_t i = 0; i < count && i < kMostFunctions; ++i) {
        if (wanted[i].name == nullptr || wanted[i].found != nullptr) continue;
        wanted[i].name = plain_name(first_function[i].name, plain[i]);
        is_some_left |= wanted[i].name != nullptr;
    }
    if (is_some_left) look_for(wanted, count < kMostFunctions ? count : kMostFunctions);
    for (size_t i = 0; i < count && i < kMostFunctions; ++i)
        if (wanted[i].found != nullptr)
            first_function[i].found.store(wanted[i].found, std::memory_order_relaxed);
}

}  // namespace belay::iotrace::preload

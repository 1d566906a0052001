/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See elf.h. Nothing in the file is trusted: it may be damaged, or of a kind that only its device understands. */
#include "util/file/elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct span {
    const char *at;
    size_t bytes;
} span;

/* `bytes` from `offset` on; of none of it if that is not inside. */
static span part(span whole, uint64_t offset, uint64_t bytes)
{
    bool inside = offset <= whole.bytes && bytes <= whole.bytes - offset;
    return inside ? (span){whole.at + offset, bytes} : (span){0};
}

static bool copy(void *to, size_t bytes, span whole, uint64_t offset)
{
    span from = part(whole, offset, bytes);
    if (from.at)
        memcpy(to, from.at, bytes);
    return from.at;
}

static bool is_known(span file, Elf64_Ehdr *header)
{
    return copy(header, sizeof *header, file, 0) && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
           header->e_ident[EI_CLASS] == ELFCLASS64;
}

static bool read_section(span file, size_t i, Elf64_Shdr *section)
{
    Elf64_Ehdr header;
    return copy(&header, sizeof header, file, 0) && i < header.e_shnum &&
           copy(section, sizeof *section, file, header.e_shoff + i * sizeof *section);
}

static bool is_named(span strings, size_t offset, const char *name)
{
    size_t length = strlen(name) + 1;
    span own = part(strings, offset, length);
    return own.at && !memcmp(own.at, name, length);
}

static const void *contents(span file, const Elf64_Sym *symbol, size_t *size)
{
    Elf64_Shdr section;
    if (!read_section(file, symbol->st_shndx, &section))
        return NULL;
    *size = symbol->st_size;
    if (section.sh_type == SHT_NOBITS)
        return NULL;
    /* In files to be loaded symbols have addresses, as their sections do; in others, offsets. */
    uint64_t at = symbol->st_value - section.sh_addr;
    return part(part(file, section.sh_offset, section.sh_size), at, symbol->st_size).at;
}

static const void *find(span file, const Elf64_Shdr *table, const char *name, size_t *size)
{
    Elf64_Shdr section;
    Elf64_Sym symbol;
    if (!read_section(file, table->sh_link, &section))
        return NULL;
    span strings = part(file, section.sh_offset, section.sh_size);
    span symbols = part(file, table->sh_offset, table->sh_size);
    for (size_t at = 0; copy(&symbol, sizeof symbol, symbols, at); at += sizeof symbol)
        if (is_named(strings, symbol.st_name, name))
            return contents(file, &symbol, size);
    return NULL;
}

/* --- all that can be changed --------------------------------------------------- */

static bool begins(span strings, size_t offset, const char *prefix)
{
    span own = part(strings, offset, strlen(prefix));
    return own.at && !memcmp(own.at, prefix, strlen(prefix));
}

/* The compiler's, the linker's, and those of clang's OpenMP: entries, locks of critical sections. C++ reaches its
 * function for exceptions through a variable. */
static bool is_of_tools(span names, size_t offset)
{
    static const char *const prefixes[] = {"__", "_ZStL8__ioinit", "completed.", ".", "DW.ref."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(names, offset, prefixes[i]))
            return true;
    return false;
}

/* What is relocated when the file is loaded cannot be changed afterwards: tables of virtual functions. */
static bool can_be_changed(span file, span section_names, size_t i)
{
    Elf64_Shdr section;
    return read_section(file, i, &section) && (section.sh_flags & SHF_WRITE) &&
           !begins(section_names, section.sh_name, ".data.rel.ro") &&
           (begins(section_names, section.sh_name, ".data") || begins(section_names, section.sh_name, ".bss") ||
            begins(section_names, section.sh_name, ".tdata") || begins(section_names, section.sh_name, ".tbss"));
}

static span contents_of(span file, size_t i)
{
    Elf64_Shdr section;
    return read_section(file, i, &section) ? part(file, section.sh_offset, section.sh_size) : (span){0};
}

bool od_elf_has_variables(const void *file, size_t bytes)
{
    enum { CUDA = 190, AMDGPU = 224 }; /* e_machine */
    span whole = {file, bytes};
    Elf64_Ehdr header;
    Elf64_Shdr table;
    Elf64_Sym symbol;
    if (!is_known(whole, &header) || header.e_machine == CUDA || header.e_machine == AMDGPU)
        return false;
    span section_names = contents_of(whole, header.e_shstrndx);
    for (size_t i = 0; i < header.e_shnum && read_section(whole, i, &table); i++) {
        if (table.sh_type != SHT_SYMTAB)
            continue;
        span names = contents_of(whole, table.sh_link), symbols = part(whole, table.sh_offset, table.sh_size);
        for (size_t at = 0; copy(&symbol, sizeof symbol, symbols, at); at += sizeof symbol) {
            unsigned type = ELF64_ST_TYPE(symbol.st_info);
            if ((type == STT_OBJECT || type == STT_TLS) && symbol.st_size && !is_of_tools(names, symbol.st_name) &&
                can_be_changed(whole, section_names, symbol.st_shndx))
                return true;
        }
    }
    return false;
}

/* --- one --------------------------------------------------------------------------- */

const void *od_elf_variable(const void *file, size_t bytes, const char *name, size_t *size)
{
    span whole = {file, bytes};
    Elf64_Ehdr header;
    Elf64_Shdr section;
    if (!is_known(whole, &header))
        return NULL;
    for (size_t i = 0; i < header.e_shnum && read_section(whole, i, &section); i++)
        if (section.sh_type == SHT_SYMTAB)
            return find(whole, &section, name, size);
    return NULL;
}

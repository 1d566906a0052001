/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether an executable was built with offloading, without running it.
 *
 * clang leaves a section with the table of target regions (its name changed with LLVM 20)
 * or the embedded device images; a program whose regions are all in shared libraries
 * still names libomptarget among the libraries that it needs. Every offset read from the file is
 * checked: a damaged file is merely "plain".
 */
#include "tools/tools.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const offload_sections[] = {".llvm.offloading", "omp_offloading_entries", "llvm_offload_entries"};

typedef struct elf_file {
    const char *bytes; /* the mapped file */
    size_t size;
    Elf64_Ehdr header;
} elf_file;

/* Copies, because nothing in a file is aligned for sure. */
static bool read_at(const elf_file *file, uint64_t offset, void *to, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(to, file->bytes + offset, size);
    return true;
}

static bool read_section(const elf_file *file, size_t i, Elf64_Shdr *section)
{
    return i < file->header.e_shnum &&
           read_at(file, file->header.e_shoff + i * sizeof *section, section, sizeof *section);
}

/* True where the string at `offset` of a string table begins with `text`; `whole`: equals it. */
static bool string_is(const elf_file *file, const Elf64_Shdr *table, uint64_t offset, const char *text, bool whole)
{
    char buffer[64];
    size_t size = strlen(text) + (whole ? 1 : 0);

    return size <= sizeof buffer && offset < table->sh_size && read_at(file, table->sh_offset + offset, buffer, size) &&
           memcmp(buffer, text, size) == 0;
}

static bool is_offload_section(const elf_file *file, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
    for (size_t i = 0; i < sizeof offload_sections / sizeof *offload_sections; i++)
        if (string_is(file, names, section->sh_name, offload_sections[i], true))
            return true;
    return false;
}

static bool needs(const elf_file *file, const Elf64_Shdr *dynamic, const char *library)
{
    Elf64_Shdr strings;
    Elf64_Dyn entry;

    if (dynamic->sh_type != SHT_DYNAMIC || !read_section(file, dynamic->sh_link, &strings))
        return false;
    for (uint64_t at = 0; at < dynamic->sh_size; at += sizeof entry) {
        if (!read_at(file, dynamic->sh_offset + at, &entry, sizeof entry) || entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == DT_NEEDED && string_is(file, &strings, entry.d_un.d_val, library, false))
            return true;
    }
    return false;
}

/* Nothing that loads libraries is asked for. */
static bool is_static(const elf_file *file)
{
    Elf64_Phdr segment;

    for (size_t i = 0; i < file->header.e_phnum; i++) {
        if (!read_at(file, file->header.e_phoff + i * sizeof segment, &segment, sizeof segment) ||
            segment.p_type == PT_INTERP)
            return false;
    }
    return file->header.e_phnum && file->header.e_phentsize == sizeof segment;
}

static od_program_kind executable_kind(elf_file *file)
{
    Elf64_Shdr names, section;
    bool gcc = false;

    if (!read_at(file, 0, &file->header, sizeof file->header) || file->header.e_ident[EI_CLASS] != ELFCLASS64)
        return OD_PROGRAM_PLAIN;
    if (is_static(file))
        return OD_PROGRAM_STATIC;
    if (file->header.e_shentsize != sizeof section || !read_section(file, file->header.e_shstrndx, &names))
        return OD_PROGRAM_PLAIN;
    for (size_t i = 0; read_section(file, i, &section); i++) {
        if (is_offload_section(file, &names, &section) || needs(file, &section, "libomptarget.so"))
            return OD_PROGRAM_OFFLOADS;
        gcc |= needs(file, &section, "libgomp.so");
    }
    return gcc ? OD_PROGRAM_GCC : OD_PROGRAM_PLAIN;
}

static od_program_kind kind_of(elf_file *file)
{
    if (file->size >= 2 && memcmp(file->bytes, "#!", 2) == 0)
        return OD_PROGRAM_SCRIPT;
    if (file->size < SELFMAG || memcmp(file->bytes, ELFMAG, SELFMAG) != 0)
        return OD_PROGRAM_FOREIGN;
    return executable_kind(file);
}

/* The loader leaves out what is to be preloaded. */
static bool has_other_rights(const struct stat *info)
{
    return ((info->st_mode & S_ISUID) && info->st_uid != getuid()) ||
           ((info->st_mode & S_ISGID) && info->st_gid != getgid());
}

od_program_kind od_program_inspect(const char *path)
{
    struct stat info;
    od_program_kind kind = OD_PROGRAM_UNREADABLE;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return OD_PROGRAM_UNREADABLE;
    if (fstat(descriptor, &info) == 0 && info.st_size == 0)
        kind = OD_PROGRAM_FOREIGN;
    else if (has_other_rights(&info))
        kind = OD_PROGRAM_PRIVILEGED;
    else if (info.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            elf_file file = {.bytes = bytes, .size = (size_t)info.st_size};
            kind = kind_of(&file);
            munmap(bytes, file.size);
        }
    }
    close(descriptor);
    return kind;
}

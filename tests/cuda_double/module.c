/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Modules: an image for NVIDIA's devices (an ELF file, as ptxas writes it) gives the names of kernels and variables,
 * and what the variables hold at first.
 *
 * The code in it cannot be executed here. The same regions, compiled for LLVM's host devices, stand in for it: a shared
 * object, which every module opens anew, so that it has its own copies of variables, too, as a device has.
 */
#include "double.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MODULE_MAGIC = 0xc0de0004, IS_KERNEL = 0x10 }; /* STO_CUDA_ENTRY */

/* --- the kernels' shared object ------------------------------------------------ */

static const char *kernels_path(char *path, size_t size)
{
    if (cd.settings.kernels_file)
        return cd.settings.kernels_file;
    static const char suffix[] = ".kernels";
    ssize_t length = readlink("/proc/self/exe", path, size - sizeof suffix);
    if (length <= 0)
        return NULL;
    memcpy(path + length, suffix, sizeof suffix);
    return path;
}

static bool copy_file(int from, int to)
{
    char block[65536];
    ssize_t n;
    while ((n = read(from, block, sizeof block)) > 0)
        if (write(to, block, (size_t)n) != n)
            return false;
    return n == 0;
}

/* A file that has been opened already would be given out once more: so this is a copy of it. What it calls is found in
 * the libraries that it names (libomp) before all others: a library that is preloaded is not to see kernels. */
static void *open_kernels(void)
{
    char path[PATH_MAX], copy[64];
    const char *file = kernels_path(path, sizeof path);
    int from = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (from < 0)
        return NULL;
    int to = memfd_create("kernels", MFD_CLOEXEC);
    snprintf(copy, sizeof copy, "/proc/self/fd/%d", to);
    void *library = to >= 0 && copy_file(from, to) ? dlopen(copy, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    if (!library) {
        fprintf(stderr, "cuda double: %s: %s\n", file, to >= 0 ? dlerror() : "no copy can be made");
        abort();
    }
    close(
        from); /* the other stays open: the loader takes a file of the same name, so of the same number, for the same */
    return library;
}

/* --- images --------------------------------------------------------------------- */

static const Elf64_Shdr *sections_of(const char *image)
{
    return (const void *)(image + ((const Elf64_Ehdr *)(const void *)image)->e_shoff);
}

/* ABI 8 has moved the architecture by a byte. */
static unsigned arch_of(const Elf64_Ehdr *header)
{
    return header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
}

static od_cu_result check_image(const void *image)
{
    const Elf64_Ehdr *header = image;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != EM_CUDA)
        return CD_INVALID_IMAGE;
    unsigned arch = arch_of(header);
    if ((int)header->e_version / 10 > cd.settings.version / 1000)
        return CD_UNSUPPORTED_PTX_VERSION;
    bool fits = arch / 10 == cd.settings.arch / 10 && arch % 10 <= cd.settings.arch % 10;
    return fits ? OD_CU_SUCCESS : CD_NO_BINARY_FOR_GPU;
}

/* What .nv.info.NAME says of a kernel: a list of a format, a kind, and a number of 2 bytes, which with one of the
 * formats is how many more follow. */
static size_t parameter_bytes_of(const char *image, const char *name)
{
    enum { FOLLOWED = 4, PARAMETER_BYTES = 0x19 };
    const Elf64_Ehdr *header = (const void *)image;
    const char *names = image + sections_of(image)[header->e_shstrndx].sh_offset;
    static const char prefix[] = ".nv.info.";
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections_of(image)[i];
        const char *own = names + section->sh_name;
        if (strncmp(own, prefix, sizeof prefix - 1) || strcmp(own + sizeof prefix - 1, name))
            continue;
        const unsigned char *at = (const unsigned char *)image + section->sh_offset, *end = at + section->sh_size;
        while (at < end) {
            unsigned value = at[2] | (unsigned)at[3] << 8;
            if (at[1] == PARAMETER_BYTES)
                return value;
            at += 4 + (at[0] == FOLLOWED ? value : 0);
        }
    }
    return 0;
}

static od_cu_result add_symbol(od_cu_module module, const char *name, cd_allocation *variable, size_t parameter_bytes)
{
    cd_symbol *symbol = calloc(1, sizeof *symbol);
    char *copy = strdup(name);
    if (!symbol || !copy) {
        free(symbol);
        free(copy);
        return OD_CU_OUT_OF_MEMORY;
    }
    *symbol = (cd_symbol){copy, variable, parameter_bytes, NULL, module->symbols};
    module->symbols = symbol;
    return OD_CU_SUCCESS;
}

/* A variable that the kernels know is theirs; others have memory of their own, which begins as the image says. */
static od_cu_result add_variable(od_cu_module module, const char *name, const char *image, const Elf64_Sym *symbol)
{
    const Elf64_Shdr *section = &sections_of(image)[symbol->st_shndx];
    void *theirs = module->code ? dlsym(module->code, name) : NULL;
    cd_allocation *a = cd_allocation_create(module->context, symbol->st_size, theirs);
    if (!a)
        return OD_CU_OUT_OF_MEMORY;
    a->of_module = true;
    if (!theirs && section->sh_type == SHT_PROGBITS)
        memcpy((void *)a->address, image + section->sh_offset + symbol->st_value, symbol->st_size);
    return add_symbol(module, name, a, 0);
}

static od_cu_result read_symbols(od_cu_module module, const char *image, const Elf64_Shdr *table)
{
    const Elf64_Sym *symbols = (const void *)(image + table->sh_offset);
    const char *names = image + sections_of(image)[table->sh_link].sh_offset;
    od_cu_result result = OD_CU_SUCCESS;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols && !result; i++) {
        const Elf64_Sym *s = &symbols[i];
        const char *name = names + s->st_name;
        bool visible = ELF64_ST_BIND(s->st_info) != STB_LOCAL && s->st_shndx != SHN_UNDEF;
        if (visible && ELF64_ST_TYPE(s->st_info) == STT_FUNC && (s->st_other & IS_KERNEL))
            result = add_symbol(module, name, NULL, parameter_bytes_of(image, name));
        else if (visible && ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size)
            result = add_variable(module, name, image, s);
    }
    return result;
}

static od_cu_result read_image(od_cu_module module, const char *image)
{
    od_cu_result result = OD_CU_SUCCESS;
    for (unsigned i = 0; i < ((const Elf64_Ehdr *)(const void *)image)->e_shnum && !result; i++)
        if (sections_of(image)[i].sh_type == SHT_SYMTAB)
            result = read_symbols(module, image, &sections_of(image)[i]);
    return result;
}

/* --- the calls -------------------------------------------------------------------- */

static void unload(od_cu_module module)
{
    module->alive = false;
    while (module->symbols) {
        cd_symbol *symbol = module->symbols;
        module->symbols = symbol->next;
        if (symbol->variable)
            cd_allocation_drop(symbol->variable);
        free(symbol->name);
        free(symbol);
    }
    if (module->code)
        dlclose(module->code);
}

od_cu_result cuModuleLoadDataEx(od_cu_module *module, const void *image, unsigned noptions, int *options, void **values)
{
    od_cu_result result = cd_enter(CD_cuModuleLoadDataEx, CD_CONTEXT);
    if (result)
        return result;
    if (!module || !image || noptions || options || values)
        return cd_leave(OD_CU_INVALID_VALUE);
    result = check_image(image);
    od_cu_module m = result ? NULL : calloc(1, sizeof *m);
    if (!m)
        return cd_leave(result ? result : OD_CU_OUT_OF_MEMORY);
    *m = (struct od_cu_module_st){.magic = MODULE_MAGIC, .context = cd_current(), .alive = true, .next = cd.modules};
    cd.modules = m;
    m->code = open_kernels();
    result = read_image(m, image);
    if (result)
        unload(m);
    else
        *module = m;
    return cd_leave(result);
}

/* A module is its context's, which must be current. */
static od_cu_result enter_with(cd_call call, od_cu_module module)
{
    od_cu_result result = cd_enter(call, CD_CONTEXT);
    if (result)
        return result;
    if (!module || (uintptr_t)module < CD_PAGE || module->magic != MODULE_MAGIC)
        result = cd_misuse(OD_CU_INVALID_HANDLE, "%p is no module", (void *)module);
    else if (!module->alive)
        result = cd_misuse(OD_CU_INVALID_HANDLE, "the module %p was unloaded", (void *)module);
    else if (module->context != cd_current())
        result = cd_wrong_context(call);
    return result ? cd_leave(result) : OD_CU_SUCCESS;
}

od_cu_result cuModuleUnload(od_cu_module module)
{
    od_cu_result result = enter_with(CD_cuModuleUnload, module);
    if (result)
        return result;
    if (module->context->kernels)
        cd_misuse(0, "a module of device %u is unloaded while a kernel is running", module->context->device->ordinal);
    cd_kernels_drain(module->context);
    unload(module);
    return cd_leave(OD_CU_SUCCESS);
}

static cd_symbol *find(od_cu_module module, const char *name, bool is_kernel)
{
    cd_symbol *symbol = module->symbols;
    while (symbol && ((symbol->variable == NULL) != is_kernel || strcmp(symbol->name, name) != 0))
        symbol = symbol->next;
    return symbol;
}

od_cu_result cuModuleGetGlobal_v2(od_cu_address *address, size_t *bytes, od_cu_module module, const char *name)
{
    od_cu_result result = enter_with(CD_cuModuleGetGlobal_v2, module);
    if (result)
        return result;
    const cd_symbol *symbol = name ? find(module, name, false) : NULL;
    if (!symbol)
        return cd_leave(name ? CD_NOT_FOUND : OD_CU_INVALID_VALUE);
    if (address)
        *address = symbol->variable->address;
    if (bytes)
        *bytes = symbol->variable->bytes;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuModuleGetFunction(od_cu_function *function, od_cu_module module, const char *name)
{
    od_cu_result result = enter_with(CD_cuModuleGetFunction, module);
    if (result)
        return result;
    cd_symbol *symbol = name ? find(module, name, true) : NULL;
    if (!symbol || !function)
        return cd_leave(name && function ? CD_NOT_FOUND : OD_CU_INVALID_VALUE);
    if (!symbol->function)
        symbol->function = cd_function_create(module, symbol);
    *function = symbol->function;
    return cd_leave(symbol->function ? OD_CU_SUCCESS : OD_CU_OUT_OF_MEMORY);
}

void cd_modules_drop(const cd_context *context)
{
    for (od_cu_module module = cd.modules; module; module = module->next)
        if (module->context == context && module->alive)
            unload(module);
}

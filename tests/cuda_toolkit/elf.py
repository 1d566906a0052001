# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ELF files for NVIDIA's GPUs: a header, a symbol table, and what variables hold at first. No code."""

import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
EM_CUDA, OSABI_CUDA, ET_REL, ET_EXEC = 190, 0x33, 1, 2
PROGBITS, SYMTAB, STRTAB, NOBITS = 1, 2, 3, 8
IS_KERNEL, GLOBAL, FUNCTION, OBJECT = 0x10, 1, 2, 1
PTX = ".nv.ptx"  # an object file's text, for the link


class Strings:
    def __init__(self):
        self.data = b"\0"

    def add(self, text):
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def attribute_parameter_bytes(count):
    """Of .nv.info.NAME: format, kind, and the value."""
    return struct.pack("<BBH", 3, 0x19, count)


def flags_of(abi, arch):
    """ABI 8 has the architecture in the second byte."""
    return arch << 8 | 0x6000002 if abi >= 8 else arch << 16 | 0x500 | arch


def write(kind, abi, arch, sections, version=1):
    """`sections`: (name, type, contents, link, entry size) each, the first one's number is 1."""
    names = Strings()
    body, table = b"", [SECTION.pack(*[0] * 10)]
    for name, section, contents, link, entry in sections + [(".shstrtab", STRTAB, None, 0, 0)]:
        at = names.add(name)
        contents = names.data if contents is None else contents
        body += bytes(-len(body) % 8)
        table.append(SECTION.pack(at, section, 0, 0, HEADER.size + len(body), len(contents), link, 1, 8, entry))
        body += contents
    body += bytes(-len(body) % 8)
    identity = b"\x7fELF" + bytes([2, 1, 1, OSABI_CUDA, abi]) + bytes(7)
    header = HEADER.pack(identity, kind, EM_CUDA, version, 0, 0, HEADER.size + len(body), flags_of(abi, arch), HEADER.size,
                         0, 0, SECTION.size, len(table), len(table) - 1)
    return header + body + b"".join(table)


def write_image(abi, arch, all_symbols, version):
    kernels, variables, externals = all_symbols
    strings = Strings()
    symbols, data, infos = SYMBOL.pack(0, 0, 0, 0, 0, 0), b"", []
    data_section, text_section, zero_section, zeros = 3, 4, 5, 0
    for variable in variables:
        where, at = (data_section, len(data)) if any(variable.contents) else (zero_section, zeros)
        at += -at % 8
        symbols += SYMBOL.pack(strings.add(variable.name), GLOBAL << 4 | OBJECT, 0, where, at, len(variable.contents))
        if where == data_section:
            data += bytes(at - len(data)) + variable.contents
        else:
            zeros = at + len(variable.contents)
    for kernel in kernels:
        symbols += SYMBOL.pack(strings.add(kernel.name), GLOBAL << 4 | FUNCTION, IS_KERNEL, text_section, 0, 8)
        infos.append((".nv.info." + kernel.name, PROGBITS, attribute_parameter_bytes(kernel.parameter_bytes), 0, 0))
    for external in externals:
        symbols += SYMBOL.pack(strings.add(external.name), GLOBAL << 4 | FUNCTION, 0, 0, 0, 0)
    sections = [(".symtab", SYMTAB, symbols, 2, SYMBOL.size), (".strtab", STRTAB, strings.data, 0, 0),
                (".nv.global.init", PROGBITS, data, 0, 0), (".text", PROGBITS, bytes(8), 0, 0),
                (".nv.global", NOBITS, bytes(zeros), 0, 0)]
    return write(ET_EXEC, abi, arch, sections + infos, version)


def write_object(abi, arch, text):
    symbols = bytes(SYMBOL.size)
    return write(ET_REL, abi, arch, [(PTX, PROGBITS, text, 0, 0), (".symtab", SYMTAB, symbols, 3, SYMBOL.size),
                                     (".strtab", STRTAB, b"\0", 0, 0)])


def read_section(image, wanted):
    header = HEADER.unpack_from(image)
    first, count, names = header[6], header[12], header[13]
    table = [SECTION.unpack_from(image, first + i * SECTION.size) for i in range(count)]
    for section in table:
        at = table[names][4] + section[0]
        if image[at:image.index(b"\0", at)].decode() == wanted:
            return image[section[4]:section[4] + section[5]]
    return b""

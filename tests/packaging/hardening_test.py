#!/usr/bin/env python3
"""What the programs and libraries are built with against attacks, as their ELF files say.

usage: hardening_test.py HARDENED FILE...    HARDENED: ON if FAIRLEAD_HARDENED is, which adds checks to the code itself
"""
import struct
import sys
import unittest
from pathlib import Path

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474E551, 0x6474E552
DT_STRTAB, DT_STRSZ, DT_FLAGS, DT_BIND_NOW, DT_TEXTREL, DT_FLAGS_1 = 5, 10, 30, 24, 22, 0x6FFFFFFB
DF_BIND_NOW, DF_TEXTREL, DF_1_NOW, DF_1_PIE = 8, 4, 1, 0x08000000
ET_DYN, PF_X, PF_W = 3, 1, 2

HARDENED = sys.argv[1].upper() in ("ON", "1", "TRUE", "YES")
FILES = sys.argv[2:]


class Elf:
    """Of 64 bits, little-endian."""

    def __init__(self, path):
        self.bytes = Path(path).read_bytes()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", path
        self.type, = struct.unpack_from("<H", self.bytes, 16)
        offset, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        # type, flags, offset, address, -, size in the file
        self.segments = [struct.unpack_from("<IIQQQQ", self.bytes, offset + i * size) for i in range(count)]
        self.dynamic = {}
        for _, _, begin, _, _, length in self.of_type(PT_DYNAMIC):
            for at in range(begin, begin + length, 16):
                tag, value = struct.unpack_from("<QQ", self.bytes, at)
                if tag == 0:
                    break
                self.dynamic.setdefault(tag, value)

    def of_type(self, kind):
        return [segment for segment in self.segments if segment[0] == kind]

    def flag(self, tag, bit):
        return bool(self.dynamic.get(tag, 0) & bit)

    def names(self):
        """Bytes of the table of dynamic names."""
        address = self.dynamic[DT_STRTAB]
        for _, _, begin, start, _, length in self.of_type(PT_LOAD):
            if start <= address < start + length:
                return self.bytes[begin + address - start:][:self.dynamic[DT_STRSZ]]
        return b""


class Hardening(unittest.TestCase):
    def each(self, is_good):
        self.assertGreater(len(FILES), 0)
        self.assertEqual([path for path in FILES if not is_good(Elf(path))], [])

    def test_programs_are_loaded_anywhere(self):
        self.each(lambda elf: elf.type == ET_DYN and (not elf.of_type(PT_INTERP) or elf.flag(DT_FLAGS_1, DF_1_PIE)))

    def test_tables_of_functions_are_read_only_before_main(self):
        self.each(lambda elf: len(elf.of_type(PT_GNU_RELRO)) == 1 and (
            elf.flag(DT_FLAGS, DF_BIND_NOW) or elf.flag(DT_FLAGS_1, DF_1_NOW) or DT_BIND_NOW in elf.dynamic))

    def test_nothing_is_written_and_run(self):
        self.each(lambda elf: len(elf.of_type(PT_GNU_STACK)) == 1 and not any(
            flags & PF_X and flags & PF_W for _, flags, *_ in elf.of_type(PT_GNU_STACK) + elf.of_type(PT_LOAD)))
        self.each(lambda elf: DT_TEXTREL not in elf.dynamic and not elf.flag(DT_FLAGS, DF_TEXTREL))

    @unittest.skipUnless(HARDENED, "FAIRLEAD_HARDENED is off")
    def test_stacks_and_buffers_are_checked(self):
        def is_checked(elf):
            names = elf.names().split(b"\0")
            return b"__stack_chk_fail" in names and any(
                name.endswith(b"_chk") and name != b"__stack_chk_fail" for name in names)
        self.each(is_checked)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

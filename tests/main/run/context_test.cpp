// SPDX-License-Identifier: Apache-2.0
#include "main/run/context.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "tests/in_folder.h"

namespace gpubench {
namespace {

class CodeIdentity : public InFolder {
 protected:
  std::map<std::string, std::string> of(const std::string& bytes) { return code_identity(file("program", bytes)); }
  static std::string section(const std::string& name, const std::string& code, const std::string& other) {
    // Header, code, other bytes, names, and three section headers.
    const std::string names = std::string(1, '\0') + name + std::string(1, '\0') + ".names" + std::string(1, '\0');
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_offset = sizeof(header);
    sections[1].sh_size = code.size();
    sections[2].sh_name = static_cast<Elf64_Word>(name.size() + 2);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sizeof(header) + code.size() + other.size();
    sections[2].sh_size = names.size();
    header.e_shoff = sections[2].sh_offset + names.size();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += code + other + names;
    bytes.append(reinterpret_cast<const char*>(sections), sizeof(sections));
    return bytes;
  }
};

TEST(CompilerFlags, AreThoseOfAllParts) {
  using std::string_literals::operator""s;
  EXPECT_EQ(flags_in("main\0GNU C++20 13.2.0 -O2 -g\0int\0GNU C17 13.2.0 -O3 -g\0"s), "-O2 -O3 -g");
  EXPECT_EQ(flags_in("GNU C++20 13.2.0"), "");
  EXPECT_EQ(flags_in("main -O2"), "") << "only a compiler's own words count";
  EXPECT_EQ(flags_in("GNU C -" + std::string(5000, 'x')), "");
}

TEST_F(CodeIdentity, HashesCodeAndNothingElse) {
  // FNV-1a of "foobar" is 85944171f73967e8, by its authors' test suite.
  EXPECT_EQ(of(section(".text", "foobar", "notes"))["host_code"], "fnv1a64 of .text: 85944171f73967e8");
  EXPECT_EQ(of(section(".text", "foobar", "other notes")), of(section(".text", "foobar", "notes")));
  EXPECT_NE(of(section(".text", "foobaz", "notes")), of(section(".text", "foobar", "notes")));
  EXPECT_EQ(of(section(".nv_fatbin", "foobar", ""))["device_code"], "fnv1a64 of .nv_fatbin: 85944171f73967e8");
  EXPECT_TRUE(of(section(".data", "foobar", "")).empty());
  EXPECT_TRUE(of(section(".text2", "foobar", "")).empty());
}

TEST_F(CodeIdentity, OfThisProgramIsKnown) { EXPECT_EQ(code_identity("/proc/self/exe").count("host_code"), 1U); }

TEST_F(CodeIdentity, WhatIsNoProgramHasNone) {
  EXPECT_TRUE(of("").empty());
  EXPECT_TRUE(of("#!/bin/sh\n").empty());
  EXPECT_TRUE(code_identity("/nowhere").empty());
  EXPECT_TRUE(code_identity(folder_).empty());
  const std::string sound = section(".text", "foobar", "notes");
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = sound.substr(0, i % 2 == 0 ? random() % sound.size() : sound.size());
    for (int changes = 3; changes > 0 && !damaged.empty(); --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    (void)of(damaged);  // must end, with or without a hash
  }
}

}  // namespace
}  // namespace gpubench

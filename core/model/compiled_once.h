// SPDX-License-Identifier: Apache-2.0
// Large structs copy, move and go by functions that are compiled once, not again in each source that holds one: those
// of a Run were a fifth of the program's object code.
#pragma once

/// In the struct.
#define GPUBENCH_DECLARE_VALUE(Type) \
  Type();                            \
  Type(const Type&);                 \
  Type(Type&&) noexcept;             \
  Type& operator=(const Type&);      \
  Type& operator=(Type&&) noexcept;  \
  ~Type();

/// In one source.
#define GPUBENCH_DEFINE_VALUE(Type)                 \
  Type::Type() = default;                           \
  Type::Type(const Type&) = default;                \
  Type::Type(Type&&) noexcept = default;            \
  Type& Type::operator=(const Type&) = default;     \
  Type& Type::operator=(Type&&) noexcept = default; \
  Type::~Type() = default;

# SPDX-License-Identifier: Apache-2.0
# 64 hexadecimal digits as base64: eleven groups of 24 bits, the last one short of a byte.
function(gpubench_base64 hex result)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  foreach(group RANGE 10)
    math(EXPR at "${group} * 6")
    string(SUBSTRING "${hex}00" ${at} 6 digits)
    math(EXPR bits "0x${digits}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${bits} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${index} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING ${text} 0 43 text)
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

# gpubench_embed(OUTPUT NAME=FILE...): a C++ source that holds the files, with functions page::NAME(). They come in
# with .incbin, for large string literals are slow to compile; the hashes are as a Content-Security-Policy wants them. Written when
# configuring: a file made by the build would hold back all objects of programs that link it until all libraries before it are there.
function(gpubench_embed output)
  set(files "")
  set(source "// Made by cmake/GpubenchEmbed.cmake; do not edit.\n#include \"reports/html/page.h\"\n\n")
  foreach(entry IN LISTS ARGN)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${entry}")
    set(name ${CMAKE_MATCH_1})
    set(file "${CMAKE_MATCH_2}")
    set(space "namespace gpubench::reports::page {\n")
    if(file)
      list(APPEND files "${file}")
      file(SHA256 "${file}" hex)
      gpubench_base64(${hex} hash)
      set(symbol gpubench_page_${name})
      string(APPEND source
        "asm(R\"(.pushsection .rodata\n.globl ${symbol}_begin\n.hidden ${symbol}_begin\n${symbol}_begin:\n.incbin \"${file}\"\n"
        ".globl ${symbol}_end\n.hidden ${symbol}_end\n${symbol}_end:\n.byte 0\n.popsection)\");\n"
        "extern \"C\" {\nextern const char ${symbol}_begin[];\nextern const char ${symbol}_end[];\n}\n"
        "${space}File ${name}() {\n"
        "  return {{${symbol}_begin, static_cast<std::string_view::size_type>(${symbol}_end - ${symbol}_begin)}, \"sha256-${hash}\"};\n}\n}\n\n")
    else()
      string(APPEND source "${space}File ${name}() { return {}; }\n}\n\n")
    endif()
  endforeach()
  # Writes when something changed, so that nothing is compiled in vain.
  file(CONFIGURE OUTPUT ${output} CONTENT "${source}" @ONLY)
  # .incbin is invisible to the compiler's dependency scan: a changed file must compile the source again.
  set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${files}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
endfunction()

# Writes OUTPUT, a C++ file that holds the text of every file in FILES (a comma-separated list) as a raw string.
#   cmake -DOUTPUT=embedded_profiles.cc -DFILES=a.yaml,b.yaml -P embed_profiles.cmake
string(REPLACE "," ";" files "${FILES}")
set(code "// Generated from profiles/*.yaml.\n#include \"collective/embedded_profiles.h\"\n\n#include <array>\n\n")
string(APPEND code "namespace fairlead::collective {\nnamespace {\n\nconstexpr auto kProfiles = std::to_array<EmbeddedProfile>({\n")
foreach(path IN LISTS files)
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" text)
  string(APPEND code "    {\"${name}\", R\"profile(${text})profile\"},\n")
endforeach()
string(APPEND code "});\n\n}  // namespace\n\nstd::span<const EmbeddedProfile> EmbeddedProfiles() { return kProfiles; }\n\n}  // namespace fairlead::collective\n")
file(WRITE "${OUTPUT}" "${code}")

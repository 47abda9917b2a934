// The part of a job's comment that is ours: what Fairlead did to the job, beside what its user wrote.
//
//     --comment=""                        [fairlead: 2026-11-28T12:59Z 4 nodes - started]
//     --comment="my best run"             my best run [fairlead: …]
//     --comment='{"APS": {"m": 1}}'       {"APS": {"m": 1}, "fairlead_account": "…"}        it is JSON, and stays JSON
//
// Guarantees  each byte that the user wrote stays, in its order; our part is replaced, never repeated. The result is no
//             longer than Slurm takes. Our part has no quotes, brackets, backslashes, or what a shell or a list of
//             fields would take for something else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::slurm {

// Of a comment; measured on 22.05.8, which refuses longer ones.
inline constexpr size_t kJobCommentBytesMax = 1024;
// Of our part, without what it is wrapped in.
inline constexpr size_t kAccountTextBytesMax = 400;

// `text` as it may stand in a comment: on one line, printable, shortened to kAccountTextBytesMax.
std::string AccountText(std::string_view text);

// The comment with `text` as our part, shortened where the user's leaves less room. Nothing: it leaves none that is
// worth it, and the comment stays as it is. Cost: linear.
std::optional<std::string> CommentWithAccount(std::string_view comment, std::string_view text);

// Our part of a comment; empty: there is none.
std::string AccountOf(std::string_view comment);

}  // namespace fairlead::slurm

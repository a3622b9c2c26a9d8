// Which vector instructions the kernels use: the best that this machine has, unless another set was chosen.
#pragma once

#include <string>
#include <vector>

namespace nbfnet {

enum class InstructionSet : int { baseline, avx2, avx512 };

InstructionSet instruction_set();
std::string name_of(InstructionSet set);
std::vector<std::string> available_instruction_sets();  // the best first

// Throws std::invalid_argument where the machine does not have it.
void choose_instruction_set(const std::string &name);

}  // namespace nbfnet

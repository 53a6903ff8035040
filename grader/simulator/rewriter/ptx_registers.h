// What the operands of an instruction are in C++: the registers that an asm statement has, by their
// scopes, the special ones, numbers and addresses. What ptxas would refuse is refused.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ptx_text.h"

namespace onepass::rewriter {

/// "=f"(x): an operand by its constraint.
struct AsmOperand {
  char constraint;         // r, l, h, f, d or n
  bool is_output = false;  // = or +
  bool is_read = false;    // no =
};

/// The C++ type of a constraint's register; nullptr if nvcc has no such constraint.
const char* register_type(char constraint);

/// Of operand 3: ptx_3. The registers have these names, of the types above.
std::string register_name(std::size_t operand);

/// What an instruction may use as a register.
struct PtxRegister {
  std::string cpp;  // its name, or how its value is had
  char kind;        // as of a type; n: a number that the compiler knows
  int bits;
};

/// The registers of one asm statement. `type` is a name of PTX's: "u32". All throw PtxError.
class PtxRegisters {
 public:
  explicit PtxRegisters(const std::vector<AsmOperand>& operands);

  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  /// C++ that declares what `.reg .f32 a, b;` does.
  std::string declare(const PtxStatement& statement);
  /// It has its name for itself, as a register has.
  void declare_label(const PtxStatement& statement);

  /// A register that gets a result; or, if a result is made of `parts` registers, one of these.
  std::string place(const PtxOperand& given, const std::string& type, const PtxStatement& statement,
                    int parts = 1) const;
  std::string value(const PtxOperand& given, const std::string& type,
                    const PtxStatement& statement) const;
  /// Of a number that the compiler knows: a literal, or an operand "n".
  std::string constant(const PtxOperand& given, const PtxStatement& statement) const;
  /// is_shared: of shared memory, whose addresses may have 32 bits.
  std::string address(const PtxOperand& given, bool is_shared, const PtxStatement& statement) const;
  /// {a, b}. in_parts: together they are one register of the type, else each is.
  std::string list(const PtxOperand& given, const std::string& type, bool is_result, bool in_parts,
                   const PtxStatement& statement) const;

 private:
  PtxRegister find(const PtxOperand& given, const PtxStatement& statement) const;
  void check_type(const PtxOperand& given, const PtxRegister& own, const std::string& name,
                  const PtxStatement& statement, int parts = 1) const;

  using Scope = std::map<std::string, PtxRegister>;
  std::vector<Scope> scopes_;
  int declared_ = 0;
};

}  // namespace onepass::rewriter

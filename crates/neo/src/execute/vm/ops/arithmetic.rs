//! Arithmetic: 64 bits if they fit, big integers otherwise.

use num_bigint::{BigInt, Sign};
use ruint::aliases::U256;

use super::super::{Fault, Item, Vm, integer::Integer, opcode::*};

/// Limit of a shift and of an exponent.
const MAX_SHIFT: u32 = 256;

impl Vm {
    pub(super) fn arithmetic(&mut self, op: u8) -> Result<(), Fault> {
        let item = match op {
            SIGN | ABS | NEGATE | INC | DEC | NZ | SQRT => self.one_number(op)?,
            NOT => Item::Bool(!self.pop()?.to_bool()?),
            ADD | SUB | MUL | DIV | MOD => {
                let b = self.pop_integer()?;
                let a = self.pop_integer()?;
                two_numbers(op, &a, &b)?
            }
            POW => self.power()?,
            MODMUL => self.multiply_modulo()?,
            MODPOW => self.power_modulo()?,
            SHL | SHR => match self.shift(op)? {
                Some(item) => item,
                None => return Ok(()),
            },
            BOOLAND | BOOLOR => {
                let b = self.pop()?.to_bool()?;
                let a = self.pop()?.to_bool()?;
                Item::Bool(if op == BOOLAND { a && b } else { a || b })
            }
            LT | LE | GT | GE => self.order(op)?,
            NUMEQUAL | NUMNOTEQUAL | MIN | MAX => {
                let b = self.pop_integer()?;
                let a = self.pop_integer()?;
                match op {
                    NUMEQUAL => Item::Bool(a == b),
                    NUMNOTEQUAL => Item::Bool(a != b),
                    MIN => Item::from(a.min(b)),
                    _ => Item::from(a.max(b)),
                }
            }
            WITHIN => {
                let b = self.pop_integer()?;
                let a = self.pop_integer()?;
                let x = self.pop_integer()?;
                Item::Bool(a <= x && x < b)
            }
            op => return Err(Fault::Opcode(op)),
        };
        self.push(item);
        Ok(())
    }

    fn one_number(&mut self, op: u8) -> Result<Item, Fault> {
        let number = self.pop_integer()?;
        let small = match (op, &number) {
            (SIGN, _) => Some(number.signum()),
            (NZ, _) => return Ok(Item::Bool(!number.is_zero())),
            (SQRT, _) if number.signum() < 0 => return Err(Fault::Rule("negative value")),
            (SQRT, Integer::Small(a)) => Some(a.isqrt()),
            (ABS, Integer::Small(a)) => a.checked_abs(),
            (NEGATE, Integer::Small(a)) => a.checked_neg(),
            (INC, Integer::Small(a)) => a.checked_add(1),
            (DEC, Integer::Small(a)) => a.checked_sub(1),
            _ => None,
        };
        if let Some(small) = small {
            return Ok(Item::Int(small));
        }
        let big = number.to_big();
        Item::integer(match op {
            SQRT => big.sqrt(),
            ABS => BigInt::from(big.magnitude().clone()),
            NEGATE => -big,
            INC => big + 1,
            _ => big - 1,
        })
    }

    fn power(&mut self) -> Result<Item, Fault> {
        let exponent = self.pop_integer()?;
        let base = self.pop_integer()?;
        let exponent = exponent.to_i64().and_then(|exponent| u32::try_from(exponent).ok());
        match exponent {
            Some(exponent) if exponent <= MAX_SHIFT => Item::integer(base.to_big().pow(exponent)),
            _ => Err(Fault::Rule("invalid exponent")),
        }
    }

    fn multiply_modulo(&mut self) -> Result<Item, Fault> {
        let modulus = self.pop_integer()?;
        if modulus.is_zero() {
            return Err(Fault::Rule("zero modulus"));
        }
        let b = self.pop_integer()?;
        let a = self.pop_integer()?;
        Item::integer(a.to_big() * b.to_big() % modulus.to_big())
    }

    fn power_modulo(&mut self) -> Result<Item, Fault> {
        let modulus = self.pop_integer()?.to_big();
        let exponent = self.pop_integer()?;
        let base = self.pop_integer()?.to_big();
        if exponent == Integer::Small(-1) {
            if base.sign() != Sign::Plus {
                return Err(Fault::Rule("invalid base"));
            }
            if modulus < BigInt::from(2) {
                return Err(Fault::Rule("invalid modulus"));
            }
            let inverse = inverse(&base, &modulus);
            let none = Fault::Rule("base and modulus are not relatively prime");
            return Item::integer(inverse.ok_or(none)?);
        }
        if exponent.signum() < 0 {
            return Err(Fault::Rule("exponent should be >= -1"));
        }
        if modulus.sign() == Sign::NoSign {
            return Err(Fault::Rule("zero modulus"));
        }
        // the result has the sign of the power, as a remainder has
        let exponent = exponent.to_big();
        let odd = exponent.bit(0);
        let result = base.magnitude().modpow(exponent.magnitude(), modulus.magnitude());
        let sign = if base.sign() == Sign::Minus && odd { Sign::Minus } else { Sign::Plus };
        Item::integer(BigInt::from_biguint(sign, result))
    }

    /// `None`: before Gorgon, a shift by zero leaves the item below unchanged, whatever its type.
    fn shift(&mut self, op: u8) -> Result<Option<Item>, Fault> {
        let bits = self.pop_i32()?;
        let bits = u32::try_from(bits).ok().filter(|bits| *bits <= MAX_SHIFT);
        let bits = bits.ok_or(Fault::Rule("operand must be between 0 and 256"))?;
        if bits == 0 && !self.rules.gorgon {
            return Ok(None);
        }
        let number = self.pop_integer()?;
        let item = match (op, &number) {
            (SHR, Integer::Small(a)) => Item::Int(a >> bits.min(63)),
            (SHR, Integer::Big(a)) => Item::integer(&**a >> bits)?,
            (_, Integer::Small(0)) => Item::Int(0),
            _ => Item::integer(number.to_big() << bits)?,
        };
        Ok(Some(item))
    }

    fn order(&mut self, op: u8) -> Result<Item, Fault> {
        let b = self.pop()?;
        let a = self.pop()?;
        if matches!(a, Item::Null) || matches!(b, Item::Null) {
            return Ok(Item::Bool(false));
        }
        let (a, b) = (a.to_integer()?, b.to_integer()?);
        Ok(Item::Bool(match op {
            LT => a < b,
            LE => a <= b,
            GT => a > b,
            _ => a >= b,
        }))
    }
}

/// The inverse of a number of at most 256 bits.
fn inverse(base: &BigInt, modulus: &BigInt) -> Option<BigInt> {
    let limbs =
        |number: &BigInt| U256::checked_from_limbs_slice(&number.magnitude().to_u64_digits());
    let modulus = limbs(modulus)?;
    let inverse = limbs(base)?.reduce_mod(modulus).inv_mod(modulus)?;
    Some(BigInt::from_bytes_le(Sign::Plus, &inverse.to_le_bytes::<32>()))
}

fn two_numbers(op: u8, a: &Integer, b: &Integer) -> Result<Item, Fault> {
    if matches!(op, DIV | MOD) && b.is_zero() {
        return Err(Fault::Rule("division by zero"));
    }
    if let (Integer::Small(a), Integer::Small(b)) = (a, b) {
        let small = match op {
            ADD => a.checked_add(*b),
            SUB => a.checked_sub(*b),
            MUL => a.checked_mul(*b),
            DIV => a.checked_div(*b),
            _ => a.checked_rem(*b),
        };
        if let Some(small) = small {
            return Ok(Item::Int(small));
        }
    }
    let (a, b) = (a.to_big(), b.to_big());
    Item::integer(match op {
        ADD => a + b,
        SUB => a - b,
        MUL => a * b,
        DIV => a / b,
        _ => a % b,
    })
}

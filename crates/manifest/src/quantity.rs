//! The value of Kubernetes quantities: `0.5` is `500m`, `1Ki` is `1024`.

/// Converts a quantity to billionths, rounded up as Kubernetes does; none if the text is no quantity.
pub fn nanos(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits_end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(digits_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0
        || fraction.contains('.')
        || whole.len() > 30
        || fraction.len() > 30
    {
        return None;
    }
    let mantissa = mantissa(whole, fraction)?;
    let (factor, exponent) = scale(suffix)?;
    // Billionths, less the digits after the point.
    let exponent = exponent
        .checked_add(9)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let value = mantissa.checked_mul(factor)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    let value = match (exponent >= 0, power) {
        _ if value == 0 => 0,
        (true, power) => value.checked_mul(power?)?,
        (false, Some(power)) => value / power + i128::from(value % power != 0),
        (false, None) => 1,
    };
    Some(if negative { -value } else { value })
}

/// The number of all digits, as if there were no point.
fn mantissa(whole: &str, fraction: &str) -> Option<i128> {
    let mut mantissa: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = i128::from(digit - b'0');
        mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
    }
    Some(mantissa)
}

/// The factor and the power of ten of a suffix.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty()
                || digits.len() > 3
                || !digits.bytes().all(|byte| byte.is_ascii_digit())
            {
                return None;
            }
            (1, exponent.parse().ok()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_by_value() {
        for (left, right) in [
            ("0.5", "500m"),
            ("1Ki", "1024"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("128974848", "128974848000m"),
            ("1.", "1"),
            (".5", "0.5"),
            ("+1", "1"),
            ("0.0000000001", "1n"),
            ("-1", "-1000m"),
            ("0", "0Gi"),
            ("1e-20", "1n"),
        ] {
            assert!(nanos(left).is_some(), "{left}");
            assert_eq!(nanos(left), nanos(right), "{left} {right}");
        }
        assert!(nanos("64Mi") < nanos("128Mi"));
        assert!(nanos("65Mi") < nanos("68.2M"));
    }

    #[test]
    fn other_text_is_no_quantity() {
        for text in [
            "", "Mi", "1 Mi", "1mi", "1KB", "1..2", "1.2.3", "e3", "1e", "1e+", "0x10", "--1",
            "1e999", "１",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}

//! Random bytes of the operating system.

/// 32 unpredictable bytes from the operating system's random generator; `None` if it fails.
#[must_use]
pub fn secret() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_secrets_are_the_same() {
        let secrets: Vec<_> = (0..8).map(|_| secret().unwrap()).collect();
        for (i, secret) in secrets.iter().enumerate() {
            assert!(!secrets[..i].contains(secret));
            assert_ne!(*secret, [0; 32]);
        }
    }
}

//! New inputs from kept ones: pieces of several, with bytes changed, repeated, cut and put in.

/// What readers of text stumble over.
const TOKENS: [&[u8]; 40] = [
    b"\r\n",
    b"\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"/",
    b"//",
    b"..",
    b"%00",
    b"%2e%2e",
    b"?",
    b"#",
    b"@",
    b"\\",
    b"\"",
    b"'",
    b",",
    b";",
    b"=",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"true",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"1e309",
    b"0.0000001",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    "ß".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    "١".as_bytes(),
    b"[::1]",
    b"\x7f",
];

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

pub struct Mutator<'a> {
    dice: Dice,
    kept: &'a [Vec<u8>],
}

impl<'a> Mutator<'a> {
    pub fn new(seed: u64, kept: &'a [Vec<u8>]) -> Self {
        Self {
            dice: Dice::new(seed),
            kept,
        }
    }

    pub fn next(&mut self) -> Vec<u8> {
        let dice = &mut self.dice;
        if dice.below(16) == 0 {
            let length = dice.below(64);
            return (0..length).map(|_| dice.next().to_le_bytes()[0]).collect();
        }
        let mut input = self.kept[dice.below(self.kept.len())].clone();
        for _ in 0..=dice.below(4) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let dice = &mut self.dice;
        let at = dice.below(input.len() + 1);
        let end = (at + dice.below(16)).min(input.len());
        match dice.below(8) {
            0 if at < input.len() => input[at] ^= 1 << dice.below(8),
            1 if at < input.len() => input[at] = dice.next().to_le_bytes()[0],
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].to_vec();
                for _ in 0..=dice.below(4) {
                    input.splice(at..at, piece.iter().copied());
                }
            }
            4 => {
                let other = &self.kept[dice.below(self.kept.len())];
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(48)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            5 => {
                let digits = dice.next() >> dice.below(64);
                input.splice(at..end, digits.to_string().into_bytes());
            }
            6 => input.truncate(at),
            _ => {
                let token = TOKENS[dice.below(TOKENS.len())];
                input.splice(at..at, token.iter().copied());
            }
        }
    }
}

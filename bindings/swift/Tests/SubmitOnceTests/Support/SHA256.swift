import Foundation

/// SHA-256 (FIPS 180-4) in hexadecimal digits, to compare with what the server says that it got. CryptoKit
/// isn't everywhere.
func sha256(_ data: Data) -> String {
    var state = roots(of: 8, exponent: 0.5)
    let constants = roots(of: 64, exponent: 1.0 / 3.0)
    for block in padded(data) {
        var words = block
        for t in 16..<64 {
            let (a, b) = (words[t - 15], words[t - 2])
            let s0 = a.rotated(7) ^ a.rotated(18) ^ (a >> 3)
            let s1 = b.rotated(17) ^ b.rotated(19) ^ (b >> 10)
            words.append(words[t - 16] &+ s0 &+ words[t - 7] &+ s1)
        }
        var v = state
        for t in 0..<64 {
            let s1 = v[4].rotated(6) ^ v[4].rotated(11) ^ v[4].rotated(25)
            let choice = (v[4] & v[5]) ^ (~v[4] & v[6])
            let first = v[7] &+ s1 &+ choice &+ constants[t] &+ words[t]
            let s0 = v[0].rotated(2) ^ v[0].rotated(13) ^ v[0].rotated(22)
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])
            v = [first &+ s0 &+ majority, v[0], v[1], v[2], v[3] &+ first, v[4], v[5], v[6]]
        }
        for i in 0..<8 {
            state[i] = state[i] &+ v[i]
        }
    }
    return state.map { String(format: "%08x", $0) }.joined()
}

extension UInt32 {
    fileprivate func rotated(_ n: UInt32) -> UInt32 { (self >> n) | (self << (32 - n)) }
}

/// The first 32 bits of the fractional parts of roots of the first primes.
private func roots(of count: Int, exponent: Double) -> [UInt32] {
    var primes: [Int] = []
    var n = 2
    while primes.count < count {
        if !primes.contains(where: { n % $0 == 0 }) {
            primes.append(n)
        }
        n += 1
    }
    return primes.map { prime -> UInt32 in
        let root = pow(Double(prime), exponent)
        return UInt32((root - root.rounded(.down)) * 4_294_967_296)
    }
}

private func padded(_ data: Data) -> [[UInt32]] {
    var bytes = [UInt8](data) + [0x80]
    bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
    bytes += withUnsafeBytes(of: UInt64(data.count * 8).bigEndian, Array.init)
    return stride(from: 0, to: bytes.count, by: 64).map { (block: Int) -> [UInt32] in
        stride(from: block, to: block + 64, by: 4).map { (at: Int) -> UInt32 in
            bytes[at..<at + 4].reduce(UInt32(0)) { word, byte in (word << 8) | UInt32(byte) }
        }
    }
}

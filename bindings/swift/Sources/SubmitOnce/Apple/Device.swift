// Not compiled where this library's tests run.

#if canImport(Darwin) && canImport(Security)
    import Darwin
    import Foundation
    import Security

    /// What identifies this device and its present boot.
    enum Device {
        /// The boot's UUID. Nil where it can't be read, since no header promises it.
        static func boot() -> String? {
            let name = "kern.bootsessionuuid"
            var size = 0
            guard sysctlbyname(name, nil, &size, nil, 0) == 0, size > 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: size)
            guard sysctlbyname(name, &bytes, &size, nil, 0) == 0 else { return nil }
            let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            return UUID(uuidString: text) == nil ? nil : text
        }

        /// An ID that never leaves this device: no backup and no synchronization takes it, so that a database
        /// that was restored elsewhere can be told from its original. Made if there is none. It stays when the
        /// app is deleted, and the database doesn't.
        ///
        /// - Throws: with the reason `storage(.unavailable)` before the first unlock.
        static func installID() throws -> String? {
            if let id = try storedInstallID() {
                return id
            }
            let id = UUID().uuidString
            var item = query
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            item[kSecValueData as String] = Data(id.utf8)
            switch SecItemAdd(item as CFDictionary, nil) {
            case errSecSuccess: return id
            // Somebody else of this app was quicker.
            case errSecDuplicateItem: return try storedInstallID()
            case errSecInteractionNotAllowed: throw locked
            default: return nil
            }
        }

        private static func storedInstallID() throws -> String? {
            var item = query
            item[kSecReturnData as String] = true
            item[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            switch SecItemCopyMatching(item as CFDictionary, &found) {
            case errSecSuccess: return (found as? Data).map { String(decoding: $0, as: UTF8.self) }
            case errSecInteractionNotAllowed: throw locked
            default: return nil
            }
        }

        private static var query: [String: Any] {
            [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: "dev.submitonce",
                kSecAttrAccount as String: "install-id",
                kSecAttrSynchronizable as String: false,
            ]
        }

        private static var locked: SubmitOnceError {
            SubmitOnceError(.storage(.unavailable), "the device wasn't unlocked since it was started; call again later")
        }
    }
#endif

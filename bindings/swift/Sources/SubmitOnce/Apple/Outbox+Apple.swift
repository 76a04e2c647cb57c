// Not compiled where this library's tests run: where the folder is, and what a network is, is decided in
// Background, and tested there.

#if canImport(Darwin) && canImport(Security) && canImport(Network)
    import Foundation

    extension Outbox {
        /// Opens the outbox of this name in its place on this device: a folder of its own in this process's
        /// Application Support, that can be read from the first unlock on, and is in no backup. It is told what
        /// the system says of the network.
        ///
        /// An extension that calls this gets an outbox of its own, since it has an Application Support of its
        /// own. The other parameters are those of the function that opens a file.
        ///
        /// - Parameter name: letters, digits, `-` and `_`.
        public static func open(
            named name: String = "outbox",
            baseURL: URL? = nil,
            profile: ServerProfile? = nil,
            limits: Limits? = nil,
            userAgent: String? = nil,
            tls: TLSConfig? = nil,
            inboxScopes: [InboxScope] = [],
            credentials: CredentialsProvider? = nil,
            scheduler: RunScheduler? = nil,
            onCallbackError: @escaping @Sendable (any Error) -> Void = { _ in }
        ) async throws -> Outbox {
            let (folder, installID) = try await Disk().run {
                let support = try FileManager.default.url(
                    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
                let folder = try OutboxFolder(in: support, name: name)
                // First: it fails before the first unlock, and nothing has been made then.
                let installID = try Device.installID()
                try folder.make()
                return (folder, installID)
            }
            let outbox = try await open(
                at: folder.database,
                baseURL: baseURL,
                profile: profile,
                limits: limits,
                userAgent: userAgent,
                tls: tls,
                boot: Device.boot(),
                installID: installID,
                inboxScopes: inboxScopes,
                credentials: credentials,
                scheduler: scheduler,
                onCallbackError: onCallbackError
            )
            await outbox.follow(NetworkPath.ofSystem())
            return outbox
        }
    }

    extension OutboxFolder {
        /// Makes the folder if there is none. What is put into it has its protection, and none of it is backed
        /// up.
        func make() throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            #if os(iOS)
                // A stronger one would take the database away whenever the device is locked.
                try FileManager.default.setAttributes(
                    [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
                    ofItemAtPath: url.path(percentEncoded: false)
                )
            #endif
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var folder = url
            try folder.setResourceValues(values)
        }
    }
#endif

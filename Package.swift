// swift-tools-version: 6.0

// The Swift package, for Xcode and for Linux. Its sources are in bindings/swift; docs/swift.md is the guide.

import PackageDescription

#if os(Linux)
    /// The library that `cargo` builds. Name its folder to the linker: bindings/swift/toolchain.sh does.
    let core = Target.systemLibrary(name: "SubmitOnceFFI", path: "bindings/swift/Sources/SubmitOnceFFI")
#else
    /// Where the XCFramework of this version is, and its checksum, as build-xcframework.sh prints it.
    /// There is no release yet: then the one that it has built here is used.
    let release: (url: String, checksum: String)? = nil

    /// The switch: with SUBMIT_ONCE_XCFRAMEWORK=local in the environment, what
    /// bindings/swift/build-xcframework.sh has built here is used instead of the release.
    let isLocal = Context.environment["SUBMIT_ONCE_XCFRAMEWORK"] == "local"

    let core: Target =
        if let release, !isLocal {
            .binaryTarget(name: "SubmitOnceFFI", url: release.url, checksum: release.checksum)
        } else {
            .binaryTarget(name: "SubmitOnceFFI", path: "bindings/target/SubmitOnceFFI.xcframework")
        }
#endif

let package = Package(
    name: "submit-once",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "SubmitOnce", targets: ["SubmitOnce"]),
    ],
    targets: [
        core,
        .target(
            name: "SubmitOnceGenerated",
            dependencies: ["SubmitOnceFFI"],
            path: "bindings/swift/Sources/SubmitOnceGenerated",
            swiftSettings: [.swiftLanguageMode(.v5)],
            linkerSettings: [.linkedLibrary("submit_once", .when(platforms: [.linux]))]
        ),
        .target(
            name: "SubmitOnce",
            dependencies: ["SubmitOnceGenerated"],
            path: "bindings/swift/Sources/SubmitOnce",
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        // What the tests start as a process of its own. It is no product.
        .executableTarget(
            name: "submit-once-programs",
            dependencies: ["SubmitOnce"],
            path: "bindings/swift/Tests/Programs",
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
        .testTarget(
            name: "SubmitOnceTests",
            dependencies: ["SubmitOnce", "submit-once-programs"],
            path: "bindings/swift/Tests/SubmitOnceTests",
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)

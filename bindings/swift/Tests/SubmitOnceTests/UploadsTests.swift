import Foundation
import XCTest

@testable import SubmitOnce

/// How far large bodies have come.
final class UploadsTests: OutboxTestCase {
    private func listens(_ outbox: Outbox) async throws {
        try await eventually("somebody listens") { outbox.observing.progress.isListening }
    }

    func testAnUploadIsToldUpToItsLastByte() async throws {
        let outbox = try await open(ReferenceServer())
        let photo = try photo()
        try await outbox.submit(photo)
        let told = Task { try await outbox.untilSent(photo.id) }
        try await listens(outbox)
        try await outbox.start()
        let progress = try await told.end.get()
        XCTAssertEqual(progress.last, UploadProgress(id: photo.id, sent: 1 << 20, total: 1 << 20))
        XCTAssertEqual(progress.map(\.sent), progress.map(\.sent).sorted())
        try await eventually("nobody listens") { !outbox.observing.progress.isListening }
    }

    // Nobody has to listen for it.
    func testASnapshotShowsHowFarItsUploadHasCome() async throws {
        let server = try ReferenceServer()
        let outbox = try await open(server)
        let photo = try photo()
        try await server.script(#"{"hold_before":"gate"}"#, path: photo.url)
        try await outbox.submit(photo)
        let before = try await outbox.snapshot(of: photo.id)
        XCTAssertNil(before.progress)
        try await outbox.start()
        try await server.await(#"{"held":"gate"}"#)
        try await eventually("it has come to its last byte") {
            try await outbox.snapshot(of: photo.id).progress
                == UploadProgress(id: photo.id, sent: 1 << 20, total: 1 << 20)
        }
        try await server.release("gate")
        let after = try await outbox.settled(photo.id)
        XCTAssertNil(after.progress)
    }

    func testSmallBodiesArentWorthTelling() async throws {
        let outbox = try await open(ReferenceServer())
        let photo = try photo()
        let told = Task { try await outbox.uploads().first(1) }
        try await listens(outbox)
        try await outbox.submitAll([order(), order(), photo])
        try await outbox.start()
        let first = try await told.end.get()
        XCTAssertEqual(first.map(\.id), [photo.id])
    }

    func testEveryLoopIsToldAndASlowOneGetsTheLatestOfEach() async throws {
        let outbox = try await open(ReferenceServer())
        let photos = try (0..<3).map { _ in try photo() }
        let quick = photos.map { photo in Task { try await outbox.untilSent(photo.id) } }
        let slow = Task { () -> Set<UUID> in
            var ended: Set<UUID> = []
            for try await progress in outbox.uploads() {
                for task in quick {
                    _ = try await task.value
                }
                if progress.sent == progress.total {
                    ended.insert(progress.id)
                }
                if ended.count == 3 { break }
            }
            return ended
        }
        // One loop more than may be counted from outside: each is in before anything is sent.
        try await eventually("all listen") { outbox.observing.progress.listeners == 4 }
        try await outbox.submitAll(photos)
        try await outbox.start()
        for task in quick {
            let progress = try await task.end.get()
            XCTAssertEqual(progress.last?.sent, 1 << 20)
        }
        let ended = try await slow.end.get()
        XCTAssertEqual(ended, Set(photos.map(\.id)))
    }

    func testWhoComesLaterIsntToldOfWhatWasOverBefore() async throws {
        let outbox = try await open(ReferenceServer())
        let (before, after) = (try photo(), try photo())
        let first = Task { try await outbox.untilSent(before.id) }
        try await listens(outbox)
        try await outbox.submit(before)
        _ = try await outbox.drain(for: long)
        _ = try await first.end.get()
        try await eventually("nobody listens") { !outbox.observing.progress.isListening }
        let second = Task { try await outbox.uploads().first(1) }
        try await listens(outbox)
        try await outbox.submit(after)
        _ = try await outbox.drain(for: long)
        let told = try await second.end.get()
        XCTAssertEqual(told.map(\.id), [after.id])
    }

    func testOfEachUploadTheLatestIsKeptAndOfManyTheNewest() {
        let latest = LatestUploads()
        latest.note((0..<1001).map { RawProgress(id: "\($0)", sent: 1, total: 2) })
        latest.note([RawProgress(id: "500", sent: 2, total: 2)])
        var told: [RawProgress] = []
        var number = 0
        while let next = latest.next(after: number) {
            number = next.number
            told.append(next.progress)
        }
        XCTAssertEqual(told.count, 1000)
        XCTAssertEqual(told.first?.id, "1")
        XCTAssertEqual(told.last, RawProgress(id: "500", sent: 2, total: 2))
        XCTAssertEqual(Set(told.map(\.id)).count, 1000)
        latest.forget()
        XCTAssertNil(latest.next(after: 0))
    }
}

extension Outbox {
    /// How far one body has come, up to its end.
    fileprivate func untilSent(_ id: UUID) async throws -> [UploadProgress] {
        var told: [UploadProgress] = []
        for try await progress in uploads() where progress.id == id {
            told.append(progress)
            if progress.sent == progress.total { break }
        }
        return told
    }
}

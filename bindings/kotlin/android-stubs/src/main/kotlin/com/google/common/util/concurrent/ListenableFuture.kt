// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app gets the real one with androidx.work.

package com.google.common.util.concurrent

import java.util.concurrent.Executor
import java.util.concurrent.Future

/** https://guava.dev/releases/snapshot-jre/api/docs/com/google/common/util/concurrent/ListenableFuture.html */
public interface ListenableFuture<V> : Future<V> {
    public fun addListener(listener: Runnable, executor: Executor)
}

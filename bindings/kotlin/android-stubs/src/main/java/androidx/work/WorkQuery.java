// A compile-only stub, with signatures from the public reference. Never shipped, never run:
// an app brings the real androidx.work.

package androidx.work;

import java.util.List;

/**
 * https://developer.android.com/reference/androidx/work/WorkQuery
 *
 * <p>In Java, so that a call of fromUniqueWorkNames is one of a static method: every version has that.
 */
public final class WorkQuery {
    private WorkQuery() {
    }

    /** https://developer.android.com/reference/androidx/work/WorkQuery.Builder */
    public static final class Builder {
        private Builder() {
        }

        public static Builder fromUniqueWorkNames(List<String> uniqueWorkNames) {
            throw new UnsupportedOperationException();
        }

        public Builder addStates(List<WorkInfo.State> states) {
            throw new UnsupportedOperationException();
        }

        public WorkQuery build() {
            throw new UnsupportedOperationException();
        }
    }
}

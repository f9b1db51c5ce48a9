package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) notifierChecks() []check {
	return []check{
		{"Append", suite.notifiesAppend},
		{"Put", suite.notifiesPut},
		{"Break", suite.notifierBreak},
		{"CanceledContext", notifierCanceled},
	}
}

// awaitChange changes run until a loop over Changes has yielded the run. It repeats the
// change, because a Notifier may miss one.
func (suite Suite) awaitChange(t testing.TB, s runlog.Store, run string, change func(s runlog.Store, n int64)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		defer close(seen)
		for got, err := range as[runlog.Notifier](t, s).Changes(ctx) {
			if err != nil {
				t.Errorf("Changes yielded the error %v and not the changed run %q", err, run)
				return
			}
			if got == run {
				return
			}
			if got != "other" {
				t.Errorf("Changes yielded the run %q, which has not changed", got)
				return
			}
		}
	})
	defer loop.Wait()
	other := suite.Other(t, s)
	for n := int64(0); ; n++ {
		change(other, n)
		select {
		case <-seen:
			return
		case <-time.After(suite.Silence / 10):
		}
	}
}

func (suite Suite) notifiesAppend(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0))
	suite.awaitChange(t, s, "r", func(other runlog.Store, n int64) {
		mustAppend(t, other, entry("r", n), entry("other", n))
	})
}

func (suite Suite) notifiesPut(t testing.TB, s runlog.Store) {
	if _, ok := runlog.As[runlog.Inbox](s); !ok {
		return
	}
	mustAppend(t, s, entry("r", 0))
	suite.awaitChange(t, s, "r", func(other runlog.Store, n int64) {
		mustPut(t, as[runlog.Inbox](t, other), letter("r", string(rune('a'+n%26))+time.Duration(n).String()))
	})
}

// notifierBreak breaks out of a loop, which must not block later calls.
func (suite Suite) notifierBreak(t testing.TB, s runlog.Store) {
	suite.awaitChange(t, s, "r", func(other runlog.Store, n int64) { mustAppend(t, other, entry("r", n)) })
	wantFree(t, s, "Changes", entry("new", 0))
}

func notifierCanceled(t testing.TB, s runlog.Store) {
	n := as[runlog.Notifier](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ok, err := inTime(func() error { return firstError(t, n.Changes(ctx)) })
	if !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("Changes with a canceled context yielded the error %v (it ended: %v), want context.Canceled", err, ok)
	}
}

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard"
)

var leaserChecks = []check{
	{"OneHolder", leaseOneHolder},
	{"Prolong", leaseProlong},
	{"GiveBack", leaseGiveBack},
	{"GiveBackOfAnother", leaseGiveBackOfAnother},
	{"RunsOut", leaseRunsOut},
	{"OneWins", leaseOneWins},
	{"CanceledContext", leaseCanceled},
}

func mustLease(t testing.TB, l blackboard.Leaser, name, owner string, d time.Duration) {
	t.Helper()
	if err := l.Lease(t.Context(), name, owner, d); err != nil {
		t.Fatalf("Lease(%q, %q, %v) = %v", name, owner, d, err)
	}
}

func wantHeld(t testing.TB, l blackboard.Leaser, name, owner string) {
	t.Helper()
	if err := l.Lease(t.Context(), name, owner, time.Hour); !errors.Is(err, blackboard.ErrConflict) {
		t.Errorf("Lease(%q, %q) of what another holds = %v, want ErrConflict", name, owner, err)
	}
}

func leaseOneHolder(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	mustLease(t, l, "engine", "ann", time.Hour)
	wantHeld(t, l, "engine", "bob")
	mustLease(t, l, "another", "bob", time.Hour)
	wantHeld(t, l, "another", "ann")
}

func leaseProlong(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	mustLease(t, l, "engine", "ann", 1)
	mustLease(t, l, "engine", "ann", time.Hour)
	mustLease(t, l, "engine", "ann", 1<<63-1)
	wantHeld(t, l, "engine", "bob")
}

func leaseGiveBack(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	mustLease(t, l, "engine", "ann", time.Hour)
	mustLease(t, l, "engine", "ann", 0)
	mustLease(t, l, "engine", "bob", time.Hour)
	wantHeld(t, l, "engine", "ann")
	mustLease(t, l, "engine", "bob", -time.Hour)
	mustLease(t, l, "engine", "ann", time.Hour)
	mustLease(t, l, "free", "ann", 0)
	mustLease(t, l, "free", "bob", time.Hour)
}

func leaseGiveBackOfAnother(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	mustLease(t, l, "engine", "ann", time.Hour)
	if err := l.Lease(t.Context(), "engine", "bob", 0); !errors.Is(err, blackboard.ErrConflict) {
		t.Errorf("giving back what another holds = %v, want ErrConflict", err)
	}
	wantHeld(t, l, "engine", "bob")
}

// leaseRunsOut asks again and again, because the clock of a store may be coarse.
func leaseRunsOut(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	mustLease(t, l, "engine", "ann", 1)
	for began := time.Now(); ; {
		err := l.Lease(t.Context(), "engine", "bob", time.Hour)
		if err == nil {
			break
		}
		if !errors.Is(err, blackboard.ErrConflict) || time.Since(began) > patience {
			t.Fatalf("Lease %v after another's lease for 1 ns = %v", time.Since(began), err)
		}
	}
	wantHeld(t, l, "engine", "ann")
}

func leaseOneWins(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	ctx := t.Context()
	won := 0
	for _, err := range together(8, func(i int) error {
		return l.Lease(ctx, "engine", string(rune('a'+i)), time.Hour)
	}) {
		if err == nil {
			won++
		} else if !errors.Is(err, blackboard.ErrConflict) {
			t.Errorf("Lease in a race = %v, want nil or ErrConflict", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 8 hold the lease, want 1", won)
	}
}

func leaseCanceled(t testing.TB, s blackboard.Store) {
	l := as[blackboard.Leaser](t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Lease(ctx, "engine", "ann", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Lease with a canceled context = %v, want context.Canceled", err)
	}
	mustLease(t, l, "engine", "bob", time.Hour)
}

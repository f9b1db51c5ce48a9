package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// inTime calls f and returns its error, or not ok if it does not return in time. Then f
// keeps running: a store that holds a lock for ever must not hang the suite.
func inTime(f func() error) (ok bool, err error) {
	result := make(chan error, 1)
	var calls sync.WaitGroup
	calls.Go(func() { result <- f() })
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case err := <-result:
		calls.Wait()
		return true, err
	case <-patient.C:
		return false, nil
	}
}

// wantFree appends rec after a break out of a loop, which must have released all locks.
func wantFree(t testing.TB, s runlog.Store, loop string, rec runlog.Record) {
	t.Helper()
	ctx := t.Context()
	ok, err := inTime(func() error { return s.Append(ctx, []runlog.Record{rec}) })
	if !ok {
		t.Fatalf("Append after a loop over %s was broken off does not return: the loop still holds a lock", loop)
	}
	if err != nil {
		t.Fatalf("Append after a loop over %s was broken off = %v", loop, err)
	}
}

// usable calls the methods of s in the body of a loop over s; it appends rec. If they do
// not return, it reports that and returns false: the caller then leaves the loop, which
// releases a lock that the loop held.
func usable(t testing.TB, s runlog.Store, loop string, rec runlog.Record) bool {
	t.Helper()
	ctx := t.Context()
	ok, err := inTime(func() error { return useAll(ctx, s, rec) })
	if !ok {
		t.Errorf("a loop over %s holds a lock: Records, List or Append in its body does not return", loop)
		return false
	}
	if err != nil {
		t.Fatalf("in the body of a loop over %s: %v", loop, err)
	}
	return true
}

func useAll(ctx context.Context, s runlog.Store, rec runlog.Record) error {
	for _, err := range s.Records(ctx, rec.Run, 0) {
		if err != nil {
			return fmt.Errorf("Records: %w", err)
		}
	}
	for _, err := range s.List(ctx, everyRun) {
		if err != nil {
			return fmt.Errorf("List: %w", err)
		}
	}
	if err := s.Append(ctx, []runlog.Record{rec}); err != nil {
		return fmt.Errorf("Append: %w", err)
	}
	return nil
}

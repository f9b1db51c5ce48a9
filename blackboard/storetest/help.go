package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

var day = time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC)

// entry returns a record as engines write them: the first is Started.
func entry(run string, seq int64) runlog.Record {
	kind := runlog.Called
	if seq == 0 {
		kind = runlog.Started
	}
	return runlog.Record{
		Run: run, Seq: seq, Kind: kind, Branch: "0.1", N: seq, Name: "writer", Hash: "4f2a",
		At: day.Add(time.Duration(seq)), Data: fmt.Appendf(nil, `{"run":%q,"seq":%d}`, run, seq),
	}
}

// kinded returns a record of that kind and name.
func kinded(run string, seq int64, kind, name string) runlog.Record {
	r := entry(run, seq)
	r.Kind, r.Name = kind, name
	return r
}

// entries returns the records from up to but not including to.
func entries(run string, from, to int64) []runlog.Record {
	var recs []runlog.Record
	for seq := from; seq < to; seq++ {
		recs = append(recs, entry(run, seq))
	}
	return recs
}

// mustAppend appends recs, which must succeed.
func mustAppend(t testing.TB, s runlog.Store, recs ...runlog.Record) {
	t.Helper()
	if err := s.Append(t.Context(), recs); err != nil {
		t.Fatalf("Append(%s) = %v", brief(recs), err)
	}
}

// wantConflict appends recs, which must be a conflict.
func wantConflict(t testing.TB, s runlog.Store, recs ...runlog.Record) {
	t.Helper()
	if err := s.Append(t.Context(), recs); !errors.Is(err, runlog.ErrConflict) {
		t.Errorf("Append(%s) = %v, want ErrConflict", brief(recs), err)
	}
}

// wantLog reads the whole log of run.
func wantLog(t testing.TB, s runlog.Store, run string, want ...runlog.Record) {
	t.Helper()
	wantRecords(t, fmt.Sprintf("Records(%q, 0)", run), all(t, s.Records(t.Context(), run, 0)), want)
}

func wantRecords(t testing.TB, what string, got, want []runlog.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s yielded %d records, want %d: got %s", what, len(got), len(want), brief(got))
	}
	for i := range want {
		if diff := difference(got[i], want[i]); diff != "" {
			t.Errorf("%s: record %d: %s", what, i, diff)
		}
	}
}

// difference says which field of got is not as in want, or "".
func difference(got, want runlog.Record) string {
	gotAt, _ := json.Marshal(got.At)
	wantAt, _ := json.Marshal(want.At)
	switch {
	case !got.At.Equal(want.At) || !bytes.Equal(gotAt, wantAt):
		return fmt.Sprintf("At is %s, want %s", gotAt, wantAt)
	case !bytes.Equal(got.Data, want.Data):
		return fmt.Sprintf("Data is %.200q (%d bytes), want %.200q (%d bytes)", got.Data, len(got.Data), want.Data, len(want.Data))
	}
	got.At, got.Data, want.At, want.Data = time.Time{}, nil, time.Time{}, nil
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		return fmt.Sprintf("it is %s, want %s", g, w)
	}
	return ""
}

// brief names records by run and number.
func brief(recs []runlog.Record) string {
	if len(recs) > 10 {
		return fmt.Sprintf("%d records from %q %d", len(recs), recs[0].Run, recs[0].Seq)
	}
	var b bytes.Buffer
	for i, r := range recs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q %d", r.Run, r.Seq)
	}
	return b.String()
}

// all collects what a sequence yields; an error ends the check.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var vs []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("yielded the error %v after %d values", err, len(vs))
		}
		vs = append(vs, v)
	}
	return vs
}

// firstError returns the first error that a sequence yields, and complains if it
// yields anything after it.
func firstError[T any](t testing.TB, seq iter.Seq2[T, error]) error {
	t.Helper()
	var first error
	for _, err := range seq {
		if first != nil {
			t.Errorf("yielded more after the error %v", first)
			break
		}
		first = err
	}
	return first
}

// leave breaks out of a loop at the first value.
func leave[T any](t testing.TB, seq iter.Seq2[T, error]) {
	t.Helper()
	for _, err := range seq {
		if err == nil {
			break
		}
		t.Fatalf("yielded the error %v", err)
	}
}

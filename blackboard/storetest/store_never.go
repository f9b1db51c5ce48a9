package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// appendRefused appends what no store takes: Data that no list can be made of.
func appendRefused(t testing.TB, s runlog.Store) {
	for _, data := range []string{`7`, `{"owner":7}`, `{"labels":{"a":1}}`, `{`} {
		bad := entry("bad", 0)
		bad.Data = json.RawMessage(data)
		if taken := offer(t, s, bad); taken {
			t.Errorf("Append of a started record with the Data %s = nil, want ErrRefused", data)
		}
	}
}

// appendNever appends what only some stores take. One that never does says so.
func appendNever(t testing.TB, s runlog.Store) {
	long := strings.Repeat("x", 10_000)
	for name, change := range map[string]func(r *runlog.Record){
		"id":     func(r *runlog.Record) { r.Run = long },
		"name":   func(r *runlog.Record) { r.Name = long },
		"kind":   func(r *runlog.Record) { r.Seq, r.Kind = 0, long },
		"owner":  func(r *runlog.Record) { r.Data = json.RawMessage(`{"owner":"` + long + `"}`) },
		"parent": func(r *runlog.Record) { r.Data = json.RawMessage(`{"parent":"` + long + `"}`) },
		"label":  func(r *runlog.Record) { r.Data = json.RawMessage(`{"labels":{"` + long + `":"` + long + `"}}`) },
		"early":  func(r *runlog.Record) { r.At = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC) },
		"late":   func(r *runlog.Record) { r.At = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		r := entry(name, 0)
		change(&r)
		offer(t, s, r)
	}
}

// offer appends rec, the first record of its run, together with one of another run, and
// reports whether s takes them. If it does not, it must say "never", store none of them,
// and go on working.
func offer(t testing.TB, s runlog.Store, rec runlog.Record) (taken bool) {
	t.Helper()
	other := entry("other of "+rec.Run[:1]+rec.Kind[:1], 0)
	logs := all(t, s.Records(t.Context(), other.Run, 0))
	other = entry(other.Run, int64(len(logs)))
	err := s.Append(t.Context(), []runlog.Record{other, rec})
	switch {
	case err == nil:
		wantLog(t, s, other.Run, append(slices.Clone(logs), other)...)
		wantLog(t, s, rec.Run, rec)
		return true
	case !runlog.IsNever(err):
		t.Errorf("Append of a record that the store does not take = %v, want ErrTooLarge or ErrRefused: an engine would try it again for the time of an outage", err)
	}
	wantLog(t, s, other.Run, logs...)
	if _, err := s.Last(t.Context(), rec.Run); !errors.Is(err, runlog.ErrNoRun) {
		t.Errorf("Last of a run whose only record was refused = %v, want ErrNoRun", err)
	}
	mustAppend(t, s, other)
	return false
}

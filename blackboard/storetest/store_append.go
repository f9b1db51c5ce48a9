package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

var appendChecks = []check{
	{"Nothing", appendNothing},
	{"AllFields", appendAllFields},
	{"FewFields", appendFewFields},
	{"Times", appendTimes},
	{"DataExact", appendDataExact},
	{"EmptyDataIsNil", appendEmptyData},
	{"BigData", appendBigData},
	{"OddRunIDs", appendOddRunIDs},
	{"SeveralRuns", appendSeveralRuns},
	{"ConflictTaken", conflictTaken},
	{"ConflictGap", conflictGap},
	{"ConflictOrder", conflictOrder},
	{"AllOrNone", appendAllOrNone},
	{"Refused", appendRefused},
	{"Never", appendNever},
	{"KeepsNothing", appendKeepsNothing},
	{"AfterEnded", appendAfterEnded},
	{"EndedTogether", appendEndedTogether},
	{"CanceledContext", appendCanceled},
}

func appendNothing(t testing.TB, s runlog.Store) {
	mustAppend(t, s)
}

func appendAllFields(t testing.TB, s runlog.Store) {
	large, both := entry("r", 1), entry("r", 2)
	large.Data, large.Blob = nil, strings.Repeat("0f", 32)
	large.N, large.Kind = 1<<62, "my own kind"
	both.Blob = large.Blob
	mustAppend(t, s, entry("r", 0), large, both)
	wantLog(t, s, "r", entry("r", 0), large, both)
}

func appendFewFields(t testing.TB, s runlog.Store) {
	r := runlog.Record{Run: "r", Kind: runlog.Started}
	mustAppend(t, s, r)
	wantLog(t, s, "r", r)
}

func appendTimes(t testing.TB, s runlog.Store) {
	var want []runlog.Record
	for i, at := range []time.Time{
		day,
		time.Unix(0, 0).UTC(),
		time.Unix(0, 1).UTC(),
		time.Unix(0, -1).UTC(),
		time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC),
	} {
		r := entry("r", int64(i))
		r.At = at
		want = append(want, r)
	}
	mustAppend(t, s, want...)
	wantLog(t, s, "r", want...)
}

func appendDataExact(t testing.TB, s runlog.Store) {
	var want []runlog.Record
	for i, data := range []string{
		`{"b":"<b>&amp;</b>","a":1}`,
		`"\u003c\u0000\ud83d\ude00"`,
		`"😀 é ` + "\u2028" + `"`,
		`[1.0,1e400,-0,12345678901234567890]`,
		`null`,
		`{"a":1,"a":2}`,
	} {
		r := entry("r", int64(i))
		r.Data = json.RawMessage(data)
		want = append(want, r)
	}
	mustAppend(t, s, want...)
	wantLog(t, s, "r", want...)
}

func appendEmptyData(t testing.TB, s runlog.Store) {
	r, empty := entry("r", 0), entry("r", 1)
	r.Data, empty.Data = nil, json.RawMessage{}
	mustAppend(t, s, r, empty)
	for _, got := range all(t, s.Records(t.Context(), "r", 0)) {
		if got.Data != nil {
			t.Errorf("record %d: Data is %#v, want nil", got.Seq, got.Data)
		}
	}
}

func appendBigData(t testing.TB, s runlog.Store) {
	big := entry("r", 1)
	big.Data = json.RawMessage(`"` + strings.Repeat("0123456789abcdef", 1<<16) + `"`)
	want := []runlog.Record{entry("r", 0), big, entry("r", 2)}
	mustAppend(t, s, want...)
	wantLog(t, s, "r", want...)
}

func appendOddRunIDs(t testing.TB, s runlog.Store) {
	odd := []string{
		"a/b", "a", "../a", ".", "a.b", "a b", "A", "a%2Fb", "r%", "r_", "'r'", "ünï/😀", "r*", "?",
		strings.Repeat("long", 60),
	}
	for _, run := range odd {
		mustAppend(t, s, entry(run, 0))
	}
	for _, run := range odd {
		wantLog(t, s, run, entry(run, 0))
	}
}

func appendSeveralRuns(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("b", 0))
	mustAppend(t, s, entry("a", 0), entry("b", 1), entry("a", 1), entry("c", 0), entry("b", 2))
	mustAppend(t, s, entry("b", 3), entry("a", 2))
	wantLog(t, s, "a", entries("a", 0, 3)...)
	wantLog(t, s, "b", entries("b", 0, 4)...)
	wantLog(t, s, "c", entry("c", 0))
}

func conflictTaken(t testing.TB, s runlog.Store) {
	want := entries("r", 0, 3)
	mustAppend(t, s, want...)
	for seq := range int64(3) {
		wantConflict(t, s, kinded("r", seq, runlog.Ended, "late"))
		wantConflict(t, s, entry("r", seq)) // even if it is the same record
	}
	wantConflict(t, s, entry("r", 2), entry("r", 3))
	wantLog(t, s, "r", want...)
}

func conflictGap(t testing.TB, s runlog.Store) {
	wantConflict(t, s, entry("new", 1))
	wantConflict(t, s, entry("new", -1))
	wantLog(t, s, "new")
	mustAppend(t, s, entry("r", 0))
	wantConflict(t, s, entry("r", 2))
	wantConflict(t, s, entry("r", 1), entry("r", 3))
	wantLog(t, s, "r", entry("r", 0))
}

func conflictOrder(t testing.TB, s runlog.Store) {
	wantConflict(t, s, entry("r", 1), entry("r", 0))
	wantConflict(t, s, entry("r", 0), entry("r", 0))
	wantConflict(t, s, entry("r", 0), entry("r", 2), entry("r", 1))
	wantLog(t, s, "r")
}

func appendAllOrNone(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	wantConflict(t, s, entry("a", 1), entry("new", 0), entry("b", 0), entry("a", 2))
	wantConflict(t, s, entry("a", 1), entry("new", 0), entry("b", 5))
	wantConflict(t, s, entry("new", 0), kinded("a", 1, runlog.Ended, ""), entry("new", 1), entry("new", 3))
	wantLog(t, s, "a", entry("a", 0))
	wantLog(t, s, "b", entry("b", 0))
	wantLog(t, s, "new")
	wantRuns(t, s, openRuns, "a", "b")
}

func appendKeepsNothing(t testing.TB, s runlog.Store) {
	recs := entries("r", 0, 3)
	want := entries("r", 0, 3)
	mustAppend(t, s, recs...)
	for i := range recs {
		copy(recs[i].Data, bytes.Repeat([]byte("x"), len(recs[i].Data)))
		recs[i] = runlog.Record{}
	}
	wantLog(t, s, "r", want...)
}

// appendAfterEnded appends to a run that ended: nothing may follow.
func appendAfterEnded(t testing.TB, s runlog.Store) {
	end := kinded("r", 1, runlog.Ended, "")
	mustAppend(t, s, entry("r", 0), end)
	wantConflict(t, s, entry("r", 2))
	wantConflict(t, s, kinded("r", 2, runlog.Resumed, ""))
	wantConflict(t, s, entry("new", 0), kinded("r", 2, runlog.Ended, ""))
	wantLog(t, s, "r", entry("r", 0), end)
	wantLog(t, s, "new")
	wantRuns(t, s, openRuns)
}

// appendEndedTogether appends records after an end in the same call.
func appendEndedTogether(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("old", 0))
	for _, run := range []string{"r", "old"} {
		wantConflict(t, s, entry("r", 0), kinded("old", 1, runlog.Ended, ""), kinded("r", 1, runlog.Ended, ""), entry(run, 2))
	}
	wantLog(t, s, "r")
	wantLog(t, s, "old", entry("old", 0))
	wantRuns(t, s, openRuns, "old")
}

func appendCanceled(t testing.TB, s runlog.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, recs := range [][]runlog.Record{{entry("r", 0)}, entries("r", 0, 2)} {
		if err := s.Append(ctx, recs); !errors.Is(err, context.Canceled) {
			t.Errorf("Append(%s) with a canceled context = %v, want context.Canceled", brief(recs), err)
		}
	}
	wantLog(t, s, "r")
}

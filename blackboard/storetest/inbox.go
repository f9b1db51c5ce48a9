package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

var inboxChecks = []check{
	{"Letters", inboxLetters},
	{"FirstWins", inboxFirstWins},
	{"OneWins", inboxOneWins},
	{"AfterAnswered", inboxAfterAnswered},
	{"AfterCanceled", inboxAfterCanceled},
	{"OtherRecords", inboxOtherRecords},
	{"AfterExpired", inboxAfterExpired},
	{"AskedAgain", inboxAskedAgain},
	{"Early", inboxEarly},
	{"Rejected", inboxRejected},
	{"NoRun", inboxNoRun},
	{"AfterEnded", inboxAfterEnded},
	{"Expired", inboxExpiredLetter},
	{"DataExact", inboxDataExact},
	{"CallerOwnsData", inboxCallerOwnsData},
	{"NoLockWhileYielding", inboxNoLock},
	{"CanceledContext", inboxCanceled},
}

func letter(run, key string) runlog.Letter {
	return runlog.Letter{Run: run, Key: key, Data: fmt.Appendf(nil, `{"to":%q}`, run+"/"+key)}
}

func mustPut(t testing.TB, in runlog.Inbox, letters ...runlog.Letter) {
	t.Helper()
	for _, l := range letters {
		if err := in.Put(t.Context(), l); err != nil {
			t.Fatalf("Put(run %q, key %q) = %v", l.Run, l.Key, err)
		}
	}
}

func wantTaken(t testing.TB, in runlog.Inbox, run, key string) {
	t.Helper()
	if err := in.Put(t.Context(), runlog.Letter{Run: run, Key: key, Data: json.RawMessage(`"late"`)}); !errors.Is(err, runlog.ErrConflict) {
		t.Errorf("a second Put(run %q, key %q) = %v, want ErrConflict", run, key, err)
	}
}

// wantLetters compares in any order.
func wantLetters(t testing.TB, in runlog.Inbox, run string, want ...runlog.Letter) {
	t.Helper()
	got := all(t, in.Letters(t.Context(), run))
	byKey := func(a, b runlog.Letter) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key))
	}
	slices.SortFunc(got, byKey)
	slices.SortFunc(want, byKey)
	if g, w := describe(got), describe(want); !slices.Equal(g, w) {
		t.Errorf("Letters(%q) yielded\n%s, want\n%s", run, g, w)
	}
}

func describe(letters []runlog.Letter) []string {
	var lines []string
	for _, l := range letters {
		lines = append(lines, fmt.Sprintf("run %q, key %q, expired %v: %q", l.Run, l.Key, l.Expired, l.Data))
	}
	return lines
}

func inboxLetters(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	wantLetters(t, in, "a")
	wantLetters(t, in, "")
	mustPut(t, in, letter("a", "q2"), letter("a", "q1"), letter("a", ""), letter("b", "q1"))
	wantLetters(t, in, "a", letter("a", ""), letter("a", "q1"), letter("a", "q2"))
	wantLetters(t, in, "b", letter("b", "q1"))
	wantLetters(t, in, "c")
	wantLetters(t, in, "", letter("a", ""), letter("a", "q1"), letter("a", "q2"), letter("b", "q1"))
}

func inboxFirstWins(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "q"), letter("r", ""))
	wantTaken(t, in, "r", "q")
	wantTaken(t, in, "r", "")
	wantLetters(t, in, "r", letter("r", ""), letter("r", "q"))
}

func inboxOneWins(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	ctx := t.Context()
	mustAppend(t, s, entry("r", 0))
	won := -1
	for i, err := range together(8, func(i int) error { return in.Put(ctx, letter2("r", "q", i)) }) {
		switch {
		case err == nil && won >= 0:
			t.Errorf("letters %d and %d for one question were both taken", won, i)
		case err == nil:
			won = i
		case !errors.Is(err, runlog.ErrConflict):
			t.Errorf("Put in a race = %v, want nil or ErrConflict", err)
		}
	}
	wantLetters(t, in, "r", letter2("r", "q", won))
}

func letter2(run, key string, i int) runlog.Letter {
	return runlog.Letter{Run: run, Key: key, Data: fmt.Append(nil, i)}
}

// inboxAfterAnswered has answers in the log, of letters and of none.
func inboxAfterAnswered(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), entry("other", 0))
	mustPut(t, in, letter("r", "q1"), letter("r", "q2"), letter("r", ""), letter("other", "q1"))
	mustAppend(t, s, kinded("r", 1, runlog.Answered, "q1"), kinded("r", 2, runlog.Answered, "q3"))
	wantLetters(t, in, "r", letter("r", "q2"), letter("r", ""))
	wantLetters(t, in, "", letter("r", "q2"), letter("r", ""), letter("other", "q1"))
	wantTaken(t, in, "r", "q1")
	wantTaken(t, in, "r", "q3")
	mustPut(t, in, letter("other", "q3"))
}

func inboxAfterCanceled(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	mustPut(t, in, letter("a", ""), letter("a", "q"))
	mustAppend(t, s, kinded("a", 1, runlog.Canceled, "the host"), kinded("b", 1, runlog.Canceled, ""))
	wantLetters(t, in, "a", letter("a", "q"))
	wantTaken(t, in, "a", "")
	wantTaken(t, in, "b", "")
	mustPut(t, in, letter("b", "q"))
}

// inboxOtherRecords has records that look like answers and are none.
func inboxOtherRecords(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "q"), letter("r", ""))
	mustAppend(
		t, s,
		kinded("r", 1, runlog.Asked, "q"), kinded("r", 2, runlog.Answered, ""),
		kinded("r", 3, runlog.Canceled, "q"), kinded("r", 4, runlog.Called, "q2"),
	)
	wantLetters(t, in, "r", letter("r", "q"))
	mustPut(t, in, letter("r", "q2"))
}

// wantPutError puts a letter that the store must refuse with that error.
func wantPutError(t testing.TB, in runlog.Inbox, l runlog.Letter, want error) {
	t.Helper()
	if err := in.Put(t.Context(), l); !errors.Is(err, want) {
		t.Errorf("Put(run %q, key %q) = %v, want %v", l.Run, l.Key, err, want)
	}
}

// inboxAfterExpired has questions that closed without an answer.
func inboxAfterExpired(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Asked, "q1"), kinded("r", 2, runlog.Asked, "q2"), kinded("r", 3, runlog.Asked, "q3"))
	mustPut(t, in, letter("r", "q1"), letter("r", "q2"), letter("r", "q3"))
	mustAppend(t, s, kinded("r", 4, runlog.Expired, "q1"), kinded("r", 5, runlog.Withdrawn, "q2"), kinded("r", 6, runlog.Expired, "q4"))
	wantLetters(t, in, "r", letter("r", "q3"))
	for _, key := range []string{"q1", "q2", "q4"} {
		wantTaken(t, in, "r", key)
	}
}

// inboxAskedAgain has a key that is asked once more after it closed without an answer.
func inboxAskedAgain(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	seq := int64(1)
	mustAppend(t, s, entry("r", 0), entry("other", 0), kinded("other", 1, runlog.Answered, "q"))
	for _, kind := range []string{runlog.Expired, runlog.Withdrawn} {
		mustAppend(t, s, kinded("r", seq, runlog.Asked, "q"), kinded("r", seq+1, kind, "q"), kinded("r", seq+2, runlog.Asked, "another"))
		wantTaken(t, in, "r", "q")
		seq += 3
	}
	mustAppend(t, s, kinded("r", seq, runlog.Asked, "q"))
	mustPut(t, in, letter("r", "q"))
	wantTaken(t, in, "r", "q")
	wantTaken(t, in, "other", "q")
}

// inboxEarly has an answer on record before its question, as happens when both come at
// the same time.
func inboxEarly(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Answered, "q"), withData(kinded("r", 2, runlog.Asked, "q"), `{"key":"q"}`))
	wantTaken(t, in, "r", "q")
	mustAppend(t, s, withData(kinded("r", 3, runlog.Asked, "q"), `{"key":"q","rejected":"want a number"}`))
	mustPut(t, in, letter("r", "q"))
}

// inboxRejected has early answers that the run dropped, on record.
func inboxRejected(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	var keys []string
	for i, data := range []string{`{}`, `{"rejected":""}`, `{"rejected":null}`, `{"data":{"rejected":"no"}}`, `"rejected"`} {
		key := fmt.Sprint("q", i)
		keys = append(keys, key)
		mustPut(t, in, letter("r", key))
		mustAppend(t, s, withData(kinded("r", int64(i)+1, runlog.Asked, key), data))
		wantTaken(t, in, "r", key)
	}
	seq := int64(len(keys)) + 1
	mustPut(t, in, letter("r", "wrong"), letter("r", ""))
	mustAppend(t, s, withData(kinded("r", seq, runlog.Asked, "wrong"), `{"key":"wrong","rejected":"want a number"}`))
	want := []runlog.Letter{letter("r", "")}
	for _, key := range keys {
		want = append(want, letter("r", key))
	}
	wantLetters(t, in, "r", want...)
	mustPut(t, in, letter2("r", "wrong", 2))
	wantTaken(t, in, "r", "wrong")
	wantLetters(t, in, "r", append(want, letter2("r", "wrong", 2))...)
}

func inboxNoRun(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r/1", 0))
	for _, run := range []string{"r", "", "%"} {
		wantPutError(t, in, letter(run, "q"), runlog.ErrNoRun)
		wantPutError(t, in, letter(run, ""), runlog.ErrNoRun)
	}
	if b, ok := s.(runlog.Blobs); ok {
		mustPutBlob(t, b, "r", []byte("x"))
		wantPutError(t, in, letter("r", "q"), runlog.ErrNoRun)
	}
	wantLetters(t, in, "")
}

// inboxAfterEnded has letters that their run has not read before its end.
func inboxAfterEnded(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Asked, "q"), entry("other", 0))
	mustPut(t, in, letter("r", "q"), letter("r", "early"), letter("r", ""), letter("other", "q"))
	mustAppend(t, s, kinded("r", 2, runlog.Ended, ""))
	wantLetters(t, in, "r")
	wantLetters(t, in, "", letter("other", "q"))
	for _, key := range []string{"q", "early", "new", ""} {
		wantPutError(t, in, letter("r", key), runlog.ErrEnded)
	}
}

func inboxExpiredLetter(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Asked, "q"))
	over := runlog.Letter{Run: "r", Key: "q", Expired: true}
	mustPut(t, in, over)
	wantTaken(t, in, "r", "q")
	wantLetters(t, in, "r", over)
	mustAppend(t, s, kinded("r", 2, runlog.Expired, "q"))
	wantLetters(t, in, "r")
	wantTaken(t, in, "r", "q")
}

func inboxDataExact(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	exact := runlog.Letter{Run: "r", Key: "a/ü", Data: json.RawMessage(`{"b":"<&>","a":"😀\u003c"}`)}
	mustPut(t, in, exact, runlog.Letter{Run: "r", Key: "", Data: json.RawMessage{}})
	wantLetters(t, in, "r", exact, runlog.Letter{Run: "r"})
}

func inboxCallerOwnsData(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	l := letter("r", "q")
	mustPut(t, in, l)
	clear(l.Data)
	for range 2 {
		for l, err := range in.Letters(t.Context(), "r") {
			if err != nil {
				t.Fatalf("Letters yielded the error %v", err)
			}
			clear(l.Data)
		}
	}
	wantLetters(t, in, "r", letter("r", "q"))
}

func inboxNoLock(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "a"), letter("r", "b"))
	next := int64(1)
	for _, err := range in.Letters(t.Context(), "") {
		if err != nil {
			t.Fatalf("Letters yielded the error %v", err)
		}
		if !usable(t, s, "Letters", entry("r", next)) {
			break
		}
		next++
	}
}

func inboxCanceled(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := in.Put(ctx, letter("r", "q")); !errors.Is(err, context.Canceled) {
		t.Errorf("Put with a canceled context = %v, want context.Canceled", err)
	}
	for _, run := range []string{"", "r"} {
		if err := firstError(t, in.Letters(ctx, run)); !errors.Is(err, context.Canceled) {
			t.Errorf("Letters(%q) with a canceled context yielded the error %v, want context.Canceled", run, err)
		}
	}
	wantLetters(t, in, "")
}

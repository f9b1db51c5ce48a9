package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
)

func (suite Suite) inboxChecks() []check {
	return []check{
		{"Letters", inboxLetters},
		{"OncePerAddress", inboxOncePerAddress},
		{"Rounds", inboxRounds},
		{"OneWins", suite.inboxOneWins},
		{"Take", inboxTake},
		{"TakenStaysUsed", suite.inboxTakenStaysUsed},
		{"TakeUnknown", inboxTakeUnknown},
		{"RecordsDoNothing", inboxRecordsDoNothing},
		{"NoRun", inboxNoRun},
		{"Expired", inboxExpired},
		{"DataExact", inboxDataExact},
		{"CallerOwnsData", inboxCallerOwnsData},
		{"NoLockWhileYielding", inboxNoLock},
		{"CanceledContext", inboxCanceled},
	}
}

func letter(run, key string) runlog.Letter {
	return runlog.Letter{Run: run, Key: key, Data: fmt.Appendf(nil, `{"to":%q}`, run+"/"+key)}
}

// at returns a letter at that round.
func at(run, key string, round int) runlog.Letter {
	l := letter(run, key)
	l.Round = round
	return l
}

func mustPut(t testing.TB, in runlog.Inbox, letters ...runlog.Letter) {
	t.Helper()
	for _, l := range letters {
		if err := in.Put(t.Context(), l); err != nil {
			t.Fatalf("Put(run %q, key %q) = %v", l.Run, l.Key, err)
		}
	}
}

func mustTake(t testing.TB, in runlog.Inbox, run, key string, round int) {
	t.Helper()
	if err := in.Take(t.Context(), run, key, round); err != nil {
		t.Fatalf("Take(%q, %q, %d) = %v", run, key, round, err)
	}
}

// wantUsed puts a letter at an address that had one.
func wantUsed(t testing.TB, in runlog.Inbox, run, key string, round int) {
	t.Helper()
	late := runlog.Letter{Run: run, Key: key, Round: round, Data: json.RawMessage(`"late"`)}
	if err := in.Put(t.Context(), late); !errors.Is(err, runlog.ErrConflict) {
		t.Errorf("a second Put(run %q, key %q, round %d) = %v, want ErrConflict", run, key, round, err)
	}
}

// wantLetters has them in the order of runs, keys and rounds.
func wantLetters(t testing.TB, in runlog.Inbox, run string, want ...runlog.Letter) {
	t.Helper()
	got := all(t, in.Letters(t.Context(), run))
	if g, w := describe(got), describe(want); !slices.Equal(g, w) {
		t.Errorf("Letters(%q) yielded\n%s, want\n%s", run, strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

func describe(letters []runlog.Letter) []string {
	var lines []string
	for _, l := range letters {
		lines = append(lines, fmt.Sprintf("run %q, key %q, round %d, expired %v: %q", l.Run, l.Key, l.Round, l.Expired, l.Data))
	}
	return lines
}

func inboxLetters(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	wantLetters(t, in, "a")
	wantLetters(t, in, "")
	mustPut(t, in, letter("b", "q1"), letter("a", "q2"), letter("a", "Q"), letter("a", "q10"), letter("a", "q1"), letter("a", ""))
	ofA := []runlog.Letter{letter("a", ""), letter("a", "Q"), letter("a", "q1"), letter("a", "q10"), letter("a", "q2")}
	wantLetters(t, in, "a", ofA...)
	wantLetters(t, in, "b", letter("b", "q1"))
	wantLetters(t, in, "c")
	wantLetters(t, in, "", append(ofA, letter("b", "q1"))...)
}

func inboxOncePerAddress(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), entry("other", 0))
	mustPut(t, in, letter("r", "q"), letter("r", ""))
	wantUsed(t, in, "r", "q", 0)
	wantUsed(t, in, "r", "", 0)
	wantLetters(t, in, "r", letter("r", ""), letter("r", "q"))
	mustPut(t, in, letter("other", "q"), letter("r", "Q"), letter("r", "q "))
}

// inboxOneWins lets many, in two processes, put letters at the same address.
func (suite Suite) inboxOneWins(t testing.TB, s runlog.Store) {
	ctx := t.Context()
	in := as[runlog.Inbox](t, s)
	both := []runlog.Inbox{in, as[runlog.Inbox](t, suite.Other(t, s))}
	mustAppend(t, s, entry("r", 0))
	var want []runlog.Letter
	for round := range 10 {
		won := -1
		for i, err := range together(8, func(i int) error { return both[i%2].Put(ctx, letter2("r", "q", round, i)) }) {
			switch {
			case err == nil && won >= 0:
				t.Errorf("letters %d and %d for one address were both kept", won, i)
			case err == nil:
				won = i
			case !errors.Is(err, runlog.ErrConflict):
				t.Errorf("Put in a race = %v, want nil or ErrConflict", err)
			}
		}
		want = append(want, letter2("r", "q", round, won))
	}
	for _, in := range both {
		wantLetters(t, in, "r", want...)
	}
}

func letter2(run, key string, round, i int) runlog.Letter {
	return runlog.Letter{Run: run, Key: key, Round: round, Data: fmt.Append(nil, i)}
}

func inboxTake(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	mustPut(t, in, letter("a", "q1"), letter("a", "q2"), letter("a", ""), letter("b", "q1"), letter("b", ""))
	mustTake(t, in, "a", "q1", 0)
	mustTake(t, in, "b", "", 0)
	wantLetters(t, in, "a", letter("a", ""), letter("a", "q2"))
	wantLetters(t, in, "", letter("a", ""), letter("a", "q2"), letter("b", "q1"))
	mustTake(t, in, "a", "q1", 0) // again
	wantLetters(t, in, "a", letter("a", ""), letter("a", "q2"))
}

// inboxTakenStaysUsed is what decides between an answer and the end of its time.
func (suite Suite) inboxTakenStaysUsed(t testing.TB, s runlog.Store) {
	in, other := as[runlog.Inbox](t, s), as[runlog.Inbox](t, suite.Other(t, s))
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "q"), letter("r", ""), runlog.Letter{Run: "r", Key: "p", Expired: true})
	for _, key := range []string{"q", "", "p"} {
		mustTake(t, other, "r", key, 0)
		wantUsed(t, in, "r", key, 0)
		wantUsed(t, other, "r", key, 0)
	}
	wantLetters(t, in, "r")
	wantLetters(t, other, "r")
	mustPut(t, in, at("r", "q", 1))
	wantLetters(t, in, "r", at("r", "q", 1))
}

func inboxTakeUnknown(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustTake(t, in, "unknown", "q", 0)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "q"))
	mustTake(t, in, "r", "p", 0)
	mustTake(t, in, "r", "q", 1)
	mustTake(t, in, "", "q", 0)
	wantLetters(t, in, "r", letter("r", "q"))
	mustPut(t, in, letter("r", "p"), at("r", "q", 1)) // Take uses no address
}

// inboxRecordsDoNothing has records that look as if they removed letters, or closed
// questions: only Take and Delete do anything to letters.
func inboxRecordsDoNothing(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", ""), letter("r", "q1"), letter("r", "q2"), letter("r", "q3"))
	mustAppend(
		t, s,
		kinded("r", 1, runlog.Answered, "q1"), kinded("r", 2, runlog.Expired, "q2"), kinded("r", 3, runlog.Withdrawn, "q3"),
		kinded("r", 4, runlog.Answered, "p"), kinded("r", 5, runlog.Canceled, ""), kinded("r", 6, runlog.Ended, ""),
	)
	mustPut(t, in, letter("r", "p"), at("r", "q1", 1))
	wantLetters(t, in, "r", letter("r", ""), letter("r", "p"), letter("r", "q1"), at("r", "q1", 1), letter("r", "q2"), letter("r", "q3"))
}

func inboxNoRun(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r/1", 0))
	for _, run := range []string{"r", "", "%"} {
		wantNoRun(t, in, letter(run, "q"))
		wantNoRun(t, in, letter(run, ""))
	}
	if b, ok := runlog.As[runlog.Blobs](s); ok {
		mustPutBlob(t, b, "r", []byte("x"))
		wantNoRun(t, in, letter("r", "q"))
	}
	wantLetters(t, in, "")
	mustAppend(t, s, entry("r", 0))
	mustPut(t, in, letter("r", "q")) // a letter that was refused used no address
}

func wantNoRun(t testing.TB, in runlog.Inbox, l runlog.Letter) {
	t.Helper()
	if err := in.Put(t.Context(), l); !errors.Is(err, runlog.ErrNoRun) {
		t.Errorf("Put(run %q, key %q) = %v, want ErrNoRun", l.Run, l.Key, err)
	}
}

func inboxExpired(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0), kinded("r", 1, runlog.Asked, "q"))
	over := runlog.Letter{Run: "r", Key: "q", Expired: true}
	mustPut(t, in, over, letter("r", "p"))
	wantUsed(t, in, "r", "q", 0)
	if err := in.Put(t.Context(), runlog.Letter{Run: "r", Key: "p", Expired: true}); !errors.Is(err, runlog.ErrConflict) {
		t.Errorf("Put of an expiry after the answer = %v, want ErrConflict", err)
	}
	wantLetters(t, in, "r", letter("r", "p"), over)
}

func inboxDataExact(t testing.TB, s runlog.Store) {
	in := as[runlog.Inbox](t, s)
	mustAppend(t, s, entry("r", 0))
	exact := runlog.Letter{Run: "r", Key: "a/ü", Data: json.RawMessage(`{"b":"<&>","a":"😀\u003c"}`)}
	mustPut(t, in, exact, runlog.Letter{Run: "r", Key: "", Data: json.RawMessage{}})
	wantLetters(t, in, "r", runlog.Letter{Run: "r"}, exact)
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
	mustPut(t, in, letter("r", "p"))
	if err := in.Take(ctx, "r", "p", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Take with a canceled context = %v, want context.Canceled", err)
	}
	for _, run := range []string{"", "r"} {
		if err := firstError(t, in.Letters(ctx, run)); !errors.Is(err, context.Canceled) {
			t.Errorf("Letters(%q) with a canceled context yielded the error %v, want context.Canceled", run, err)
		}
	}
	wantLetters(t, in, "", letter("r", "p"))
}

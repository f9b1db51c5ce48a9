package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// openAsksChecks are the rules of open questions. They hold for the scan of logs too, and
// so for every store.
var openAsksChecks = []check{
	{"Kinds", openKinds},
	{"Batch", openBatch},
	{"Random", openRandom},
	{"Ended", openEnded},
	{"Deleted", openDeleted},
	{"Fields", openFields},
	{"Label", openLabel},
	{"Text", openText},
	{"Before", openBefore},
	{"Together", openTogether},
	{"Order", openOrder},
	{"Limit", openLimit},
	{"After", openAfter},
	{"LabelsOfALaterStart", openRestarted},
}

// openIndexChecks are what an index promises beside them.
var openIndexChecks = []check{
	{"Many", openMany},
	{"NoLockWhileYielding", openNoLock},
	{"CallerOwnsLabels", openOwns},
	{"CanceledContext", openCanceled},
}

// openQuestions are the open questions as the index of the store has them, if it has one,
// and as its logs do.
func openQuestions(t testing.TB, s runlog.Store, q runlog.AskQuery) map[string]iter.Seq2[runlog.OpenAsk, error] {
	t.Helper()
	views := map[string]iter.Seq2[runlog.OpenAsk, error]{"the scan": runlog.OpenAsks(t.Context(), struct{ runlog.Store }{s}, q)}
	if index, ok := runlog.As[runlog.OpenQuestions](s); ok {
		views["the index"] = index.OpenAsks(t.Context(), q)
	}
	return views
}

// wantOpen compares the questions, each as run/key, in order.
func wantOpen(t testing.TB, s runlog.Store, q runlog.AskQuery, want ...string) {
	t.Helper()
	for name, view := range openQuestions(t, s, q) {
		var got []string
		for _, a := range all(t, view) {
			got = append(got, a.Run+"/"+a.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: OpenAsks(%+v) yielded %q, want %q", name, q, got, want)
		}
	}
}

var everyQuestion = runlog.AskQuery{}

// sequence returns the records of a run whose question "q" goes through kinds. A "!" says
// that an early answer was rejected, a "+" that another question is asked.
func sequence(run, kinds string) []runlog.Record {
	recs := []runlog.Record{entry(run, 0)}
	for i, kind := range strings.Fields(kinds) {
		kind, rejects := strings.CutSuffix(kind, "!")
		kind, again := strings.CutSuffix(kind, "+")
		rec := kinded(run, int64(i)+1, kind, "q")
		if again {
			rec.Data = []byte(`{"key":"q","again":true}`)
		}
		if rejects {
			rec.Data = []byte(`{"key":"q","rejected":"want a number"}`)
		}
		recs = append(recs, rec)
	}
	return recs
}

// openStates says after which records a question is open.
var openStates = map[string]bool{
	"":                                        false,
	"asked":                                   true,
	"asked asked":                             true,
	"asked answered":                          false,
	"asked answered asked+":                   true,
	"asked answered asked+ asked":             true,
	"asked answered asked+ answered":          false,
	"asked asked+":                            true,
	"asked expired":                           false,
	"asked withdrawn":                         false,
	"asked canceled":                          true,
	"asked stuck resumed":                     true,
	"asked called":                            true,
	"answered":                                false,
	"answered asked":                          false,
	"answered asked!":                         true,
	"answered asked! answered":                false,
	"answered asked! answered asked":          false,
	"answered asked! answered asked!":         true,
	"answered expired asked":                  false,
	"asked answered asked":                    false,
	"asked answered withdrawn asked":          false,
	"asked withdrawn asked":                   true,
	"asked expired asked":                     true,
	"asked expired asked withdrawn":           false,
	"asked expired expired asked":             true,
	"expired answered asked":                  false,
	"expired asked answered asked! withdrawn": false,
}

// wantStates compares what is open with openStates. Of each open question the last record
// that opened it is shown.
func wantStates(t testing.TB, s runlog.Store) {
	t.Helper()
	for kinds, open := range openStates {
		run := "after " + kinds
		var want []string
		if open {
			want = []string{run + "/q"}
		}
		wantOpen(t, s, runlog.AskQuery{Run: run}, want...)
		for name, view := range openQuestions(t, s, runlog.AskQuery{Run: run}) {
			for _, a := range all(t, view) {
				recs := sequence(run, kinds)
				for len(recs) > 1 && recs[len(recs)-1].Kind != runlog.Asked {
					recs = recs[:len(recs)-1]
				}
				wantRecords(t, fmt.Sprintf("%s: OpenAsks after %q", name, kinds), []runlog.Record{a.Record}, recs[len(recs)-1:])
			}
		}
	}
}

func openKinds(t testing.TB, s runlog.Store) {
	for kinds := range openStates {
		for _, rec := range sequence("after "+kinds, kinds) {
			mustAppend(t, s, rec)
		}
	}
	wantStates(t, s)
}

// openBatch appends the same in as few calls as can be.
func openBatch(t testing.TB, s runlog.Store) {
	var recs []runlog.Record
	for kinds := range openStates {
		recs = append(recs, sequence("after "+kinds, kinds)...)
	}
	mustAppend(t, s, recs...)
	wantStates(t, s)
}

// openRandom compares the index with the scan after each of many appends.
func openRandom(t testing.TB, s runlog.Store) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test repeats it
	kinds := []string{runlog.Asked, runlog.Asked, runlog.Asked, runlog.Answered, runlog.Expired, runlog.Withdrawn, runlog.Called, runlog.Stuck, runlog.Resumed}
	next := map[string]int64{}
	for step := range 150 {
		var recs []runlog.Record
		for range 1 + random.IntN(6) {
			run := fmt.Sprint("r", random.IntN(4))
			rec := kinded(run, next[run], kinds[random.IntN(len(kinds))], fmt.Sprint("q", random.IntN(3)))
			rec.At = day.Add(time.Duration(random.IntN(50)) * time.Second)
			switch {
			case next[run] == 0:
				rec.Kind = runlog.Started
			case rec.Kind == runlog.Asked && random.IntN(2) == 0:
				rec.Data = []byte(`{"text":"Really?","rejected":"no"}`)
			}
			next[run]++
			recs = append(recs, rec)
		}
		mustAppend(t, s, recs...)
		views := openQuestions(t, s, everyQuestion)
		var want []runlog.Record
		for _, a := range all(t, views["the scan"]) {
			want = append(want, a.Record)
		}
		for name, view := range views {
			var got []runlog.Record
			for _, a := range all(t, view) {
				got = append(got, a.Record)
			}
			wantRecords(t, fmt.Sprintf("step %d: %s", step, name), got, want)
		}
	}
}

func openEnded(t testing.TB, s runlog.Store) {
	for _, run := range []string{"a", "b"} {
		mustAppend(t, s, entry(run, 0), kinded(run, 1, runlog.Asked, "q"), kinded(run, 2, runlog.Asked, "p"))
	}
	mustAppend(t, s, kinded("a", 3, runlog.Ended, ""))
	mustAppend(t, s, entry("c", 0), kinded("c", 1, runlog.Asked, "q"), kinded("c", 2, runlog.Ended, ""))
	wantOpen(t, s, everyQuestion, "b/q", "b/p")
	wantOpen(t, s, runlog.AskQuery{Run: "a"})
	wantOpen(t, s, runlog.AskQuery{Run: "unknown"})
}

func openDeleted(t testing.TB, s runlog.Store) {
	d, ok := runlog.As[runlog.Deleter](s)
	if !ok {
		return
	}
	for _, run := range []string{"a", "b"} {
		mustAppend(t, s, entry(run, 0), kinded(run, 1, runlog.Answered, "early"), kinded(run, 2, runlog.Asked, "q"))
	}
	if err := d.Delete(t.Context(), "a"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	wantOpen(t, s, everyQuestion, "b/q")
	mustAppend(t, s, entry("a", 0), kinded("a", 1, runlog.Asked, "early")) // the answer was the old run's
	wantOpen(t, s, everyQuestion, "a/early", "b/q")
	if err := d.Delete(t.Context(), "a", "b"); err != nil {
		t.Fatalf("Delete = %v", err)
	}
	mustAppend(t, s, entry("c", 0), kinded("c", 1, runlog.Asked, "early"), entry("d", 0), kinded("d", 1, runlog.Asked, "early"))
	wantOpen(t, s, everyQuestion, "c/early", "d/early")
}

func openMany(t testing.TB, s runlog.Store) {
	var recs []runlog.Record
	var every, even []string
	for i := range 1500 {
		run := fmt.Sprintf("run-%04d", i)
		recs = append(recs, withData(entry(run, 0), fmt.Sprintf(`{"labels":{"even":"%t"}}`, i%2 == 0)))
		ask := withData(kinded(run, 1, runlog.Asked, "q"), fmt.Sprintf(`{"text":"number %d?"}`, i))
		ask.At = day.Add(time.Duration(i/7) * time.Second)
		recs = append(recs, ask)
		if every = append(every, run+"/q"); i%2 == 0 {
			even = append(even, run+"/q")
		}
	}
	mustAppend(t, s, recs...)
	wantOpen(t, s, everyQuestion, every...)
	wantOpen(t, s, runlog.AskQuery{Label: "even=true"}, even...)
	wantOpen(t, s, runlog.AskQuery{Text: "NUMBER 1499"}, every[1499])
	wantOpen(t, s, runlog.AskQuery{Text: "number", Label: "even=true", Limit: 700}, even[:700]...)
}

func openNoLock(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), kinded("a", 1, runlog.Asked, "q"), kinded("a", 2, runlog.Asked, "p"), kinded("a", 3, runlog.Asked, "o"))
	next := int64(0)
	for a, err := range as[runlog.OpenQuestions](t, s).OpenAsks(t.Context(), everyQuestion) {
		if err != nil {
			t.Fatalf("OpenAsks yielded the error %v", err)
		}
		clear(a.Data)
		if !usable(t, s, "OpenAsks", entry("other", next)) {
			break
		}
		next++
	}
	if next != 3 {
		t.Errorf("OpenAsks yielded %d questions while records were appended, want 3", next)
	}
}

func openOwns(t testing.TB, s runlog.Store) {
	mustAppend(t, s, withData(entry("a", 0), `{"labels":{"team":"red"}}`), kinded("a", 1, runlog.Asked, "q"))
	for range 2 {
		for _, a := range all(t, as[runlog.OpenQuestions](t, s).OpenAsks(t.Context(), everyQuestion)) {
			if a.Labels["team"] != "red" || len(a.Data) == 0 || a.Data[0] != '{' {
				t.Errorf("OpenAsks yielded the labels %q and the data %q after the caller had changed its own", a.Labels, a.Data)
			}
			clear(a.Labels)
			clear(a.Data)
		}
	}
}

func openCanceled(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), kinded("a", 1, runlog.Asked, "q"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := firstError(t, as[runlog.OpenQuestions](t, s).OpenAsks(ctx, everyQuestion)); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenAsks with a canceled context yielded the error %v, want context.Canceled", err)
	}
}

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// counter appends runs with questions that differ in all that a query can ask for. In the
// order in which they were asked: a/pay b/pay c/ship a/Go-2 d/pay e/x.
func counter(t testing.TB, s runlog.Store) {
	t.Helper()
	next := map[string]int64{}
	for _, r := range []struct{ run, flow, labels string }{
		{"a", "film", `{"team":"x=y","tier":"gold"}`},
		{"b", "film", `{"team":"red"}`},
		{"c", "book", `{"teams":"red"}`},
		{"d", "Film", `{"team":"","note":"a\u0000team=red"}`},
		{"e", "film", `{"team":"red","tier":"gold"}`},
	} {
		mustAppend(t, s, withData(kinded(r.run, 0, runlog.Started, r.flow), fmt.Sprintf(`{"labels":%s}`, r.labels)))
	}
	for minute, q := range []struct{ run, key, data string }{
		{"a", "pay", `{"key":"pay","text":"Pay 100% to Ann?"}`},
		{"b", "pay", `{"text":"PAY 10_0 to bob?","data":{"text":"secret"}}`},
		{"c", "ship", `{"text":7}`},
		{"a", "Go-2", `[1]`},
		{"d", "pay", ``},
		{"e", "x", `{"text":"Ünï?","rejected":"Really"}`},
	} {
		next[q.run]++
		rec := withData(kinded(q.run, next[q.run], runlog.Asked, q.key), q.data)
		rec.At = day.Add(time.Duration(minute) * time.Minute)
		mustAppend(t, s, rec)
	}
}

func openFields(t testing.TB, s runlog.Store) {
	counter(t, s)
	wantOpen(t, s, everyQuestion, "a/pay", "b/pay", "c/ship", "a/Go-2", "d/pay", "e/x")
	wantOpen(t, s, runlog.AskQuery{Run: "a"}, "a/pay", "a/Go-2")
	wantOpen(t, s, runlog.AskQuery{Flow: "film"}, "a/pay", "b/pay", "a/Go-2", "e/x")
	wantOpen(t, s, runlog.AskQuery{Flow: "fil"})
	for name, view := range openQuestions(t, s, runlog.AskQuery{Run: "a", Limit: 1}) {
		for _, a := range all(t, view) {
			if a.Flow != "film" || len(a.Labels) != 2 || a.Labels["tier"] != "gold" || !a.At.Equal(day) || a.Seq != 1 {
				t.Errorf("%s: OpenAsks yielded %+v, want the flow, the labels and the record", name, a)
			}
		}
	}
}

func openLabel(t testing.TB, s runlog.Store) {
	counter(t, s)
	wantOpen(t, s, runlog.AskQuery{Label: "team"}, "a/pay", "b/pay", "a/Go-2", "d/pay", "e/x")
	wantOpen(t, s, runlog.AskQuery{Label: "team=red"}, "b/pay", "e/x")
	wantOpen(t, s, runlog.AskQuery{Label: "team=x=y"}, "a/pay", "a/Go-2")
	wantOpen(t, s, runlog.AskQuery{Label: "team=x"})
	wantOpen(t, s, runlog.AskQuery{Label: "team="}, "d/pay")
	wantOpen(t, s, runlog.AskQuery{Label: "red"})
	wantOpen(t, s, runlog.AskQuery{Label: "tea"})
}

// openText has texts that patterns would treat in their own way.
func openText(t testing.TB, s runlog.Store) {
	counter(t, s)
	wantOpen(t, s, runlog.AskQuery{Text: "pAY"}, "a/pay", "b/pay", "d/pay")
	wantOpen(t, s, runlog.AskQuery{Text: "go-"}, "a/Go-2")
	wantOpen(t, s, runlog.AskQuery{Text: "%"}, "a/pay")
	wantOpen(t, s, runlog.AskQuery{Text: "0_0 TO B"}, "b/pay")
	wantOpen(t, s, runlog.AskQuery{Text: "secret"}) // the question's data
	wantOpen(t, s, runlog.AskQuery{Text: "really"})
	wantOpen(t, s, runlog.AskQuery{Text: "nï?"}, "e/x")
	wantOpen(t, s, runlog.AskQuery{Text: "ünï"}) // not ASCII: case counts
	wantOpen(t, s, runlog.AskQuery{Text: "film"})
	for _, between := range []string{"", "\x00", "\n", " "} { // a text is in one field
		wantOpen(t, s, runlog.AskQuery{Text: "pay" + between + "pay"})
	}
}

func openBefore(t testing.TB, s runlog.Store) {
	counter(t, s)
	wantOpen(t, s, runlog.AskQuery{Before: day})
	wantOpen(t, s, runlog.AskQuery{Before: day.Add(1)}, "a/pay")
	wantOpen(t, s, runlog.AskQuery{Before: day.Add(2 * time.Minute)}, "a/pay", "b/pay")
	wantOpen(t, s, runlog.AskQuery{Before: time.Unix(0, 0)})
}

func openTogether(t testing.TB, s runlog.Store) {
	counter(t, s)
	q := runlog.AskQuery{Run: "b", Flow: "film", Label: "team=red", Text: "bob", Before: day.Add(time.Hour), Limit: 9}
	wantOpen(t, s, q, "b/pay")
	q.After = runlog.AskPlace{At: day.Add(time.Minute), Run: "b", Seq: 1}
	wantOpen(t, s, q)
	wantOpen(t, s, runlog.AskQuery{Flow: "film", Label: "team", Limit: 2, After: runlog.AskPlace{At: day, Run: "a", Seq: 1}}, "b/pay", "a/Go-2")
	wantOpen(t, s, runlog.AskQuery{Text: "pay", Label: "tier=gold"}, "a/pay")
}

// openOrder asks against the order of runs and of appends.
func openOrder(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("b", 0), entry("a", 0), entry("c", 0))
	ask := func(run string, seq int64, key string, second int) {
		rec := kinded(run, seq, runlog.Asked, key)
		rec.At = day.Add(time.Duration(second) * time.Second)
		mustAppend(t, s, rec)
	}
	ask("b", 1, "z", 5)
	ask("b", 2, "a", 5)
	ask("a", 1, "q", 5)
	ask("c", 1, "q", 1)
	ask("a", 2, "p", 9)
	wantOpen(t, s, everyQuestion, "c/q", "a/q", "b/z", "b/a", "a/p")
	ask("c", 2, "q", 7) // another branch asks the same
	wantOpen(t, s, everyQuestion, "a/q", "b/z", "b/a", "c/q", "a/p")
}

func openLimit(t testing.TB, s runlog.Store) {
	counter(t, s)
	wantOpen(t, s, runlog.AskQuery{Limit: 1}, "a/pay")
	wantOpen(t, s, runlog.AskQuery{Limit: 5}, "a/pay", "b/pay", "c/ship", "a/Go-2", "d/pay")
	wantOpen(t, s, runlog.AskQuery{Limit: -1}, "a/pay", "b/pay", "c/ship", "a/Go-2", "d/pay", "e/x")
}

// openAfter reads page by page while questions are answered, the cursor's too.
func openAfter(t testing.TB, s runlog.Store) {
	mustAppend(t, s, entry("a", 0), entry("b", 0))
	var want, got []string
	for seq := range int64(4) {
		for _, run := range []string{"a", "b"} {
			rec := kinded(run, seq+1, runlog.Asked, fmt.Sprint("q", seq))
			rec.At = day.Add(time.Duration(seq/2) * time.Minute) // four of the same time
			mustAppend(t, s, rec)
		}
	}
	for _, minute := range []int{0, 1} {
		for _, run := range []string{"a", "b"} {
			want = append(want, fmt.Sprintf("%s/q%d", run, 2*minute), fmt.Sprintf("%s/q%d", run, 2*minute+1))
		}
	}
	wantOpen(t, s, everyQuestion, want...)
	for i, a := range all(t, openQuestions(t, s, everyQuestion)["the scan"]) {
		wantOpen(t, s, runlog.AskQuery{After: a.Place()}, want[i+1:]...)
	}
	q := runlog.AskQuery{Limit: 3}
	answered := map[string]int64{}
	for range 5 {
		views := openQuestions(t, s, q)
		asks := all(t, views["the scan"])
		if index := views["the index"]; index != nil {
			asks = all(t, index)
		}
		if len(asks) == 0 {
			break
		}
		for _, a := range asks {
			got = append(got, a.Run+"/"+a.Name)
		}
		last := asks[len(asks)-1]
		q.After = last.Place()
		answered[last.Run]++
		mustAppend(t, s, kinded(last.Run, 4+answered[last.Run], runlog.Answered, last.Name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("OpenAsks in pages of 3 yielded %q, want %q", got, want)
	}
}

// openRestarted has a second Started record, which is what the listing shows then.
func openRestarted(t testing.TB, s runlog.Store) {
	mustAppend(t, s, withData(kinded("r", 0, runlog.Started, "film"), `{"labels":{"team":"red"}}`), kinded("r", 1, runlog.Asked, "q"))
	mustAppend(t, s, withData(kinded("r", 2, runlog.Started, "book"), `{"labels":{"team":"blue"}}`))
	wantOpen(t, s, runlog.AskQuery{Flow: "film"})
	wantOpen(t, s, runlog.AskQuery{Label: "team=red"})
	wantOpen(t, s, runlog.AskQuery{Flow: "book", Label: "team=blue"}, "r/q")
}

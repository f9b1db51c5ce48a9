package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// library appends runs that differ in all that a query can ask for. Newest first
// they are f, e, d, c, b, a.
func library(t testing.TB, s runlog.Store) {
	t.Helper()
	for minutes, r := range []struct{ run, flow, started, ended string }{
		{"a", "film", `{"owner":"ann","labels":{"team":"x=y","tier":"gold"}}`, ""},
		{"b", "film", `{"owner":"bob","labels":{"team":"red"}}`, `{"status":"completed"}`},
		{"c", "book", `{"owner":"ann","parent":"a"}`, `{"status":"failed","error":{"message":"Too LONG 100%"}}`},
		{"d", "book", `{"owner":"ann","parent":"b","labels":{"team":""}}`, ""},
		{"e", "Film", `{"owner":"Ann","labels":{"Team":"red","tier":"A_b"}}`, `{"status":"completed"}`},
		{"f", "film", `{"owner":"ann","parent":"a","labels":{"team":"red"}}`, ""},
	} {
		first := started(r.run, minutes)
		first.Name, first.Data = r.flow, []byte(r.started)
		mustAppend(t, s, first)
		if r.ended != "" {
			last := withData(kinded(r.run, 1, runlog.Ended, ""), r.ended)
			last.At = first.At.Add(30 * time.Second)
			mustAppend(t, s, last)
		}
	}
	mustAppend(t, s, withData(kinded("d", 1, runlog.Stuck, ""), `{"error":{"message":"no rule"}}`))
}

func listFields(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Flow: "film"}, "f", "b", "a")
	wantRuns(t, s, runlog.Query{Flow: "fil"})
	wantRuns(t, s, runlog.Query{Status: "completed"}, "e", "b")
	wantRuns(t, s, runlog.Query{Status: runlog.Stuck}, "d")
	wantRuns(t, s, runlog.Query{Owner: "ann"}, "f", "d", "c", "a")
	wantRuns(t, s, runlog.Query{Parent: "a"}, "f", "c")
	mustAppend(t, s, withData(kinded("d", 2, runlog.Resumed, ""), `{"owner":"bob"}`))
	wantRuns(t, s, runlog.Query{Status: runlog.Stuck})
	wantRuns(t, s, runlog.Query{Owner: "ann"}, "f", "c", "a")
	wantRuns(t, s, runlog.Query{Owner: "bob"}, "d", "b")
}

func listLabel(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Label: "team"}, "f", "d", "b", "a")
	wantRuns(t, s, runlog.Query{Label: "team=red"}, "f", "b")
	wantRuns(t, s, runlog.Query{Label: "team=x=y"}, "a")
	wantRuns(t, s, runlog.Query{Label: "team="}, "d")
	wantRuns(t, s, runlog.Query{Label: "red"})
}

// listText has texts that patterns would treat in their own way.
func listText(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Text: "FILM"}, "f", "e", "b", "a") // the flow's name
	wantRuns(t, s, runlog.Query{Text: "RED"}, "f", "e", "b")       // a label's value
	wantRuns(t, s, runlog.Query{Text: "team"})                     // a label's name
	wantRuns(t, s, runlog.Query{Text: "too long"}, "c")            // an error
	wantRuns(t, s, runlog.Query{Text: "0%"}, "c")
	wantRuns(t, s, runlog.Query{Text: "%"}, "c")
	wantRuns(t, s, runlog.Query{Text: "_b"}, "e")
	wantRuns(t, s, runlog.Query{Text: "gold"}, "a")
	for _, between := range []string{"", "\x00", "\n", " "} { // a text is in one field
		wantRuns(t, s, runlog.Query{Text: "a" + between + "film"})
		wantRuns(t, s, runlog.Query{Text: "film" + between + "red"})
	}
	mustAppend(t, s, started("Ünï/1", 9))
	wantRuns(t, s, runlog.Query{Text: "nï/"}, "Ünï/1") // the ID
	wantRuns(t, s, runlog.Query{Text: "ünï"})          // not ASCII: case counts
}

func listBefore(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Before: day}) // d's last record is 1 ns after day
	wantRuns(t, s, runlog.Query{Before: day.Add(1)}, "a")
	wantRuns(t, s, runlog.Query{Before: day.Add(2)}, "d", "a")
	wantRuns(t, s, runlog.Query{Before: day.Add(3 * time.Minute)}, "d", "c", "b", "a")
	late := entry("a", 1)
	late.At = day.Add(time.Hour)
	mustAppend(t, s, late)
	wantRuns(t, s, runlog.Query{Before: day.Add(3 * time.Minute)}, "d", "c", "b")
}

func listTogether(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Open: true, Flow: "film", Owner: "ann", Parent: "a", Label: "team=red", Text: "f", Before: day.Add(time.Hour)}, "f")
	wantRuns(t, s, runlog.Query{Open: true, Status: "completed"})
	wantRuns(t, s, runlog.Query{Flow: "film", Label: "team", Limit: 1, After: "f"}, "b")
	wantRuns(t, s, runlog.Query{Text: "film", Status: "completed", Limit: 5}, "e", "b")
}

func listLimit(t testing.TB, s runlog.Store) {
	library(t, s)
	wantRuns(t, s, runlog.Query{Limit: 1}, "f")
	wantRuns(t, s, runlog.Query{Limit: 4}, "f", "e", "d", "c")
	wantRuns(t, s, runlog.Query{Limit: 7}, "f", "e", "d", "c", "b", "a")
	wantRuns(t, s, runlog.Query{Limit: -1}, "f", "e", "d", "c", "b", "a")
}

// listAfter reads page by page while runs are added before the cursor.
func listAfter(t testing.TB, s runlog.Store) {
	library(t, s)
	twin := started("bb", 1) // it starts at the time of b
	mustAppend(t, s, twin)
	var got []string
	q := runlog.Query{Limit: 2}
	for page := range 5 {
		runs := all(t, s.List(t.Context(), q))
		if len(runs) == 0 {
			break
		}
		for _, l := range runs {
			got = append(got, l.Run)
		}
		q.After = got[len(got)-1]
		mustAppend(t, s, started(fmt.Sprint("new", page), 10+page))
	}
	if pages := strings.Join(got, " "); pages != "f e d c b bb a" {
		t.Errorf("List in pages of 2 yielded %q, want %q", pages, "f e d c b bb a")
	}
	wantRuns(t, s, runlog.Query{Open: true, After: "b"}, "bb", "a") // b itself is not open
}

func listAfterUnknown(t testing.TB, s runlog.Store) {
	library(t, s)
	if err := firstError(t, s.List(t.Context(), runlog.Query{After: "x"})); !errors.Is(err, runlog.ErrNoRun) {
		t.Errorf("List after an unknown run yielded the error %v, want ErrNoRun", err)
	}
}

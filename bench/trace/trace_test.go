package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits are the functions that a call may pass, by store.
var limits = map[string]int{"memory": 45, "SQLite": 65}

func TestFunctionsOfACall(t *testing.T) {
	traces, err := measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s The limits are %v.", summary(traces), limits)
	for _, trace := range traces {
		if fault := tooMany(trace, limits); fault != "" {
			t.Error(fault)
		}
		for _, sure := range []string{"orchestrator Context.Call", "orchestrator/agent Func.Call"} {
			if !slices.Contains(trace.functions, sure) {
				t.Errorf("the trace in %s lacks %q: the instrument misses functions", trace.store, sure)
			}
		}
	}
}

// Code without notes enters nothing. As the call is in this test, the go command repeats
// the test above whenever the code of a call has changed.
func TestWithoutNotes(t *testing.T) {
	for _, file := range []string{"", filepath.Join(t.TempDir(), "walk.db")} {
		entered, err := walk(t.Context(), file)
		if err != nil || len(entered) > 0 {
			t.Errorf("walk(%q) = %q, %v, want nothing", file, entered, err)
		}
	}
}

// tooMany says what is wrong with a trace, and what to do about it.
func tooMany(t trace, limits map[string]int) string {
	if n := len(t.functions); n > limits[t.store] {
		return fmt.Sprintf("a call in %s passes %d functions, at most %d: do one thing in one place, or find it earlier than in each call", t.store, n, limits[t.store])
	}
	return ""
}

func TestTooMany(t *testing.T) {
	two := trace{store: "memory", functions: []string{"a f", "b g"}}
	if fault := tooMany(two, map[string]int{"memory": 2}); fault != "" {
		t.Error(fault)
	}
	if fault := tooMany(two, map[string]int{"memory": 1}); !strings.Contains(fault, "passes 2 functions, at most 1") {
		t.Errorf("fault %q", fault)
	}
}

func TestString(t *testing.T) {
	got := trace{store: "memory", functions: []string{"a f", "b g", "a T.h"}}.String()
	want := "A call in memory, 3 functions of 2 packages:\n   2 a: f, T.h\n   1 b: g\n"
	if got != want {
		t.Errorf("String() = \n%s, want\n%s", got, want)
	}
}

// The fixture has every form of a function, and annotated.txt beside it is the same file
// with notes.
func TestAnnotate(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "plain.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "annotated.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := annotate(source, "some/pkg")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("annotate returned\n%s\nwant\n%s", got, want)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "annotated.go", got, 0); err != nil {
		t.Error(err)
	}
}

func TestAnnotateLeavesFilesWithoutFunctions(t *testing.T) {
	const source = "package p\n\nvar f = func() {}\n"
	got, err := annotate([]byte(source), "p")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != source {
		t.Errorf("annotate returned %q", got)
	}
}

func TestAnnotateRefusesWhatIsNotGo(t *testing.T) {
	if _, err := annotate([]byte("packages"), "p"); err == nil {
		t.Error("no error")
	}
}

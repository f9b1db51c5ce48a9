package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

const bread = "Create a dramatic opening scene with Aladdin stealing bread"

var update = flag.Bool("update", false, "write the golden files")

// start runs the program in this process.
func start(t *testing.T, env map[string]string, args ...string) clitest.Ran {
	t.Helper()
	return clitest.Program{Name: program, Run: film, Env: env}.Start(t.Context(), args...)
}

// family is the ID of the first rehearsal of the request.
func family() string { return (&options{request: bread}).family() }

// outcome reads the JSON of -o without what differs from run to run.
func outcome(t *testing.T, file string) hierarchy.Outcome {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out hierarchy.Outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	out.Elapsed = 0
	for i := range out.Reports {
		r := &out.Reports[i]
		r.Metadata.AnalysisTime, r.Metadata.TotalExecutionTime = 0, 0
		r.HeadExecutionID = ""
		for j := range r.Specialists {
			r.Specialists[j].ExecutionTime = 0
			for k := range r.Specialists[j].Attempts {
				r.Specialists[j].Attempts[k].Duration = 0
			}
		}
	}
	return out
}

var worked = regexp.MustCompile(`[0-9.]+m?s from start to end`)

// steady takes out of an output what may differ: the file, times, and the order of
// lines of departments that run in parallel.
func steady(out, db string) string {
	out = worked.ReplaceAllString(strings.ReplaceAll(out, db, "film.db"), "T from start to end")
	lines := strings.Split(out, "\n")
	progress := func(l string) bool { return strings.HasPrefix(l, "  ") }
	from := slices.IndexFunc(lines, progress)
	to := from + slices.IndexFunc(lines[from:], func(l string) bool { return !progress(l) })
	slices.Sort(lines[from:to])
	return strings.Join(lines, "\n")
}

func TestPlainOutput(t *testing.T) {
	db := filepath.Join(t.TempDir(), "f.db")
	got := start(t, nil, bread, "-pace", "0", "-db", db)
	require.Equal(t, 0, got.Code, got.Err)
	golden := filepath.Join("testdata", "bread.txt")
	text := steady(got.Out, db)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	assert.Empty(t, got.Err)
}

func TestOutcomeIsJSON(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "o.json"), filepath.Join(dir, "p.html")
	got := start(t, nil, "-o", file, "-page", page, "-pace", "0", "-db", filepath.Join(dir, "f.db"), bread)
	require.Equal(t, 0, got.Code, got.Err)
	out := outcome(t, file)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, "story", out.Route.Primary)
	require.Len(t, out.Reports, 4)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, want := range []string{bread, "Dawn, the market.", "Plot Specialist", "try 2 of 2", "A boy is hungry in a market."} {
		assert.Contains(t, string(html), want)
	}
	retried := 0
	for _, r := range out.Reports {
		assert.Equal(t, hierarchy.FromSpecialists, r.Basis, r.DepartmentID)
		for _, s := range r.Specialists {
			retried += len(s.Attempts) - 1
		}
	}
	assert.Positive(t, retried, "a first try that forgets words is tried again")
	assert.Contains(t, hierarchy.Text(out.Output["result"]), rehearsal.Label)
}

func TestEndedRunIsReportedAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "f.db")
	first := start(t, nil, bread, "-pace", "0", "-db", db)
	again := start(t, nil, "-db", db, bread)
	assert.Equal(t, 0, again.Code, again.Err)
	assert.Contains(t, again.Out, "ended earlier")
	_, report, _ := strings.Cut(first.Out, "\n\n")
	assert.Contains(t, again.Out, report)

	fresh := start(t, nil, "-db", db, "-new", bread, "-pace=0")
	assert.Contains(t, fresh.Out, "run "+family()+"-2 in ")
	again = start(t, nil, "-db", db, bread)
	assert.Contains(t, again.Out, "-2 ended earlier", "the newest run counts")
}

// records are the log of the request's first run.
func records(t *testing.T, db string) []runlog.Record {
	t.Helper()
	return clitest.Log(t, db, family())
}

func TestInterruptSuspends(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "f.db")
	got := clitest.Program{Name: program, Run: film}.InterruptAt(t.Context(), "attempt 1 scored", "-db", db, "-pace", "20ms", bread)
	assert.Equal(t, cli.Interrupted, got.Code)
	assert.Regexp(t, `^film: interrupted: suspended run film-\w+ with \d+ recorded answers in .*f.db: start film with the same request again to continue\n$`, got.Err)

	before := records(t, db)
	got = start(t, nil, "-db", db, "-pace", "0", "-calls", "99", "-o", filepath.Join(dir, "a.json"), bread)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run ")
	assert.Contains(t, got.Out, "it keeps the limits that it was started with: budget 0.0000 USD, timeout 0s, calls 0")
	assert.Equal(t, before, records(t, db)[:len(before)])

	whole := start(t, nil, "-db", filepath.Join(dir, "g.db"), "-pace", "0", "-o", filepath.Join(dir, "b.json"), bread)
	require.Equal(t, 0, whole.Code, whole.Err)
	assert.Equal(t, outcome(t, filepath.Join(dir, "b.json")), outcome(t, filepath.Join(dir, "a.json")))
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name  string
		flags []string
		says  string
	}{
		{"some calls", []string{"-calls", "9"}, `(partial|out-of-budget): .*budget: the limit of 9 calls is reached`},
		{"some time", []string{"-timeout", "100ms", "-pace", "30ms"}, `(partial|out-of-budget): .*budget: the time limit of 100ms is reached`},
		{"too little for an answer", []string{"-timeout", "1ms", "-pace", "1h"}, `out-of-budget: hierarchy: no department finished: budget: the time limit of 1ms is reached`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := start(t, nil, append([]string{bread, "-pace", "0", "-db", filepath.Join(t.TempDir(), "f.db")}, tt.flags...)...)
			assert.Equal(t, cli.Failed, got.Code)
			assert.Regexp(t, `^film: the run ended `+tt.says+` \(-new starts a new run\)\n$`, got.Err)
			assert.Contains(t, got.Out, "Story Department: ", "the report is there all the same")
		})
	}
}

func TestTerminalPicture(t *testing.T) {
	for _, size := range []struct{ width, height int }{{40, 10}, {80, 24}, {200, 60}} {
		got := clitest.Program{Name: program, Run: film}.Terminal(t.Context(), size.width, size.height, bread, "-pace", "1ms", "-db", filepath.Join(t.TempDir(), "f.db"))
		require.Equal(t, 0, got.Code, got.Err)
		assert.Equal(t, 1, strings.Count(got.Out, "the run is completed"), "one picture stays: %s", got.Out)
		if size.height >= 24 {
			assert.Regexp(t, `    passed     try 2, \d+ +story-plot-specialist\n`, got.Out)
		} else {
			assert.Regexp(t, `\n  … and \d+ more\n`, got.Out)
		}
	}
}

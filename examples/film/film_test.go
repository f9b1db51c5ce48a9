package main

import (
	"bytes"
	"context"
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

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

const bread = "Create a dramatic opening scene with Aladdin stealing bread"

var update = flag.Bool("update", false, "write the golden files")

// ran is what one start of the program did.
type ran struct {
	code     int
	out, err string
}

// start runs the program in this process.
func start(ctx context.Context, env map[string]string, args ...string) ran {
	var out, errs bytes.Buffer
	code := film(ctx, args, console{strings.NewReader(""), &out, &errs, func(k string) string { return env[k] }, false})
	return ran{code, out.String(), errs.String()}
}

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

var worked = regexp.MustCompile(`worked [0-9.]+m?s`)

// steady takes out of an output what may differ: the file, times, and the order of
// lines of departments that work side by side.
func steady(out, db string) string {
	out = worked.ReplaceAllString(strings.ReplaceAll(out, db, "film.db"), "worked T")
	lines := strings.Split(out, "\n")
	progress := func(l string) bool { return strings.HasPrefix(l, "  ") }
	from := slices.IndexFunc(lines, progress)
	to := from + slices.IndexFunc(lines[from:], func(l string) bool { return !progress(l) })
	slices.Sort(lines[from:to])
	return strings.Join(lines, "\n")
}

func TestPlainOutput(t *testing.T) {
	db := filepath.Join(t.TempDir(), "f.db")
	got := start(t.Context(), nil, bread, "-pace", "0", "-db", db)
	require.Equal(t, 0, got.code, got.err)
	golden := filepath.Join("testdata", "bread.txt")
	text := steady(got.out, db)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	assert.Empty(t, got.err)
}

func TestOutcomeIsJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "o.json")
	got := start(t.Context(), nil, "-o", file, "-pace", "0", "-db", filepath.Join(dir, "f.db"), bread)
	require.Equal(t, 0, got.code, got.err)
	out := outcome(t, file)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, "story", out.Route.Primary)
	require.Len(t, out.Reports, 4)
	retried := 0
	for _, r := range out.Reports {
		assert.Equal(t, hierarchy.FromSpecialists, r.Basis, r.DepartmentID)
		for _, s := range r.Specialists {
			retried += len(s.Attempts) - 1
		}
	}
	assert.Positive(t, retried, "a first try that forgets words is tried again")
	assert.Contains(t, hierarchy.Text(out.Output["result"]), rehearsed)
}

func TestEndedRunIsReportedAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "f.db")
	first := start(t.Context(), nil, bread, "-pace", "0", "-db", db)
	again := start(t.Context(), nil, "-db", db, bread)
	assert.Equal(t, 0, again.code, again.err)
	assert.Contains(t, again.out, "ended earlier")
	_, report, _ := strings.Cut(first.out, "\n\n")
	assert.Contains(t, again.out, report)

	fresh := start(t.Context(), nil, "-db", db, "-new", bread, "-pace=0")
	assert.Contains(t, fresh.out, "run "+family(options{request: bread})+"-2 in ")
	again = start(t.Context(), nil, "-db", db, bread)
	assert.Contains(t, again.out, "-2 ended earlier", "the newest run counts")
}

// records are the log of the request's first run.
func records(t *testing.T, db string) []blackboard.Record {
	t.Helper()
	s, err := sqlite.Open(db)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var all []blackboard.Record
	for rec, err := range s.Records(t.Context(), family(options{request: bread}), 0) {
		require.NoError(t, err)
		all = append(all, rec)
	}
	return all
}

// interrupter cancels when the output has a text.
type interrupter struct {
	bytes.Buffer
	at     string
	cancel context.CancelFunc
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if strings.Contains(i.String(), i.at) {
		i.cancel()
	}
	return n, err
}

func TestInterruptSuspends(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "f.db")
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupter{at: "attempt 1 scored", cancel: cancel}
	var errs bytes.Buffer
	code := film(ctx, []string{"-db", db, "-pace", "20ms", bread}, console{nil, out, &errs, nil, false})
	assert.Equal(t, exitInterrupted, code)
	assert.Regexp(t, `^film: interrupted: suspended run film-\w+ with \d+ recorded answers in .*f.db: start film with the same request again to go on\n$`, errs.String())

	before := records(t, db)
	got := start(t.Context(), nil, "-db", db, "-pace", "0", "-calls", "99", "-o", filepath.Join(dir, "a.json"), bread)
	require.Equal(t, 0, got.code, got.err)
	assert.Contains(t, got.out, "resumed run ")
	assert.Contains(t, got.out, "it keeps the limits that it was started with: budget 0.0000 USD, timeout 0s, calls 0")
	assert.Equal(t, before, records(t, db)[:len(before)])

	whole := start(t.Context(), nil, "-db", filepath.Join(dir, "g.db"), "-pace", "0", "-o", filepath.Join(dir, "b.json"), bread)
	require.Equal(t, 0, whole.code, whole.err)
	assert.Equal(t, outcome(t, filepath.Join(dir, "b.json")), outcome(t, filepath.Join(dir, "a.json")))
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name  string
		flags []string
		says  string
	}{
		{"some calls", []string{"-calls", "9"}, `(partial|failed): .*budget: the limit of 9 calls is reached`},
		{"some time", []string{"-timeout", "100ms", "-pace", "30ms"}, `(partial|failed): .*budget: the time limit of 100ms is reached`},
		{"too little for an answer", []string{"-timeout", "1ms", "-pace", "1h"}, `failed: no department is done: budget: the time limit of 1ms is reached`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := start(t.Context(), nil, append([]string{bread, "-pace", "0", "-db", filepath.Join(t.TempDir(), "f.db")}, tt.flags...)...)
			assert.Equal(t, exitFailed, got.code)
			assert.Regexp(t, `^film: the run ended `+tt.says+` \(-new starts afresh\)\n$`, got.err)
			assert.Contains(t, got.out, "Story Department: ", "the report is there all the same")
		})
	}
}

func TestTerminalPicture(t *testing.T) {
	var out, errs bytes.Buffer
	code := film(t.Context(), []string{"-pace", "1ms", bread, "-db", filepath.Join(t.TempDir(), "f.db")}, console{nil, &out, &errs, nil, true})
	require.Equal(t, 0, code, errs.String())
	assert.Contains(t, out.String(), "\x1b[J")
	assert.Regexp(t, `story-plot-specialist +\w+ +try 1`, out.String())
	assert.Contains(t, out.String(), "the run is completed")
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(line)); n > 2*width {
			t.Errorf("a line has %d characters: %q", n, line)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

var (
	update = flag.Bool("update", false, "write the golden files")
	tool   = clitest.Program{Name: program, Run: portfolios}
	took   = regexp.MustCompile(`\S+ from start to end`)
)

// pace lets one project end its first round before the other one.
const pace = "40ms"

func read(t *testing.T, file string) outcome {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	return flowtest.Clockless(out)
}

func TestRehearsal(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "three.txt"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	got := tool.Start(t.Context(), "-pace", pace, "-json", "out.json")
	require.Equal(t, 0, got.Code, got.Err)
	assert.Empty(t, got.Err)
	text := took.ReplaceAllString(got.Out, "T from start to end")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)

	out := read(t, "out.json")
	clock, swap, lamp := out.Projects[0], out.Projects[1], out.Projects[2]
	t.Run("BC68 one is promoted, in two rounds", func(t *testing.T) {
		assert.Equal(t, portfolio.Stage("LAUNCHING"), clock.Stage)
		assert.Equal(t, 2, clock.Rounds)
		assert.InDelta(t, 1, *clock.Score, 0)
		assert.Contains(t, clock.Last.Files["page.md"], "estuary")
	})
	t.Run("BC68 one is stale and killed", func(t *testing.T) {
		assert.Equal(t, portfolio.Killed, lamp.Stage)
		assert.Equal(t, "no progress for more than 30 days", lamp.Killed)
		assert.Zero(t, lamp.Spent.Cost)
	})
	t.Run("BC68 one ends at its share, and what it would have had moves", func(t *testing.T) {
		assert.Equal(t, portfolio.Killed, swap.Stage)
		assert.Equal(t, "it was cut off", swap.Error)
		assert.LessOrEqual(t, swap.Spent.Cost, providers.Dollars(0.5))
		left := 3*providers.USD - swap.Spent.Cost - providers.Dollars(0.85)
		assert.Contains(t, got.Out, "tide-clock, LAUNCHING: round 2 begins with "+cli.USD(left))
	})
	again := tool.Start(t.Context())
	assert.Equal(t, 0, again.Code, again.Err)
	assert.Contains(t, again.Out, "ended earlier")
}

// What a call that was under way has cost is not known after a kill: it counts as what was
// set aside for it. So a project may have to do with less, but never has more.
func TestKilledTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills processes")
	}
	built, dir := clitest.Build(t), t.TempDir()
	db, file := filepath.Join(dir, "p.db"), filepath.Join(dir, "out.json")
	args := []string{"-db", db, "-pace", pace, "-json", file}
	id := cli.Family(program, "rehearsal", "tide-clock, seed-swap, mood-lamp in 2 rounds")
	var before [][]runlog.Record
	for _, at := range []string{"round 1 begins", "seed-swap is killed"} {
		clitest.KillAt(t, at, 1, built, args...)
		before = append(before, clitest.Log(t, db, id))
	}
	out, err := exec.CommandContext(t.Context(), built, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "resumed run "+id)
	log := clitest.Log(t, db, id)
	for _, earlier := range before {
		assert.Equal(t, earlier, log[:len(earlier)], "what was recorded stays")
	}
	for call, answers := range clitest.Answers(log) {
		assert.Equal(t, 1, answers, call)
	}
	got := read(t, file)
	assert.NotEqual(t, portfolio.Killed, got.Projects[0].Stage)
	assert.Equal(t, 2, got.Projects[0].Rounds)
	assert.Equal(t, portfolio.Killed, got.Projects[1].Stage)
	assert.Equal(t, portfolio.Killed, got.Projects[2].Stage)
	assert.LessOrEqual(t, got.Spent.Cost, 3*providers.USD)
}

func TestTerminal(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 50}} {
		got := tool.Terminal(t.Context(), size[0], size[1], "-pace", pace, "-db", filepath.Join(t.TempDir(), "p.db"))
		require.Equal(t, 0, got.Code, got.Err)
		for line := range strings.SplitSeq(got.Out, "\n") {
			assert.LessOrEqual(t, len([]rune(line)), size[0])
		}
		assert.Contains(t, strings.ReplaceAll(got.Out, "\n", ""), "tide-clock")
	}
}

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	model := []string{"-model", "ollama:x", "-price", "0,0"}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"projects without a model": {[]string{file("a.json", "[]")}, "need a -model"},
		"no file":                  {append(model, filepath.Join(dir, "none")), "none"},
		"no JSON":                  {append(model, file("b.json", "{")), "want a JSON list of projects"},
		"an unknown field":         {append(model, file("c.json", `[{"name":"x"}]`)), `unknown field "name"`},
		"no objective":             {append(model, file("d.json", `[{"id":"x","stage":"IDEA"}]`)), "[0].objective is empty"},
		"more than a list":         {append(model, file("e.json", `[] []`)), "there is more after it"},
		"no time ago":              {append(model, file("f.json", `[{"id":"x","objective":"o","idleDays":-1}]`)), "[0].idleDays is -1"},
		"too long ago":             {append(model, file("g.json", `[{"id":"x","objective":"o","idleDays":200000}]`)), "[0].idleDays is 200000"},
		"no rounds":                {[]string{"-rounds", "0"}, "-rounds is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tool.Start(t.Context(), append(tt.args, "-db", filepath.Join(dir, "p.db"))...)
			assert.Equal(t, cli.BadUsage, got.Code)
			assert.Contains(t, got.Err, tt.want)
		})
	}
	got := tool.Start(t.Context(), "-h")
	assert.Equal(t, 0, got.Code)
	assert.Contains(t, got.Out, "idleDays")

	in, err := readProjects(scripted, time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	assert.Equal(t, time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC), in.Projects[2].LastProgress)
}

func TestPromise(t *testing.T) {
	assert.Nil(t, promise(nil))
	task := blackboard.Task{Status: blackboard.FailedQA, QA: &blackboard.QA{Criteria: []blackboard.CriterionResult{{Criterion: "a", Passed: true}, {Criterion: "b", Passed: true}}}}
	task.Criteria = []string{"b", "c"} // a was dropped after the review
	assert.InDelta(t, 0.5, *promise(&blackboard.Board{Tasks: []blackboard.Task{task}}), 1e-9)
}

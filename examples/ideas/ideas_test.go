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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

const library = "How might a small library attract teenagers?"

var (
	update = flag.Bool("update", false, "write the golden files")
	tool   = clitest.Program{Name: program, Run: ideas}
)

// outcome reads the JSON of -json without what differs from run to run.
func outcome(t *testing.T, file string) discussion.Outcome {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out discussion.Outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	return flowtest.Clockless(out)
}

var took = regexp.MustCompile(`\S+ from start to end`)

func TestPlainOutput(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "library.txt"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	got := tool.Start(t.Context(), library, "-preset", "full", "-pace", "0", "-o", "report.html")
	require.Equal(t, 0, got.Code, got.Err)
	assert.Empty(t, got.Err)
	text := took.ReplaceAllString(got.Out, "T from start to end")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	assert.FileExists(t, "ideas.db")
}

func TestPresets(t *testing.T) {
	for name, least := range map[string]int{"standard": 3, "extended": 4, "full": 5} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, page := filepath.Join(dir, "o.json"), filepath.Join(dir, "o.html")
			got := tool.Start(t.Context(), "-preset", name, "-json", file, "-o", page, "-pace", "0", "-db", filepath.Join(dir, "i.db"), library)
			require.Equal(t, 0, got.Code, got.Err)
			out := outcome(t, file)
			assert.Equal(t, orchestrator.Completed, out.Status)
			assert.Equal(t, discussion.ByScore, out.SelectedBy)
			assert.GreaterOrEqual(t, len(out.Discussion.Ideas), least)
			assert.NotEmpty(t, out.Shortlist)
			assert.Empty(t, out.Warnings)
			for _, i := range out.Discussion.Ideas {
				assert.Contains(t, i.Feedback, "Rehearsal")
				assert.True(t, i.Validated)
			}
			html, err := os.ReadFile(page)
			require.NoError(t, err)
			assert.Contains(t, string(html), out.FinalIdea.Title)
			assert.Contains(t, string(html), "This is a rehearsal: no model is asked.")
			assert.NotContains(t, string(html), "<script")
		})
	}
}

func TestEndedRunIsReportedAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "i.db")
	first := tool.Start(t.Context(), library, "-pace", "0", "-db", db)
	again := tool.Start(t.Context(), "-db", db, library)
	assert.Equal(t, 0, again.Code, again.Err)
	assert.Contains(t, again.Out, "ended earlier")
	_, report, found := strings.Cut(first.Out, "\n\n")
	require.True(t, found)
	assert.Contains(t, again.Out, report)

	other := tool.Start(t.Context(), library, "-preset", "extended", "-pace", "0", "-db", db)
	assert.NotContains(t, other.Out, "ended earlier", "another team is another run")
	fresh := tool.Start(t.Context(), "-db", db, "-new", library, "-pace=0")
	assert.Contains(t, fresh.Out, "run "+runID("standard")+"-2 in ")
}

// runID is the ID of the first rehearsal about the library.
func runID(preset string) string { return cli.Family(program, "rehearsal", preset, library) }

func TestKilledTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it kills processes")
	}
	built, dir := clitest.Build(t), t.TempDir()
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	args := func(db, pace, out string) []string {
		return []string{"-preset", "full", "-db", db, "-pace", pace, "-json", filepath.Join(dir, out), library}
	}
	got := tool.Start(t.Context(), args(whole, "0", "whole.json")...)
	require.Equal(t, 0, got.Code, got.Err)

	id := runID("full")
	clitest.KillAt(t, "critic speaks", 1, built, args(killed, "30ms", "none.json")...)
	first := clitest.Log(t, killed, id)
	require.NotEmpty(t, clitest.Answers(first))
	clitest.KillAt(t, "round 3", 1, built, args(killed, "30ms", "none.json")...)
	second := clitest.Log(t, killed, id)
	assert.Equal(t, first, second[:len(first)], "what was recorded stays")
	assert.Greater(t, len(clitest.Answers(second)), len(clitest.Answers(first)))

	out, err := exec.CommandContext(t.Context(), built, args(killed, "0", "killed.json")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "resumed run "+id)
	last := clitest.Log(t, killed, id)
	assert.Equal(t, second, last[:len(second)], "what was recorded stays")
	assert.Equal(t, clitest.Answers(clitest.Log(t, whole, id)), clitest.Answers(last), "the same calls, each recorded once")
	assert.Equal(t, outcome(t, filepath.Join(dir, "whole.json")), outcome(t, filepath.Join(dir, "killed.json")))
}

func TestInterruptSuspends(t *testing.T) {
	db := filepath.Join(t.TempDir(), "i.db")
	got := tool.InterruptAt(t.Context(), "idea-1", "-db", db, "-pace", "20ms", library)
	assert.Equal(t, cli.Interrupted, got.Code)
	assert.Regexp(t, `^ideas: interrupted: suspended run ideas-\w+ with \d+ recorded answers in .*i.db: start ideas with the same request again to continue\n$`, got.Err)
	before := clitest.Log(t, db, runID("standard"))

	got = tool.Start(t.Context(), "-db", db, "-pace", "0", "-calls", "99", library)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run ")
	assert.Contains(t, got.Out, "it keeps the limits that it was started with: budget 0.0000 USD, timeout 0s, calls 0")
	assert.Equal(t, before, clitest.Log(t, db, runID("standard"))[:len(before)])
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "o.html")
	got := tool.Start(t.Context(), library, "-preset", "full", "-pace", "0", "-calls", "5", "-o", page, "-db", filepath.Join(dir, "i.db"))
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^ideas: the run ended out.of.budget: .*budget: the limit of 5 calls is reached \(-new starts a new run\)\n$`, got.Err)
	assert.Contains(t, got.Out, "idea-1", "what there is, is told")
	assert.FileExists(t, page)
}

func TestTerminalPicture(t *testing.T) {
	got := tool.Terminal(t.Context(), 120, 60, library, "-pace", "1ms", "-db", filepath.Join(t.TempDir(), "i.db"))
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Drawn, "  round 1: moderator speaks\n")
	assert.Equal(t, 1, strings.Count(got.Out, "  round 1:"), "one picture stays: %s", got.Out)
	assert.Regexp(t, `\n   \d\.\d  idea-1   `, got.Out)
	assert.Contains(t, got.Out, "  round 1: completed\n")
}

func TestCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sweeps a whole team")
	}
	cfg := discussion.Full(nil)
	cfg.Rounds.Max = 1
	flow, err := newFlow(cfg)
	require.NoError(t, err)
	o := options{topic: library}
	c := flowtest.New(flow, o.input(), func(testing.TB) agent.Roster { return rehearse(0) })
	c.Sweep(t)
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("These are notes and no database at all.\n"), 0o600))
	tests := []struct {
		name string
		args []string
		in   string
		code int
		want string
	}{
		{"unknown flag", []string{library, "-nonsense"}, "", 2, "not defined: -nonsense (ideas -h lists the flags)"},
		{"no topic", nil, "", 2, "the topic is empty: say what the team shall talk about"},
		{"blank topic", []string{" \t\n"}, "", 2, "the topic is empty"},
		{"empty input", []string{"-"}, "", 2, "the topic is empty"},
		{"a megabyte", []string{strings.Repeat("idea ", 1<<20/5)}, "", 2, "the topic is too large: it has more than 65536 bytes"},
		{"binary", []string{"-"}, "\x7fELF\x00\xff", 2, "the topic is no text"},
		{"unknown preset", []string{library, "-preset", "huge"}, "", 2, `-preset is "huge", want standard, extended or full`},
		{"no preset", []string{library, "-preset", ""}, "", 2, `-preset is ""`},
		{"negative budget", []string{library, "-budget", "-1"}, "", 2, "-budget is -1"},
		{"directory as db", []string{library, "-db", dir}, "", 1, dir},
		{"text as db", []string{library, "-db", text}, "", 1, text},
		{"page in no directory", []string{library, "-o", filepath.Join(dir, "none", "o.html")}, "", 2, "-o: open"},
		{"directory as outcome", []string{library, "-json", dir}, "", 2, "is a directory"},
		{"page and outcome are one", []string{library, "-o", "a", "-json", "./a"}, "", 2, "-json ./a is the file of -o"},
		{"the database as page", []string{library, "-o", "ideas.db"}, "", 2, "-o ideas.db is the file of -db"},
		{"no key", []string{library, "-model", "openai:m"}, "", 2, "OPENAI_API_KEY is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Empty(t, tool.Refuses(t, tt.in, tt.code, tt.want, tt.args...), "it has not begun")
		})
	}
}

func TestHelp(t *testing.T) {
	got := tool.Start(t.Context(), "-h")
	assert.Equal(t, 0, got.Code)
	for _, name := range []string{"-db", "-o", "-json", "-preset", "-model", "-base-url", "-key-env", "-price", "-budget", "-timeout", "-calls", "-pace", "-new"} {
		assert.Regexp(t, "(?m)^  "+name+"( |$)", got.Out)
	}
}

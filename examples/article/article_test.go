package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
)

const healthcare = "AI in healthcare"

var (
	update = flag.Bool("update", false, "write the golden files")
	tool   = clitest.Program{Name: program, Run: article}
)

// outcome reads the JSON of -json without what differs from run to run.
func outcome(t *testing.T, file string) research.Outcome {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out research.Outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	out = flowtest.Clockless(out)
	out.ExecutionID = ""
	return out
}

var took = regexp.MustCompile(`\S+ from start to end`)

// steady takes out of an output what may differ: times, and the order of lines of
// workers that run in parallel.
func steady(out string) string {
	lines := strings.Split(took.ReplaceAllString(out, "T from start to end"), "\n")
	worker := func(l string) bool { return strings.HasPrefix(l, "      ") }
	for from := 0; from < len(lines); from++ {
		to := from
		for worker(lines[to]) {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to)
	}
	return strings.Join(lines, "\n")
}

func TestPlainOutput(t *testing.T) {
	golden, err := filepath.Abs("testdata")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	got := tool.Start(t.Context(), "-topic", healthcare, "-min-sources", "10", "-quality", "0.85", "-budget", "5", "-length", "500", "-o", "article.md", "-pace", "0")
	require.Equal(t, 0, got.Code, got.Err)
	assert.Empty(t, got.Err)
	text, err := os.ReadFile("article.md")
	require.NoError(t, err)
	for name, text := range map[string]string{"healthcare.txt": steady(got.Out), "healthcare.md": string(text)} {
		name = filepath.Join(golden, name)
		if *update {
			require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), text)
	}
	assert.FileExists(t, "article.db")
}

func TestSecondPlanPasses(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "o.json"), filepath.Join(dir, "p.html")
	got := tool.Start(t.Context(), healthcare, "-quality", "0.85", "-json", file, "-page", page, "-pace", "0", "-db", filepath.Join(dir, "a.db"))
	require.Equal(t, 0, got.Code, got.Err)
	out := outcome(t, file)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, 2, out.Metrics.Iterations)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, want := range []string{"At the door, at the screen, at the desk", "Iteration 1, 0.", "Iteration 2, 0.", "Article writer", "Reading the same picture twice", "(Rehearsal, no model was asked.)"} {
		assert.Contains(t, string(html), want)
	}
	assert.Equal(t, 14, out.Metrics.Succeeded, "6 workers, then 8")
	assert.Zero(t, out.Metrics.Failed+out.Metrics.Skipped+out.Metrics.Retries)
	assert.Len(t, out.Sources, 15, "5 from each of 3 workers")
	assert.GreaterOrEqual(t, *out.Score, 0.85)
	assert.GreaterOrEqual(t, out.Article.Words, 900)
	assert.Contains(t, out.Article.Content, "(Rehearsal, no model was asked.)")
	for _, s := range out.Sources {
		assert.Contains(t, s.Excerpt, "(Rehearsal, no model was asked.)")
		assert.True(t, strings.HasPrefix(s.URL, "https://example.org/"), s.URL)
	}
	assert.Regexp(t, `iteration 1 scored 0\.\d+ of 0.85: continue\n`, got.Out)
	assert.Regexp(t, `iteration 2 scored [01]\S* of 0.85: complete\n`, got.Out)
}

func TestEndedRunIsReportedAgain(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	first := tool.Start(t.Context(), healthcare, "-pace", "0", "-db", db)
	again := tool.Start(t.Context(), "-db", db, "-topic", healthcare)
	assert.Equal(t, 0, again.Code, again.Err)
	assert.Contains(t, again.Out, "ended earlier")
	_, report, found := strings.Cut(first.Out, "\n\n")
	require.True(t, found)
	assert.Contains(t, again.Out, report)
	other := tool.Start(t.Context(), healthcare, "-min-sources", "5", "-pace", "0", "-db", db)
	assert.NotContains(t, other.Out, "ended earlier", "another brief is another run")
	fresh := tool.Start(t.Context(), "-db", db, "-new", healthcare, "-pace=0")
	assert.Regexp(t, `run article-\w+-2 in `, fresh.Out)
}

// runID is the ID of the run that these arguments start.
func runID(t *testing.T, args ...string) string {
	t.Helper()
	o, err := parse(args, nil)
	require.NoError(t, err)
	return o.family()
}

func TestKilledTwice(t *testing.T) {
	built, dir := clitest.Build(t), t.TempDir()
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	args := func(db, pace, out string) []string {
		return []string{"-db", db, "-pace", pace, "-json", filepath.Join(dir, out), healthcare}
	}
	got := tool.Start(t.Context(), args(whole, "0", "whole.json")...)
	require.Equal(t, 0, got.Code, got.Err)

	id := runID(t, healthcare)
	clitest.KillAt(t, "fact_checker works", 1, built, args(killed, "30ms", "none.json")...)
	first := clitest.Log(t, killed, id)
	require.NotEmpty(t, clitest.Answers(first))
	clitest.KillAt(t, "news_search works", 1, built, args(killed, "30ms", "none.json")...)
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
	db := filepath.Join(t.TempDir(), "a.db")
	got := tool.InterruptAt(t.Context(), "web_search is done", "-db", db, "-pace", "20ms", healthcare)
	assert.Equal(t, cli.Interrupted, got.Code)
	assert.Regexp(t, `^article: interrupted: suspended run article-\w+ with \d+ recorded answers in .*a.db: start article with the same request again to continue\n$`, got.Err)
	id := runID(t, healthcare)
	before := clitest.Log(t, db, id)
	got = tool.Start(t.Context(), "-db", db, "-pace", "0", healthcare)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run "+id)
	assert.Equal(t, before, clitest.Log(t, db, id)[:len(before)])
}

func TestLess(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"too much quality", []string{"-quality", "1"}, `^article: the run ended partial: quality 0\.\d+ is below what was wanted, see the warnings \(-new starts a new run\)\n$`},
		{"too few calls", []string{"-calls", "3"}, `^article: the run ended out.of.budget: .*the limit of 3 calls is reached \(-new starts a new run\)\n$`},
		{"too little money", []string{"-budget", "0.5"}, `^article: the run ended failed: .*it costs at least 1.10 USD, the limit is 0.50.*\n$`},
		{"too little time", []string{"-timeout", "1m"}, `^article: the run ended failed: .*it takes at least 11 minutes, the limit is 1.*\n$`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "o.json")
			got := tool.Start(t.Context(), append(tt.args, "-pace", "0", "-json", file, "-db", filepath.Join(dir, "a.db"), healthcare)...)
			assert.Equal(t, cli.Failed, got.Code)
			assert.Regexp(t, tt.want, got.Err)
			assert.NotEmpty(t, outcome(t, file).Status, "what there is, is kept")
		})
	}
}

func TestMoneyBoundsThePlan(t *testing.T) {
	got := tool.Start(t.Context(), healthcare, "-budget", "1.70", "-quality", "0.5", "-pace", "0", "-db", filepath.Join(t.TempDir(), "a.db"))
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "  plan-1: about 1.7000 USD and ", "web_search 0.20, synthesizer 0.30, writer 0.90, fact_checker 0.30: the other checks are removed")
}

func TestTerminalPicture(t *testing.T) {
	got := tool.Terminal(t.Context(), 120, 60, healthcare, "-pace", "1ms", "-db", filepath.Join(t.TempDir(), "a.db"))
	require.Equal(t, 0, got.Code, got.Err)
	assert.Equal(t, 1, strings.Count(got.Out, "  plan-1 scored"), "one picture stays: %s", got.Out)
	assert.Regexp(t, `  iteration 1 of 3: executing, 0.0000 USD of 5.0000 USD are spent, `, got.Drawn)
	assert.Regexp(t, `research +academic_search +completed +attempt 1`, got.Out)
	assert.Regexp(t, `  plan-1 scored 0\.\d+ of 0\.8\n`, got.Out)
}

func TestCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it sweeps a whole team")
	}
	flow, err := newFlow()
	require.NoError(t, err)
	o, err := parse([]string{healthcare, "-length", "500"}, nil)
	require.NoError(t, err)
	c := flowtest.New(flow, o.brief, func(testing.TB) agent.Roster { return rehearse(0) })
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
		{"unknown flag", []string{healthcare, "-nonsense"}, "", 2, "not defined: -nonsense (article -h lists the flags)"},
		{"no topic", nil, "", 2, "the topic is empty: say with -topic what to write about"},
		{"empty topic", []string{"-topic", ""}, "", 2, "the topic is empty"},
		{"two topics", []string{"-topic", healthcare, "Tea"}, "", 2, `the topic is given twice: as -topic, and as "Tea"`},
		{"empty input", []string{"-topic", "-"}, "", 2, "the topic is empty"},
		{"a megabyte", []string{strings.Repeat("tea ", 1<<18)}, "", 2, "the topic is too large"},
		{"501 characters", []string{strings.Repeat("ä", 501), "-model", "acme:m", "-price", "1,2"}, "", 2, "the brief: Topic has 501 characters, want a text of 1 to 500"},
		{"binary", []string{"-"}, "\x7fELF\x00\xff", 2, "the topic is no text"},
		{"no sources", []string{healthcare, "-min-sources", "0"}, "", 2, "-min-sources and -length must not be 0"},
		{"too many sources", []string{healthcare, "-min-sources", "51"}, "", 2, "MinSources is 51, want 1 to 50"},
		{"sources in words", []string{healthcare, "-min-sources", "ten"}, "", 2, `invalid value "ten" for flag -min-sources`},
		{"quality of 2", []string{healthcare, "-quality", "2"}, "", 2, "MinQuality is 2, want 0 to 1"},
		{"quality that is no number", []string{healthcare, "-quality", "NaN"}, "", 2, "MinQuality is NaN"},
		{"no budget", []string{healthcare, "-budget", "0"}, "", 2, "-budget is 0, want 0.50 to 50 USD"},
		{"too large a budget", []string{healthcare, "-budget", "51"}, "", 2, "Limits.Cost is 51.00 USD, want 0.50 to 50"},
		{"too little time", []string{healthcare, "-timeout", "1s"}, "", 2, "Limits.Time is 1s, want 1m to 2h"},
		{"unknown tone", []string{healthcare, "-tone", "angry"}, "", 2, `Tone is "angry"`},
		{"several", []string{healthcare, "-tone", "angry", "-length", "1"}, "", 2, "Length is 1"},
		{"directory as db", []string{healthcare, "-db", dir}, "", 1, dir},
		{"text as db", []string{healthcare, "-db", text}, "", 1, text},
		{"article in no directory", []string{healthcare, "-o", filepath.Join(dir, "none", "a.md")}, "", 2, "-o: open"},
		{"directory as outcome", []string{healthcare, "-json", dir}, "", 2, "is a directory"},
		{"the database as article", []string{healthcare, "-o", "./article.db"}, "", 2, "is the file of -db"},
		{"no key", []string{healthcare, "-model", "anthropic:m", "-price", "1,2"}, "", 2, "ANTHROPIC_API_KEY is empty"},
		{"no price", []string{healthcare, "-model", "acme:m", "-base-url", "http://localhost"}, "", 2, "-budget needs -price"},
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
	for _, name := range []string{"-topic", "-min-sources", "-quality", "-length", "-type", "-tone", "-depth", "-prefer", "-db", "-o", "-page", "-json", "-model", "-base-url", "-key-env", "-price", "-budget", "-timeout", "-calls", "-pace", "-new"} {
		assert.Regexp(t, "(?m)^  "+name+"( |$)", got.Out)
	}
}

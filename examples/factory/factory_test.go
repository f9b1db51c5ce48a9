package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

const iso = "a Go package that parses and formats ISO 8601 durations, with tests"

var (
	update = flag.Bool("update", false, "write the golden files")
	tool   = clitest.Program{Name: program, Run: factory}
)

// made is where a whole run of the rehearsal has left its files, for all tests that look
// at its result.
type made struct {
	dir string
	ran clitest.Ran
}

var (
	shared  made
	runOnce sync.Once
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "factory")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary one
	shared.dir = dir
	m.Run()
}

func (m made) path(name string) string { return filepath.Join(m.dir, name) }

// args are those of a run with its files in a folder.
func args(dir string, more ...string) []string {
	in := func(name string) string { return filepath.Join(dir, name) }
	return append([]string{iso, "-pace", "0", "-db", in("f.db"), "-dir", in("out"), "-json", in("o.json"), "-page", in("p.html")}, more...)
}

func whole(t *testing.T) made {
	t.Helper()
	runOnce.Do(func() { shared.ran = tool.Start(t.Context(), args(shared.dir)...) })
	require.Equal(t, 0, shared.ran.Code, shared.ran.Err)
	return shared
}

// outcome reads the JSON of -json without what differs from run to run.
func outcome(t *testing.T, file string) delivery.Outcome {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out delivery.Outcome
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&out))
	out = flowtest.Clockless(out)
	out.State.ID = ""
	return out
}

// files are those of a project, by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range found {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		all[f.Name()] = string(data)
	}
	return all
}

// gotool runs the go command on a module, which is of its own.
func gotool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runID is the ID of the run that these arguments start.
func runID(t *testing.T, args []string) string {
	t.Helper()
	o, err := parse(args, nil)
	require.NoError(t, err)
	return o.family()
}

// events are the run's own records of a kind.
func events(t *testing.T, log []runlog.Record, kind team.Kind) (found []delivery.Event) {
	t.Helper()
	for _, rec := range log {
		if rec.Kind == string(kind) {
			var e delivery.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

var (
	took = regexp.MustCompile(`\S+ from start to end`)
	runs = regexp.MustCompile(`factory-[0-9a-f]{12}`)
	left = regexp.MustCompile(`with \d+m for it`) // a share of the time that is left, which a slow machine uses up
)

func TestPlainOutput(t *testing.T) {
	m := whole(t)
	assert.Empty(t, m.ran.Err)
	text := strings.ReplaceAll(m.ran.Out, m.dir+string(filepath.Separator), "")
	text = runs.ReplaceAllString(took.ReplaceAllString(text, "T from start to end"), "factory-0123456789ab")
	text = left.ReplaceAllString(text, "with T for it")
	golden := filepath.Join("testdata", "iso8601.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

func TestOutcome(t *testing.T) {
	m := whole(t)
	out := outcome(t, m.path("o.json"))
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, 93.0, *out.Score)
	assert.Empty(t, out.Unverified)
	assert.Empty(t, out.Warnings)
	assert.Equal(t, delivery.Metrics{TotalSteps: 6, CompletedSteps: 6, ReplanCount: 1, FixCycles: 2, VerificationsPassed: 25, VerificationsFailed: 1}, out.State.Metrics,
		"four steps and two of a sub-plan; a fix for each of its steps; one rejection")
}

// The module is left, and is what was asked for: it passes its own tests, and others.
func TestModule(t *testing.T) {
	m, dir := whole(t), t.TempDir()
	for name, text := range files(t, m.path("out")) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	asked, err := os.ReadFile(filepath.Join("testdata", "asked_test.txt"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "asked_test.go"), asked, 0o600))
	out, err := gotool(t, dir, "test", "-v", "-cover", ".")
	require.NoError(t, err, out)
	for _, want := range []string{"--- PASS: TestAsked", "--- PASS: TestParse/PT1M", "--- PASS: FuzzParse", "--- PASS: ExampleParse"} {
		assert.Contains(t, out, want)
	}
	assert.Regexp(t, `coverage: (9\d\.\d|100)%|coverage: 100\.0%`, out)
	out, err = gotool(t, dir, "vet", ".")
	require.NoError(t, err, out)
	out, err = gotool(t, dir, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	require.NoError(t, err, out)
	assert.Equal(t, "example.com/iso8601", strings.TrimSpace(out), "nothing but the standard library")
}

// What fails has failed in a real run of the tests, for the reason that the script means.
func TestFailuresAreReal(t *testing.T) {
	m := whole(t)
	log := clitest.Log(t, m.path("f.db"), runID(t, args(m.dir)))
	var runs []string
	for _, e := range events(t, log, delivery.EventProjectTested) {
		text := e.Target + " passed"
		if !e.Tests.Passed {
			text = e.Target + " failed"
		}
		runs = append(runs, text)
		switch text {
		case "p2.s1 failed":
			assert.Contains(t, e.Tests.Output, "TestParse/PT1M\n    parse_test.go:42: got {Years:0 Months:1 Weeks:0 Days:0 Clock:0s}, want {Years:0 Months:0 Weeks:0 Days:0 Clock:1m0s}")
		case "p2.s2 failed":
			assert.Contains(t, e.Tests.Output, "TestParseDecimals/PT0.5S\n    limits_test.go:35: got {Years:0 Months:0 Weeks:0 Days:0 Clock:5ns}, want {Years:0 Months:0 Weeks:0 Days:0 Clock:500ms}")
			assert.Contains(t, e.Tests.Output, "TestParseOutOfRange/PT2562048H\n    limits_test.go:75: got {Years:0 Months:0 Weeks:0 Days:0 Clock:-2562047h34m33.709551616s} and error <nil>, want ErrRange")
		}
	}
	assert.Equal(t, []string{
		"p1.s1 passed", "p2.s1 failed", "p2.s1 passed", "p2.s2 failed", "p2.s2 passed", "p1.s2 passed", "p1.s3 passed", "p1.s4 passed", "goal passed",
	}, runs)
	var rejected []string
	for _, e := range events(t, log, delivery.EventWorkJudged) {
		if e.Text != "" {
			rejected = append(rejected, string(e.Verdict.Kind)+" "+e.Target)
		}
	}
	assert.Equal(t, []string{"code p1.s3"}, rejected, "the supervisor rejects once")
}

func TestPage(t *testing.T) {
	html, err := os.ReadFile(whole(t).path("p.html"))
	require.NoError(t, err)
	for _, want := range []string{
		"The goal is reached", "p2.s1: Parse the grammar", "Project", "&lt;nil&gt;, want ErrSyntax", "code rejected", "45 below 60",
		`<span class="removed">-	lengths := map[byte]time.Duration{&#39;H&#39;: time.Hour, &#39;M&#39;: time.Minute, &#39;S&#39;: time.Second}</span>`,
	} {
		assert.Contains(t, string(html), want)
	}
	for _, step := range []string{"p1.s1", "p2.s1", "p2.s2", "p1.s2", "p1.s3", "p1.s4"} {
		assert.Regexp(t, `(?s)id="changes".*<h3>`+step+`: [^<]*</h3>\s*<details>.*id="course"`, string(html), "the difference of each step")
	}
}

func TestEndedRunIsReportedAgain(t *testing.T) {
	m := whole(t)
	again := tool.Start(t.Context(), args(m.dir, "-pace", "1h")...)
	assert.Equal(t, 0, again.Code, again.Err)
	assert.Contains(t, again.Out, "ended earlier")
	_, report, found := strings.Cut(m.ran.Out, "\n\n")
	require.True(t, found)
	assert.Contains(t, again.Out, report)

	fresh := tool.Start(t.Context(), args(m.dir, "-new")...)
	assert.Equal(t, cli.BadUsage, fresh.Code)
	assert.Contains(t, fresh.Err, "out holds duration.go already: a new run wants an empty folder (factory -h lists the flags)\n")
}

// process is a factory that was started.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func begin(t *testing.T, program string, args ...string) process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return process{cmd, bufio.NewScanner(out)}
}

// until reads lines up to one with a text, and returns them.
func (p process) until(t *testing.T, text string) string {
	t.Helper()
	said := ""
	for p.lines.Scan() {
		said += p.lines.Text() + "\n"
		if strings.Contains(p.lines.Text(), text) {
			return said
		}
	}
	require.Fail(t, "it ended before it said "+text, said)
	return ""
}

func (p process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Kill())
	require.Error(t, p.Wait())
}

// takenOver runs two factories on the same run. The second one shows it, and takes the
// run and the folder over when the first one is killed; then it is killed, too.
func takenOver(t *testing.T, built, dir string) {
	t.Helper()
	first := begin(t, built, args(dir, "-pace", "200ms")...)
	assert.Contains(t, first.until(t, "gate code of p2.s1 passes"), "resumed run ") // the workspace is open
	second := begin(t, built, args(dir)...)
	assert.NotContains(t, second.until(t, "another factory works on run "), "resumed")
	first.kill(t)
	second.until(t, "tests: not passed")
	second.kill(t)
}

// Killed at work and interrupted, the run is finished by the next process: it repeats no
// call, and has the same result.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it runs go test again and again")
	}
	m, built, dir := whole(t), clitest.Build(t), t.TempDir()
	id, db := runID(t, args(dir)), filepath.Join(dir, "f.db")
	before := []runlog.Record{}
	stays := func() {
		log := clitest.Log(t, db, id)
		assert.Equal(t, before, log[:len(before)], "what was recorded stays")
		assert.Greater(t, len(clitest.Answers(log)), len(clitest.Answers(before)))
		before = log
	}
	clitest.KillAt(t, "changed: 3 files", 1, built, args(dir, "-pace", "200ms")...)
	stays()
	takenOver(t, built, dir)
	stays()
	got := tool.InterruptAt(t.Context(), "gate code of p2.s2 passes", args(dir)...)
	assert.Equal(t, cli.Interrupted, got.Code)
	assert.Regexp(t, `^factory: interrupted: suspended run factory-\w+ with \d+ recorded answers in .*f.db: start factory with the same request again to continue\n$`, got.Err)
	stays()

	got = tool.Terminal(t.Context(), 40, 10, args(dir)...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run "+id)
	for line := range strings.Lines(got.Out) {
		assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 40)
	}
	assert.Regexp(t, `\n  \S+, 76 calls, no cost\n  completed\n  gate goal passes with 93, 80 wanted\n  completed   p1\.s1 \(10 tests, gate 92…\n`, got.Out, "one picture stays")
	assert.Equal(t, 1, strings.Count(got.Out, "completed   p1.s1"))
	assert.Regexp(t, `\n  … and \d more\n`, got.Drawn)
	assert.Contains(t, got.Drawn, "executing: coder, ")
	assert.Contains(t, got.Drawn, "\n  divided     p1.s2 ")
	assert.Regexp(t, `, (1h0m|59m) left\n`, got.Drawn)
	stays()
	assert.Equal(t, clitest.Answers(clitest.Log(t, m.path("f.db"), runID(t, args(m.dir)))), clitest.Answers(before), "the same calls, each recorded once")
	assert.Equal(t, outcome(t, m.path("o.json")), outcome(t, filepath.Join(dir, "o.json")))
	assert.Equal(t, files(t, m.path("out")), files(t, filepath.Join(dir, "out")))
}

func TestLess(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"too few calls", []string{"-calls", "3"}, `^factory: the run ended out-of-budget: .*the limit of 3 calls is reached.* \(-new starts a new run\)\n$`},
		{"too little time", []string{"-timeout", "1ms", "-pace", "2ms"}, `^factory: the run ended out-of-budget: .*time expired.* \(-new starts a new run\)\n$`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			got := tool.Start(t.Context(), args(dir, tt.args...)...)
			assert.Equal(t, cli.Failed, got.Code)
			assert.Regexp(t, tt.want, got.Err)
			assert.NotEmpty(t, outcome(t, filepath.Join(dir, "o.json")).Status, "what there is, is kept")
			assert.FileExists(t, filepath.Join(dir, "p.html"))
			assert.Empty(t, files(t, filepath.Join(dir, "out")), "code that was not accepted does not stay")
		})
	}
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
		{"unknown flag", []string{iso, "-nonsense"}, "", 2, "not defined: -nonsense (factory -h lists the flags)"},
		{"no objective", nil, "", 2, "the objective is empty: say what shall be made"},
		{"empty input", []string{"-"}, "", 2, "the objective is empty"},
		{"binary", []string{"-"}, "\x7fELF\x00\xff", 2, "the objective is no text"},
		{"an objective without a script", []string{"a Go package for chess"}, "", 2, `the rehearsal has a script for one objective alone, "` + iso + `": use -model for another one`},
		{"no folder", []string{iso, "-dir", ""}, "", 2, "-dir is empty"},
		{"a file as folder", []string{iso, "-dir", text}, "", 2, text + " is a file, want a folder"},
		{"a folder with something in it", []string{iso, "-dir", dir}, "", 2, dir + " holds notes.txt already: a new run wants an empty folder"},
		{"a folder inside of a file", []string{iso, "-dir", filepath.Join(text, "x")}, "", 2, "-dir: "},
		{"the database in the folder", []string{iso, "-dir", "out", "-db", "out/f.db"}, "", 2, "-db out/f.db is inside of -dir"},
		{"the page in the folder", []string{iso, "-dir", ".", "-db", "../f.db", "-page", "p.html"}, "", 2, "-page p.html is inside of -dir"},
		{"a cache in the folder", []string{iso, "-dir", ".", "-db", "../f.db", "-cache", "c"}, "", 2, "-cache c is inside of -dir"},
		{"a file as cache", []string{iso, "-cache", text}, "", 1, "-cache: "},
		{"directory as db", []string{iso, "-db", dir}, "", 1, dir},
		{"text as db", []string{iso, "-db", text}, "", 1, text},
		{"directory as page", []string{iso, "-page", dir}, "", 2, "-page: "},
		{"one file for both", []string{iso, "-page", "x", "-json", "x"}, "", 2, "-page x is the file of -json"},
		{"negative timeout", []string{iso, "-timeout", "-1s"}, "", 2, "-timeout is -1s"},
		{"no key", []string{iso, "-model", "openai:gpt-4o-mini"}, "", 2, "OPENAI_API_KEY is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.NotContains(t, tool.Refuses(t, tt.in, tt.code, tt.want, tt.args...), "factory-out", "it has not begun")
		})
	}
}

func TestHelp(t *testing.T) {
	got := tool.Start(t.Context(), "-h")
	assert.Equal(t, 0, got.Code)
	for _, name := range []string{"-dir", "-cache", "-page", "-json", "-db", "-model", "-base-url", "-key-env", "-price", "-budget", "-timeout", "-calls", "-pace", "-new"} {
		assert.Regexp(t, "(?m)^  "+name+"( |$)", got.Out)
	}
}

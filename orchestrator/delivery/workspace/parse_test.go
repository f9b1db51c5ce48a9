package workspace_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/orchestrator/delivery/workspace"
)

// ended is a run that exited and wrote lines.
func ended(code int, lines ...string) proc.Result {
	return proc.Result{End: proc.Exited, Code: code, Stdout: proc.Output{Head: strings.Join(lines, "\n") + "\n"}}
}

func same(s string) string { return s }

const (
	passed  = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.01}`
	failed  = `{"Action":"fail","Package":"p","Test":"TestB"}`
	skipped = `{"Action":"skip","Package":"p","Test":"TestC"}`
	pkgPass = `{"Action":"pass","Package":"p"}`
	pkgFail = `{"Action":"fail","Package":"p"}`
)

func TestJudge(t *testing.T) {
	cut := ended(0, passed, pkgPass)
	cut.Stdout.Cut = 1
	killed := ended(-1, passed, pkgPass)
	killed.End, killed.Why = proc.Signaled, "signal: killed"
	for _, tt := range []struct {
		name   string
		res    proc.Result
		reason string
		ran    int
		places []string
	}{
		{"SC52 passed", ended(0, passed, skipped, pkgPass), "", 1, nil},
		{"SC52 nothing", ended(0), "no test ran", 0, []string{""}},
		{"SC52 skipped alone", ended(0, skipped, pkgPass), "no test ran", 0, []string{""}},
		{"SC52 failed", ended(1, passed, failed, pkgFail), "failed: p TestB", 2, []string{"p TestB"}},
		{"SC52 failed, though it exits with 0", ended(0, failed, pkgPass), "failed: p TestB", 1, []string{"p TestB"}},
		{"SC52 passed, though it exits with 1", ended(1, passed, pkgPass), "the run ended with exit code 1", 1, []string{""}},
		{"SC52 cut", cut, "the run wrote more than can be read", 1, []string{""}},
		{"SC57 killed", killed, "the run was signal: killed", 1, []string{""}},
		{"SC52 a line of prose", ended(0, passed, "PASS", pkgPass), "the run wrote a line that is no event of go test -json: PASS", 1, []string{""}},
		{"SC52 half a line", ended(0, passed, `{"Action":"pa`), `the run wrote a line that is no event of go test -json: {"Action":"pa`, 1, []string{""}},
		{"SC52 a package alone", ended(1, passed, pkgFail), "failed: p", 1, []string{"p"}},
		{"SC52 another package's", ended(1, failed, pkgFail, `{"Action":"fail","Package":"p2"}`), "failed: p TestB, p2", 1, []string{"p TestB", "p2"}},
		{
			"SC52 the inner one", ended(1, `{"Action":"fail","Package":"p","Test":"TestB/in"}`, failed, `{"Action":"fail","Package":"p","Test":"TestBoth"}`, pkgFail),
			"failed: p TestB/in, p TestBoth", 3,
			[]string{"p TestB/in", "p TestBoth"},
		},
		{
			"SC52 builds come first", ended(1, failed, pkgFail, `{"Action":"build-fail","ImportPath":"q"}`, `{"Action":"fail","Package":"q","FailedBuild":"q"}`),
			"the code does not build", 1,
			[]string{"q", "p TestB"},
		},
		{
			"SC52 a package that panics beside a build that failed", ended(1, `{"Action":"build-fail","ImportPath":"q"}`, `{"Action":"fail","Package":"q","FailedBuild":"q"}`,
				`{"Action":"output","Package":"p","Output":"panic: at init\n"}`, pkgFail),
			"the code does not build", 0,
			[]string{"q", "p"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := workspace.Judge(tt.res, same)
			assert.Equal(t, tt.reason, got.Reason)
			assert.Equal(t, tt.reason == "", got.Passed)
			assert.Equal(t, tt.ran, got.Ran)
			var places []string
			for _, i := range got.Issues {
				places = append(places, i.Location)
			}
			assert.Equal(t, tt.places, places)
		})
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(strings.Join([]string{passed, failed, pkgFail}, "\n"), 1)
	f.Add(`{"Action":"build-output","ImportPath":"p","Output":"# p\n"}`+"\n"+`{"Action":"build-fail","ImportPath":"p"}`, 1)
	f.Add(`{"Action":"output","Package":"p","Test":"TestB","Output":"--- FAIL: \ud800"}`+"\n\n{}", 0)
	f.Add(passed, 0)
	f.Add("\xff\x00{", 2)
	f.Fuzz(func(t *testing.T, out string, code int) {
		got := workspace.Judge(proc.Result{End: proc.Exited, Code: code, Stdout: proc.Output{Head: out}}, same)
		assert.Equal(t, got.Passed, got.Reason == "")
		assert.Equal(t, got.Passed, len(got.Issues) == 0, "what has not passed has an issue")
		if got.Passed {
			assert.Zero(t, code)
			assert.Positive(t, got.Ran)
			for line := range strings.Lines(out) {
				if strings.TrimSpace(line) != "" {
					assert.True(t, json.Valid([]byte(line)), "all of it was read")
				}
			}
		}
		assert.LessOrEqual(t, len(got.Issues), 50)
		for _, i := range got.Issues {
			assert.LessOrEqual(t, len(i.Description), 5<<10)
			assert.Contains(t, []string{"critical", "major"}, i.Severity)
		}
		assert.True(t, utf8.ValidString(out) == false || utf8.ValidString(got.Output))
	})
}

// said is a line that a package wrote.
func said(name, output string) string {
	data, err := json.Marshal(map[string]string{"Action": "output", "Package": name, "Output": output})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestJudgeCoverage(t *testing.T) {
	ok := func(name, covered string) string { return said(name, "ok  \t"+name+"\t0.1s"+covered+"\n") }
	for name, tt := range map[string]struct {
		lines []string
		want  *float64
	}{
		"SC65 no flag":                             {[]string{ok("p", "")}, nil},
		"SC65 of a package":                        {[]string{said("p", "coverage: 66.7% of statements\n"), ok("p", "\tcoverage: 66.7% of statements")}, new(66.7)},
		"SC65 the lowest":                          {[]string{ok("p", "\tcoverage: 66.7% of statements"), ok("q", "\tcoverage: 50.0% of statements in ./...")}, new(50.0)},
		"SC65 no statements":                       {[]string{ok("p", "\tcoverage: [no statements]")}, nil},
		"SC65 a package without tests":             {[]string{ok("p", "\tcoverage: 66.7% of statements"), said("q", "\tq\t\tcoverage: 0.0% of statements\n")}, new(66.7)},
		"SC65 the code under test cannot claim it": {[]string{ok("p", "\tcoverage: 100.0% of statements"), ok("p", "\tcoverage: 10.0% of statements")}, new(10.0)},
		"SC65 nor where there is none":             {[]string{ok("p", "\tcoverage: 100.0% of statements"), ok("p", "")}, nil},
		"SC65 nor for another package":             {[]string{said("p", "ok  \tq\t0.1s\tcoverage: 100.0% of statements\n"), ok("p", "")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := workspace.Judge(ended(0, append([]string{passed, pkgPass}, tt.lines...)...), same)
			assert.True(t, got.Passed)
			assert.Equal(t, tt.want, got.Coverage)
		})
	}
	t.Run("SC65 a run that failed names none", func(t *testing.T) {
		assert.Nil(t, workspace.Judge(ended(1, failed, pkgFail, ok("q", "\tcoverage: 50.0% of statements")), same).Coverage)
	})
}

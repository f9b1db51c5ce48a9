package workspace

import (
	"path/filepath"
	"regexp"
	"strings"
)

// noise is output that differs between runs and machines although the code is the same.
// Only what go test, package log and the runtime write themselves is here: times that a
// test compares are kept.
var noise = []struct {
	what *regexp.Regexp
	in   string
}{
	{regexp.MustCompile(`(?m)^(\s*--- (?:PASS|FAIL|SKIP|BENCH): .*) \(\d+(?:\.\d+)?s\)$`), "$1"},
	{regexp.MustCompile(`(?m)^((?:ok  |FAIL)\s+\S+)\s+(?:\d+\.\d+s|\(cached\))`), "$1"},
	{regexp.MustCompile(`(?m)^(\s*)\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? `), "$1"},
	{regexp.MustCompile(`(?m)^goroutine \d+( gp=0x[0-9a-f]+)?( m=\d+)?( mp=0x[0-9a-f]+)? \[([^\],]*)[^\]]*\]:$`), "goroutine [$4]:"},
	{regexp.MustCompile(`(?m)(created by .*) in goroutine \d+$`), "$1"},
	{regexp.MustCompile(`(?m)^(panic: test timed out after .*\n\s*running tests:\n(?:\s+\S+)) \(\d+(?:\.\d+)?s\)$`), "$1"},
	{regexp.MustCompile(`\b0x[0-9a-f]{6,16}\b`), "0x…"},
	{regexp.MustCompile(`\bgo-build\d+\b`), "go-build"},
	{regexp.MustCompile(`\bpid[ =:]\d+`), "pid"},
}

// cleaner returns a function that removes paths of this machine, times and addresses from
// the output of tests. program is the path of the test command.
func (w *Workspace) cleaner(program string) func(string) string {
	goroot := strings.NewReplacer(filepath.Dir(filepath.Dir(program)), "$GOROOT")
	return func(s string) string {
		s = goroot.Replace(w.withoutPaths(strings.ToValidUTF8(s, "\uFFFD")))
		for _, n := range noise {
			s = n.what.ReplaceAllString(s, n.in)
		}
		return s
	}
}

// withoutPaths replaces the paths of the workspace by fixed names.
func (w *Workspace) withoutPaths(s string) string {
	temp := regexp.MustCompile(regexp.QuoteMeta(w.state("tmp")) + `[^\s"'` + "`" + `:,)]*`)
	return strings.NewReplacer(w.cfg.Dir+string(filepath.Separator), "", w.cfg.Dir, ".", w.cfg.State, "$STATE").Replace(temp.ReplaceAllString(s, "$$TMPDIR"))
}

package workspace

import (
	"path/filepath"
	"regexp"
	"strings"
)

// What differs from run to run and from machine to machine though the code is the
// same. Times that a test compares are left alone: only those stand here that go test,
// package log and the runtime write by themselves.
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

// cleaner returns what takes paths of this machine, times and addresses out of the
// output of tests.
func (w *Workspace) cleaner(program string) func(string) string {
	pairs := []string{
		w.cfg.Dir + string(filepath.Separator), "",
		w.cfg.Dir, ".",
	}
	temp := regexp.MustCompile(regexp.QuoteMeta(w.state("tmp")) + `[^\s"'` + "`" + `:,)]*`)
	rest := strings.NewReplacer(append(pairs,
		w.cfg.State, "$STATE",
		filepath.Dir(filepath.Dir(program)), "$GOROOT",
	)...)
	return func(s string) string {
		s = strings.ToValidUTF8(s, "\uFFFD")
		s = rest.Replace(temp.ReplaceAllString(s, "$$TMPDIR"))
		for _, n := range noise {
			s = n.what.ReplaceAllString(s, n.in)
		}
		return s
	}
}

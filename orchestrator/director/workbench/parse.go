package workbench

import (
	"encoding/json"
	"slices"
	"strings"
)

// report is what a command wrote.
type report struct {
	json   bool     // it is "go test -json"
	ran    int      // tests
	failed []string // packages and tests in them, without those that failed only because one inside of them did
	output string   // output of the failures; all of a command without events
}

// parse reads the output of a command. Lines that are no events are output.
func parse(out string) report {
	var r report
	var plain strings.Builder
	said, failed := map[string][]string{}, map[string]bool{} // keys: names
	for line := range strings.Lines(out) {
		var e struct{ Action, Package, Test, Output, ImportPath string }
		if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			plain.WriteString(line)
			continue
		}
		r.json = true
		name := strings.TrimSpace(e.Package + e.ImportPath + " " + e.Test)
		switch e.Action {
		case "output", "build-output":
			said[name] = append(said[name], e.Output)
		case "pass", "fail", "build-fail":
			if e.Test != "" {
				r.ran++
			}
			if e.Action != "pass" && !failed[name] {
				failed[name] = true
				r.failed = append(r.failed, name)
			}
		}
	}
	outer := around(r.failed)
	r.failed = slices.DeleteFunc(r.failed, func(name string) bool { return outer[name] })
	for _, name := range r.failed {
		plain.WriteString(strings.Join(said[name], ""))
	}
	r.output = plain.String()
	return r
}

// around are the packages of tests, and the tests of subtests, by name.
func around(names []string) map[string]bool {
	outer := map[string]bool{}
	for _, name := range names {
		test := strings.IndexByte(name, ' ') // before it; -1: it is a package
		for i := range name {
			if name[i] == ' ' || name[i] == '/' && test >= 0 && i > test {
				outer[name[:i]] = true
			}
		}
	}
	return outer
}

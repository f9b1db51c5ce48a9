package workbench

import (
	"encoding/json"
	"slices"
	"strings"
)

// report is what a command wrote.
type report struct {
	json   bool     // as go test -json does
	ran    int      // tests
	failed []string // packages and tests in them, without those that failed only because one inside of them did
	output string   // of what failed; of a command without events, all
}

// parse reads the output of a command. Lines that are no events are output.
func parse(out string) report {
	var r report
	said, plain := map[string]*strings.Builder{}, strings.Builder{}
	write := func(name, text string) {
		if said[name] == nil {
			said[name] = &strings.Builder{}
		}
		said[name].WriteString(text)
	}
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
			write(name, e.Output)
		case "pass", "fail", "build-fail":
			if e.Test != "" {
				r.ran++
			}
			if e.Action != "pass" && !slices.Contains(r.failed, name) {
				r.failed = append(r.failed, name)
			}
		}
	}
	all := slices.Clone(r.failed)
	r.failed = slices.DeleteFunc(r.failed, func(name string) bool {
		return slices.ContainsFunc(all, func(inner string) bool {
			return strings.HasPrefix(inner, name+"/") && strings.Contains(name, " ") || strings.HasPrefix(inner, name+" ")
		})
	})
	for _, name := range r.failed {
		if b := said[name]; b != nil {
			plain.WriteString(b.String())
		}
	}
	r.output = plain.String()
	return r
}

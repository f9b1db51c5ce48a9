package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/proc"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/delivery"
)

const (
	issueBytes  = 4 << 10  // of one issue's description
	outputBytes = 64 << 10 // of the whole output of failures
	issuesMost  = 50       // that one run reports
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// part is the output of one test, package or build.
type part struct {
	name   string // the package, and the test in it
	test   bool
	build  bool
	failed bool
	output strings.Builder
}

// report is the output of go test -json.
type report struct {
	parts      []*part            // in the order of their first line
	ran        int                // tests that passed or failed
	covered    map[string]float64 // coverage in percent, by package
	unreadable string             // the first line that is no event; "": none
}

// parse reads the output of go test -json.
func parse(out string) *report {
	r := &report{covered: map[string]float64{}}
	known := map[string]*part{}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" || e.Package+e.ImportPath == "" {
			if r.unreadable == "" {
				r.unreadable = line
			}
			continue
		}
		r.add(e, known)
	}
	return r
}

// add adds one event.
func (r *report) add(e event, known map[string]*part) {
	name := e.ImportPath
	if e.Package != "" {
		name = strings.TrimSuffix(e.Package+" "+e.Test, " ")
	}
	build := strings.HasPrefix(e.Action, "build-")
	key := fmt.Sprint(build, e.Package, "\x00", e.Test, "\x00", e.ImportPath)
	if known[key] == nil {
		known[key] = &part{name: name, test: e.Test != "", build: build}
		r.parts = append(r.parts, known[key])
	}
	p := known[key]
	switch e.Action {
	case "output", "build-output":
		p.output.WriteString(e.Output)
		if e.Test == "" && strings.HasPrefix(e.Output, "ok  \t"+e.Package+"\t") { // the last such line is that of go test
			r.cover(e.Package, e.Output)
		}
	case "pass":
		if p.test {
			r.ran++
		}
	case "fail":
		p.failed = true
		if p.test {
			r.ran++
		}
	case "build-fail":
		p.failed = true
	}
}

// coverage is what go test says of a package with -cover.
var coverage = regexp.MustCompile(`\tcoverage: ([0-9.]+)% of statements`)

// cover keeps the coverage of a package that passed.
func (r *report) cover(name, line string) {
	delete(r.covered, name)
	if found := coverage.FindStringSubmatch(line); found != nil {
		if percent, err := strconv.ParseFloat(found[1], 64); err == nil && percent <= 100 {
			r.covered[name] = percent
		}
	}
}

// least is the lowest coverage of the packages that have tests; nil: none is known.
func (r *report) least() *float64 {
	if len(r.covered) == 0 {
		return nil
	}
	return new(slices.Min(slices.Collect(maps.Values(r.covered))))
}

// judge says whether a run has passed, and why not.
func judge(res proc.Result, clean func(string) string) delivery.TestResult {
	r := parse(res.Stdout.Head + res.Stdout.Tail)
	out := delivery.TestResult{Kind: "run", Ran: r.ran}
	out.Reason = clean(reason(res, r))
	out.Passed = out.Reason == ""
	if out.Passed {
		out.Coverage = r.least()
		return out
	}
	var all strings.Builder
	for _, p := range r.failures() {
		said := strings.TrimSpace(clean(p.output.String()))
		all.WriteString(clean(p.name) + "\n" + said + "\n\n")
		if len(out.Issues) < issuesMost {
			out.Issues = append(out.Issues, p.issue(clean(p.name), said))
		}
	}
	if stderr := strings.TrimSpace(clean(res.Stderr.String())); stderr != "" {
		all.WriteString(stderr)
	}
	out.Output = text.Cut(strings.TrimSpace(all.String()), outputBytes)
	if len(out.Issues) == 0 {
		out.Issues = []delivery.Issue{{Severity: "major", Category: "bug", Description: text.Cut(strings.TrimSpace(out.Reason+"\n"+out.Output), issueBytes)}}
	}
	return out
}

// reason says why a run has not passed; "": it has.
func reason(res proc.Result, r *report) string {
	failed := r.failures()
	names := make([]string, 0, len(failed))
	built := true
	for _, p := range failed {
		names = append(names, p.name)
		built = built && !p.build
	}
	switch {
	case res.End != proc.Exited:
		return "the run was " + res.Why
	case res.Stdout.Cut > 0:
		return "the run wrote more than can be read"
	case !built:
		return "the code does not build"
	case len(failed) > 0:
		return text.Shorten("failed: "+strings.Join(names, ", "), 500)
	case res.Code != 0:
		return fmt.Sprintf("the run ended with exit code %d", res.Code)
	case r.unreadable != "":
		return "the run wrote a line that is no event of go test -json: " + text.Shorten(r.unreadable, 200)
	case r.ran == 0:
		return "no test ran"
	}
	return ""
}

// failures are the parts that failed: builds first, then tests, without those that failed
// only because a subtest did.
func (r *report) failures() (failed []*part) {
	outer := r.outer()
	builds := slices.ContainsFunc(r.parts, func(p *part) bool { return p.failed && p.build })
	for _, p := range r.parts {
		switch {
		case !p.failed, !p.build && outer[p.name]:
		case !p.build && !p.test && builds && !strings.Contains(p.output.String(), "panic:"):
			// the package says only that its build failed
		default:
			failed = append(failed, p)
		}
	}
	slices.SortStableFunc(failed, func(a, b *part) int {
		switch {
		case a.build == b.build:
			return 0
		case a.build:
			return -1
		}
		return 1
	})
	return failed
}

// outer are the names of packages and tests in which a test failed.
func (r *report) outer() map[string]bool {
	outer := map[string]bool{}
	for _, p := range r.parts {
		if !p.failed || !p.test {
			continue
		}
		space := strings.IndexByte(p.name, ' ') // behind the package
		for i := range p.name {
			if i == space || i > space && p.name[i] == '/' {
				outer[p.name[:i]] = true
			}
		}
	}
	return outer
}

// issue is a failed part as an issue, with its output.
func (p *part) issue(name, said string) delivery.Issue {
	i := delivery.Issue{Severity: "major", Category: "bug", Location: name}
	what := "test failed"
	switch {
	case p.build:
		i.Severity, what = "critical", "build failed"
	case !p.test:
		what = "package failed"
	}
	i.Description = text.Cut(what+": "+said, issueBytes)
	return i
}

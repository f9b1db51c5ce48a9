package delivery

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
)

// File is a file that a coder wrote: its whole content, or its deletion.
type File struct {
	Path    string `json:"path"`              // path from the root of the project, with slashes
	Content string `json:"content,omitempty"` // whole content; "" if Delete
	Delete  bool   `json:"delete,omitempty"`  // true: the file is removed
}

// CodeOutput is a coder's answer: an attempt at a step, or a fix of one.
type CodeOutput struct {
	Summary      string   `json:"summary"`                // summary of the work
	Files        []File   `json:"files,omitempty"`        // files that were written
	Tests        []File   `json:"tests,omitempty"`        // files with tests
	Commands     []string `json:"commands,omitempty"`     // commands that a person may want to run; nothing runs them
	Blocked      bool     `json:"blocked,omitempty"`      // true: the coder cannot do it
	NeedsSubPlan bool     `json:"needsSubPlan,omitempty"` // true: it is too much for one step
	Reason       string   `json:"reason,omitempty"`       // why it is blocked
}

// critical is the Severity of an issue that rejects tests, and code if it is about security.
const critical = "critical"

// Issue is something that is wrong with work.
type Issue struct {
	Severity    string `json:"severity" enum:"critical,major,minor"`     // weight: "critical", "major" or "minor"
	Category    string `json:"category" enum:"bug,security,smell,other"` // kind of issue: "bug", "security", "smell" or "other"
	Description string `json:"description"`                              // fault in words
	Location    string `json:"location,omitempty"`                       // where it is; "": not known
}

// insecure reports whether an issue is critical for security.
func (i Issue) insecure() bool { return i.Severity == critical && i.Category == "security" }

// FixPlan is what a coder shall do about issues, in this order.
type FixPlan struct {
	Items []string `json:"items"` // things to do, in this order
}

// TestResult is the result of tests: a tester's report, or a real run.
type TestResult struct {
	Kind        string   `json:"kind,omitempty"`        // "run": a real run; "": the report of a tester
	Passed      bool     `json:"passed"`                // true: all passed
	Reason      string   `json:"reason,omitempty"`      // why a real run has not passed
	Ran         int      `json:"ran,omitempty"`         // number of tests of a real run that passed or failed
	Issues      []Issue  `json:"issues,omitempty"`      // issues of the work
	Suggestions []string `json:"suggestions,omitempty"` // advice without a fault
	Coverage    *float64 `json:"coverage,omitempty"`    // coverage in percent, 0 to 100; nil: not judged
	Output      string   `json:"output,omitempty"`      // output of a real run, without times and paths of the machine
	FixPlan     *FixPlan `json:"fixPlan,omitempty"`     // plan of fixes; nil: it follows from Issues
}

// The operations of Agents.Workspace, as Request.Op. Each acts once per Key of its call
// and request, and changes only the project. Request.Prompt says when the run began: a
// later run may use the same ID, and so the same keys.
const (
	OpSnapshot = "snapshot" // stores the state of the project: [SnapshotRequest], [Snapshot]
	OpApply    = "apply"    // writes files: [ApplyRequest], no answer
	OpTest     = "test"     // runs the project's tests: no input, [TestResult]; failed tests are no error
	OpRestore  = "restore"  // restores a stored state: [Snapshot], no answer
)

// ApplyRequest is the input of OpApply. If one path is refused, nothing is written.
type ApplyRequest struct {
	Files []File `json:"files"` // files to write or to remove
}

// SnapshotRequest is the input of OpSnapshot.
type SnapshotRequest struct {
	Since string `json:"since,omitempty"` // ID of the older snapshot for the answer's Diff; "": no Diff
}

// Snapshot is a state of the project. Equal states have equal IDs.
type Snapshot struct {
	ID   string `json:"id"`             // name of the state
	Diff string `json:"diff,omitempty"` // difference in unified format; "": not asked for
}

// ErrUnsafePath says that a file was refused because of its path.
const ErrUnsafePath = agent.Code("delivery/unsafe-path")

// fixed returns the attempt c with the files of a fix.
func (c CodeOutput) fixed(fix CodeOutput) CodeOutput {
	changed := slices.Concat(fix.Files, fix.Tests)
	unchanged := func(files []File) []File {
		return slices.DeleteFunc(slices.Clone(files), func(f File) bool {
			return slices.ContainsFunc(changed, func(o File) bool { return rooted(o.Path) == rooted(f.Path) })
		})
	}
	fix.Files, fix.Tests = append(unchanged(c.Files), fix.Files...), append(unchanged(c.Tests), fix.Tests...)
	return fix
}

// merged is the code of those steps for which is holds, later files over earlier ones.
func merged(steps iter.Seq[*Step], is func(*Step) bool) *CodeOutput {
	var all CodeOutput
	for s := range steps {
		if is(s) && s.Code != nil {
			summary := strings.TrimPrefix(all.Summary+"\n"+s.Code.Summary, "\n")
			all = all.fixed(*s.Code)
			all.Summary = summary
		}
	}
	return &all
}

// rooted is a path in one normal form.
func rooted(p string) string { return path.Clean("/" + p) }

// faults says why code is rejected without asking a model: it has no test with content.
func (c CodeOutput) faults() string {
	tested := slices.ContainsFunc(c.Tests, func(f File) bool { return !f.Delete && strings.TrimSpace(f.Content) != "" })
	if !tested {
		return "there are no tests"
	}
	return ""
}

// quoted is how many bytes of output one item of a derived fix plan has.
const quoted = 4 << 10

// deriveFixPlan returns what to do about tests that have not passed: the tester's plan
// if there is one; else its issues, the worst first; else one item that quotes the
// output. It adds the findings of a verdict that rejects the report, or the code.
func deriveFixPlan(t TestResult, v *Verdict) FixPlan {
	v = cmp.Or(v, &Verdict{})
	var plan FixPlan
	if t.FixPlan != nil {
		plan.Items = slices.Clone(t.FixPlan.Items)
	}
	if len(plan.Items) == 0 {
		plan.Items = fixes(t.Issues)
	}
	plan.Items = append(plan.Items, fixes(v.Findings)...)
	if len(plan.Items) == 0 {
		said := cmp.Or(strings.TrimSpace(v.Reason), strings.TrimSpace(t.Output), t.Reason)
		plan.Items = []string{"Make the tests pass. " + cmp.Or(text.Cut(said, quoted), "There is no output.")}
	}
	return plan
}

// fixes are issues as items of a plan, the worst first.
func fixes(issues []Issue) (items []string) {
	rank := []string{critical, "major", "minor"}
	sorted := slices.SortedStableFunc(slices.Values(issues), func(a, b Issue) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
	for _, i := range sorted {
		item := i.Description
		if i.Location != "" {
			item = i.Location + ": " + item
		}
		items = append(items, item)
	}
	return items
}

package delivery

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
)

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
func merged(steps []Step, is func(Step) bool) *CodeOutput {
	var all CodeOutput
	for _, s := range steps {
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
	var plan FixPlan
	if t.FixPlan != nil {
		plan.Items = slices.Clone(t.FixPlan.Items)
	}
	if len(plan.Items) == 0 {
		plan.Items = fixes(t.Issues)
	}
	if v != nil {
		plan.Items = append(plan.Items, fixes(v.Findings)...)
	}
	if len(plan.Items) == 0 {
		said := cmp.Or(strings.TrimSpace(t.Output), t.Reason)
		if v != nil {
			said = cmp.Or(strings.TrimSpace(v.Reason), said)
		}
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

package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// Page returns an HTML page about a run, made without a model. It has the goal and what
// proves it, what it cost, what is unverified, the steps, and what each one changed in the
// project. Then it shows how that came about: plans, code, real runs of tests, reports and
// verdicts. The page loads nothing and has no script, and text of agents is escaped.
func Page(o Outcome) (string, error) {
	s := &o.State
	p := page.Of("Delivery", o.Asked, o.Outcome)
	m := s.Metrics
	p.Facts = append([]page.Fact{
		{Name: "Steps", Value: fmt.Sprintf("%d of %d completed", m.CompletedSteps, m.TotalSteps)},
		{Name: "Fixes", Value: fmt.Sprint(m.FixCycles)},
		{Name: "Verdicts", Value: fmt.Sprintf("%d passed, %d rejected", m.VerificationsPassed, m.VerificationsFailed)},
	}, p.Facts...)
	p.Result = o.card()
	steps := page.Section{ID: "steps", Title: "Steps"}
	for _, plan := range s.Plans {
		for _, step := range plan.Steps {
			if plan.Approved {
				steps.Cards = append(steps.Cards, step.card())
			}
		}
	}
	p.Sections = []page.Section{
		steps, {ID: "changes", Title: "What each step changed", Steps: o.Changes}, {ID: "course", Title: "How it came about", Steps: o.Course},
	}
	return p.HTML()
}

// Result returns the code that was made: the files of the completed steps of the last root
// plan, later ones over earlier ones, each under a line "=== path". "": none was completed.
func (o Outcome) Result() string {
	var code CodeOutput
	if root := o.State.root(); root != nil {
		code = *merged(func(yield func(*Step) bool) { each(root.Steps, yield) }, func(s *Step) bool { return s.Status == StepCompleted })
	}
	var b strings.Builder
	for _, f := range slices.Concat(code.Files, code.Tests) {
		if !f.Delete {
			fmt.Fprintf(&b, "=== %s\n%s\n", f.Path, strings.TrimRight(f.Content, "\n"))
		}
	}
	return b.String()
}

// card shows the verdict on the goal, the last one if there are several.
func (o Outcome) card() page.Card {
	c := page.Card{Title: "The goal is not reached", Won: o.State.Status == phaseCompleted}
	if c.Won {
		c.Title = "The goal is reached"
	}
	for _, v := range slices.Backward(o.Report.Verdicts) {
		if v.Kind == gateGoal {
			c.Score, c.Why, c.Pros = v.mark(), v.Reason, v.Evidence
			c.Cons = fixes(v.Findings)
			break
		}
	}
	if reasons := o.Report.FailReasons; !c.Won && len(reasons) > 0 {
		c.Text = bullets(reasons)
	}
	return c
}

func (s Step) card() page.Card {
	c := page.Card{
		Label: s.ID, Title: text.Shorten(s.Description, 200), Won: s.Status == StepCompleted, Why: s.FailReason,
		Tags: []string{page.Words(string(s.Status)), s.Complexity},
	}
	if s.Attempts > 1 {
		c.Tags = append(c.Tags, fmt.Sprintf("%d attempts", s.Attempts))
	}
	if s.ParentStepID != "" {
		c.Tags = append(c.Tags, "part of "+s.ParentStepID)
	}
	if s.Code != nil {
		c.Text = s.Code.Summary
	}
	if s.Verification != nil {
		c.Score = s.Verification.mark()
	}
	return c
}

// mark is the score of a verdict; nil: it has none.
func (v Verdict) mark() *page.Score {
	if v.Local {
		return nil
	}
	return &page.Score{Value: v.Score, Gate: v.Threshold, Max: 100}
}

// title is the name of a target in words.
func (r *run) title(id string) string {
	for i := range r.state.Plans {
		for j := range r.state.Plans[i].Steps {
			if s := &r.state.Plans[i].Steps[j]; s.ID == id {
				return id + ": " + text.Shorten(text.OneLine(s.Description), 120)
			}
		}
	}
	if id == "goal" {
		return "The whole"
	}
	return id
}

// turn is a verdict with the reason why the work is rejected; "": it passes.
func (v Verdict) turn(why string) page.Turn {
	turn := page.Turn{Who: "Supervisor", What: v.Kind + " approved", Score: v.mark()}
	switch {
	case v.Kind == gateMonitor:
		turn.What = "looked"
	case why != "":
		turn.What = v.Kind + " rejected"
	}
	if v.Local {
		turn.Who = "Check"
	}
	lines := fixes(v.Findings)
	for _, e := range v.Evidence {
		lines = append(lines, "proof: "+e)
	}
	if v.Recommendation != "" {
		lines = append(lines, "next: "+v.Recommendation)
	}
	turn.Text = cmp.Or(strings.TrimSpace(v.Reason), why) + "\n\n" + bullets(lines)
	return turn
}

func (a planAnswer) turn(what string) page.Turn {
	var lines []string
	for _, s := range a.Steps {
		line := fmt.Sprintf("step %d, %s: %s", s.Number, s.Complexity, s.Description)
		if len(s.DependsOn) > 0 {
			line += " (after " + join(s.DependsOn) + ")"
		}
		lines = append(lines, line)
	}
	return page.Turn{Who: "Planner", What: what, Text: text.Cut(a.Analysis, quoted) + "\n\n" + bullets(lines)}
}

func (c CodeOutput) turn() page.Turn {
	turn := page.Turn{Who: "Coder", What: "code", Text: c.Summary}
	if c.Blocked || c.NeedsSubPlan {
		turn.What, turn.Text = "blocked", cmp.Or(c.Reason, c.Summary)
	}
	var names []string
	for _, f := range slices.Concat(c.Files, c.Tests) {
		names = append(names, f.Path)
	}
	turn.Text = text.Cut(turn.Text, quoted) + "\n\n" + bullets(names)
	return turn
}

func (a reportAnswer) turn() page.Turn {
	turn := page.Turn{Who: "Tester", What: "passed", Text: bullets(slices.Concat(fixes(a.Issues), a.Suggestions))}
	if !a.Passed {
		turn.What = "failed"
	}
	if a.Coverage != nil {
		turn.Text = fmt.Sprintf("Coverage: %.0f percent.\n\n%s", *a.Coverage, turn.Text)
	}
	return turn
}

// turn is a real run of the project's tests.
func (t TestResult) turn() page.Turn {
	turn := page.Turn{Who: "Project", What: fmt.Sprintf("%d tests passed", t.Ran), Text: text.Cut(t.Reason, quoted)}
	turn.Output = text.Cut(t.Output, quoted)
	if !t.Passed {
		turn.What = "failed"
	}
	return turn
}

// change is a difference as a page shows it: the files that it names, and how many lines it adds
// and removes.
func change(title, diff string) page.Step {
	var files []string
	added, removed := 0, 0
	for file := range strings.SplitSeq("\n"+diff, "\ndiff --git ") {
		head, content, _ := strings.Cut(file, "\n@@")
		head, _, _ = strings.Cut(head, "\n")
		if at := strings.LastIndex(head, " b/"); at >= 0 {
			files = append(files, strings.TrimSpace(head[at+len(" b/"):]))
		}
		added += strings.Count(content, "\n+")
		removed += strings.Count(content, "\n-")
	}
	return page.Step{Title: title, Turns: []page.Turn{{
		Who: "Difference", What: fmt.Sprintf("+%d −%d", added, removed), Text: strings.Join(files, ", "), Diff: text.Cut(diff, shownBytes),
	}}}
}

// bullets are lines as a list.
func bullets(lines []string) string {
	const most = 600 // bytes of an entry: the output of tests is shown elsewhere
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("- " + text.Shorten(text.OneLine(line), most) + "\n")
	}
	return b.String()
}

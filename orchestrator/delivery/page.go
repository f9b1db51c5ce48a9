package delivery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// Page makes an HTML page of an outcome, without a model: whether the goal is reached and
// what proves it, what it cost, what is unverified, the steps with what each one changed
// in the project, and how it came about: plans, code, real runs of tests, reports and
// verdicts. records are those of the run (Run.Events from 0), whose messages and
// differences are shown; nil: none. The page is self-contained: it loads nothing and has
// no script, and text of agents is escaped. The error is one of records.
func Page(o Outcome, records iter.Seq2[runlog.Record, error]) (string, error) {
	s := &o.State
	p := page.Of("Delivery", s.PrimaryGoal, o.Outcome)
	m := s.Metrics
	p.Facts = append([]page.Fact{
		{Name: "Steps", Value: fmt.Sprintf("%d of %d completed", m.CompletedSteps, m.TotalSteps)},
		{Name: "Fixes", Value: fmt.Sprint(m.FixCycles)},
		{Name: "Verdicts", Value: fmt.Sprintf("%d passed, %d rejected", m.VerificationsPassed, m.VerificationsFailed)},
	}, p.Facts...)
	p.Result = o.result()
	t := telling{state: s, course: page.Section{ID: "course", Title: "How it came about"}}
	t.changes = page.Section{ID: "changes", Title: "What each step changed"}
	if records != nil {
		for rec, err := range records {
			if err != nil {
				return "", fmt.Errorf("delivery: page: %w", err)
			}
			t.record(rec)
		}
	}
	steps := page.Section{ID: "steps", Title: "Steps"}
	for _, plan := range s.Plans {
		for _, step := range plan.Steps {
			if plan.Approved {
				steps.Cards = append(steps.Cards, step.card())
			}
		}
	}
	for _, section := range []page.Section{steps, t.changes, t.course} {
		if len(section.Cards)+len(section.Steps) > 0 {
			p.Sections = append(p.Sections, section)
		}
	}
	return p.HTML()
}

// result is the card of the verdict on the goal, the last one if there are several.
func (o Outcome) result() page.Card {
	c := page.Card{Title: "The goal is not reached", Won: o.State.Status == Completed}
	if c.Won {
		c.Title = "The goal is reached"
	}
	for _, v := range slices.Backward(o.Report.Verdicts) {
		if v.Kind == GateGoal {
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
	c := page.Card{Label: s.ID, Title: text.Shorten(s.Description, 200), Won: s.Status == StepCompleted, Why: s.FailReason, Tags: []string{page.Words(string(s.Status)), string(s.Complexity)}}
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

// telling makes sections from the records of a run.
type telling struct {
	state           *State
	changes, course page.Section
}

// record adds the content of a record, if it is one of this package.
func (t *telling) record(rec runlog.Record) {
	var e Event
	if json.Unmarshal(rec.Data, &e) != nil {
		return // a record of the engine
	}
	switch rec.Kind {
	case EventMessageSent:
		if e.Header != nil {
			t.message(e)
		}
	case EventProjectTested:
		if e.Tests != nil {
			what := fmt.Sprintf("%d tests passed", e.Tests.Ran)
			if !e.Tests.Passed {
				what = "failed"
			}
			t.add(t.work(e.Target), page.Turn{Who: "Project", What: what, Text: e.Tests.Reason, Output: e.Tests.Output})
		}
	case EventWorkJudged:
		if e.Verdict != nil {
			title := t.work(e.Target)
			if e.Verdict.Kind == GatePlan {
				title = "" // its plan stands before it
			}
			t.add(title, e.Verdict.turn(e.Text))
		}
	case EventProjectChanged:
		files, added, removed := counted(e.Text)
		t.changes.Steps = append(t.changes.Steps, page.Step{Title: t.work(e.Target), Turns: []page.Turn{{
			Who: "Difference", What: fmt.Sprintf("+%d −%d", added, removed), Text: strings.Join(files, ", "), Diff: e.Text,
		}}})
	}
}

// message adds a message between members. It leaves out requests and what verdicts
// repeat.
func (t *telling) message(e Event) {
	switch e.Message { //nolint:exhaustive // the others are told by verdicts and steps
	case PlanResponse:
		t.add("Plan", page.Turn{Who: "Planner", What: "plan", Text: planned(e.Payload)})
	case SubPlanResponse:
		t.add("Plan for "+t.work(e.Header.Target), page.Turn{Who: "Planner", What: "sub-plan", Text: planned(e.Payload)})
	case CodeResponse:
		out := payload[CodeOutput](e)
		turn := page.Turn{Who: "Coder", What: "code", Text: out.Summary}
		if out.Blocked || out.NeedsSubPlan {
			turn.What, turn.Text = "blocked", cmp.Or(out.Reason, out.Summary)
		}
		var names []string
		for _, f := range slices.Concat(out.Files, out.Tests) {
			names = append(names, f.Path)
		}
		turn.Text += "\n\n" + bullets(names)
		t.add(t.work(e.Header.Target), turn)
	case TestResponse:
		report := payload[reportAnswer](e)
		turn := page.Turn{Who: "Tester", What: "passed", Text: bullets(slices.Concat(fixes(report.Issues), report.Suggestions))}
		if !report.Passed {
			turn.What = "failed"
		}
		if report.Coverage != nil {
			turn.Text = fmt.Sprintf("Coverage: %.0f percent.\n\n%s", *report.Coverage, turn.Text)
		}
		t.add(t.work(e.Header.Target), turn)
	case FixPlanMessage:
		t.add(t.work(e.Header.Target), page.Turn{Who: "Tester", What: "fix plan", Text: bullets(payload[FixPlan](e).Items)})
	case Correction:
		g := payload[Guidance](e)
		t.add("", page.Turn{Who: "Supervisor", What: strings.ToLower(string(g.Level)), Text: g.Text})
	}
}

// add adds a turn under a title, or under the last title for "".
func (t *telling) add(title string, turn page.Turn) {
	steps := t.course.Steps
	if n := len(steps); n == 0 || title != "" && steps[n-1].Title != title {
		steps = append(steps, page.Step{Title: title})
	}
	last := &steps[len(steps)-1]
	last.Turns = append(last.Turns, turn)
	t.course.Steps = steps
}

// work is the name of a target in words.
func (t *telling) work(id string) string {
	for _, p := range t.state.Plans {
		for _, s := range p.Steps {
			if s.ID == id {
				return id + ": " + text.Shorten(text.OneLine(s.Description), 120)
			}
		}
	}
	if id == "goal" {
		return "The whole"
	}
	return id
}

// turn is the turn of a verdict with the reason why the work is rejected; "": it passes.
func (v Verdict) turn(why string) page.Turn {
	turn := page.Turn{Who: "Supervisor", What: string(v.Kind) + " approved", Score: v.mark()}
	if why != "" {
		turn.What = string(v.Kind) + " rejected"
	}
	if v.Local {
		turn.Who = "Check"
	}
	turn.Text = cmp.Or(strings.TrimSpace(v.Reason), why)
	lines := fixes(v.Findings)
	for _, e := range v.Evidence {
		lines = append(lines, "proof: "+e)
	}
	if v.Recommendation != "" {
		lines = append(lines, "next: "+v.Recommendation)
	}
	turn.Text += "\n\n" + bullets(lines)
	return turn
}

// planned is a planner's answer in words.
func planned(payload any) string {
	answer := payloadOf[planAnswer](payload)
	var lines []string
	for _, s := range answer.Steps {
		line := fmt.Sprintf("step %d, %s: %s", s.Number, s.Complexity, s.Description)
		if len(s.DependsOn) > 0 {
			line += " (after " + join(s.DependsOn) + ")"
		}
		lines = append(lines, line)
	}
	return answer.Analysis + "\n\n" + bullets(lines)
}

func payload[T any](e Event) T { return payloadOf[T](e.Payload) }

// payloadOf converts a value that was decoded without its type. It leaves out what does
// not fit.
func payloadOf[T any](v any) (out T) {
	if data, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(data, &out) // shows what could be read
	}
	return out
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

// counted are the files that a difference names, and how many lines it adds and removes.
func counted(diff string) (files []string, added, removed int) {
	content := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			content = false
			if at := strings.LastIndex(line, " b/"); at >= 0 {
				files = append(files, strings.TrimSpace(line[at+len(" b/"):]))
			}
		case strings.HasPrefix(line, "@@"):
			content = true
		case content && strings.HasPrefix(line, "+"):
			added++
		case content && strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return files, added, removed
}

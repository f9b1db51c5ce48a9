package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team"
)

// most is how many characters of an agent's text are shown.
const most = 140

// lines describes a record; nil: it is not shown.
func lines(rec runlog.Record) []string {
	var e delivery.Event
	if json.Unmarshal(rec.Data, &e) != nil {
		return nil // a record of the engine's
	}
	switch team.Kind(rec.Kind) {
	case delivery.EventMessageSent:
		return message(e)
	case delivery.EventWorkJudged:
		return []string{"    " + judged(e)}
	case delivery.EventProjectTested:
		return []string{"    " + tested(e.Tests)}
	case delivery.EventProjectChanged:
		return []string{"    " + changed(e.Text)}
	}
	if text := tell(team.Kind(rec.Kind), e); text != "" {
		return []string{text}
	}
	return nil
}

// tell describes in a line what happened to steps, and what went wrong.
func tell(kind team.Kind, e delivery.Event) string {
	switch kind {
	case delivery.EventStepStarted:
		if e.Left > 0 {
			return fmt.Sprintf("step %s begins, with %s for it", e.Target, short(e.Left))
		}
		return "step " + e.Target + " begins"
	case delivery.EventStepCompleted:
		return fmt.Sprintf("step %s is completed, %d%% of the plan", e.Target, *e.Percent)
	case delivery.EventStepFailed:
		return fmt.Sprintf("step %s has failed: %s", e.Target, cli.Clip(e.Text, most))
	case delivery.EventStepBlocked:
		return fmt.Sprintf("step %s is blocked: %s", e.Target, cli.Clip(e.Text, most))
	case delivery.EventBudgetExceeded:
		return fmt.Sprintf("the %s of %s is used up", e.Text, e.Target)
	}
	switch kind.Common() { //nolint:exhaustive // the others are told by other kinds
	case team.AgentRetried:
		return fmt.Sprintf("    %s is asked again in %v: %s", e.Who, e.Wait, cli.Clip(e.Text, most))
	case team.WarningRaised:
		return "warning: " + cli.Clip(e.Warning.Message, most)
	}
	return ""
}

// message describes plans, code and fix plans.
func message(e delivery.Event) []string {
	var said struct {
		Summary      string
		NeedsSubPlan bool
		Items        []string
		Steps        []struct {
			Number                  int
			Description, Complexity string
		}
	}
	if data, err := json.Marshal(e.Payload); err != nil || json.Unmarshal(data, &said) != nil {
		return nil // a text alone
	}
	switch e.Message { // verdicts and steps have records of their own
	case "PLAN_RESPONSE", "SUBPLAN_RESPONSE":
		all := []string{fmt.Sprintf("plan of %d steps", len(said.Steps))}
		for _, s := range said.Steps {
			all = append(all, fmt.Sprintf("    %d. %s: %s", s.Number, s.Complexity, cli.Clip(s.Description, most)))
		}
		return all
	case "CODE_RESPONSE":
		if said.NeedsSubPlan {
			return nil // the step says why
		}
		return []string{"    code: " + cli.Clip(said.Summary, most)}
	case "FIX_PLAN":
		all := []string{"    to be fixed:"}
		for i, item := range said.Items {
			all = append(all, fmt.Sprintf("      %d. %s", i+1, cli.Clip(item, most)))
		}
		return all
	}
	return nil
}

// judged describes a verdict.
func judged(e delivery.Event) string {
	v := e.Verdict
	text := fmt.Sprintf("gate %s of %s", v.Kind, v.Target)
	if v.Kind == "goal" {
		text = "gate goal"
	}
	text += map[bool]string{true: " passes", false: " rejects"}[e.Text == ""]
	switch {
	case v.Local:
		text += " without a model"
	case v.Threshold > 0:
		text += fmt.Sprintf(" with %.4g, %.4g wanted", v.Score, v.Threshold)
	default:
		text += fmt.Sprintf(" with %.4g", v.Score)
	}
	if e.Text != "" {
		text += ": " + cli.Clip(e.Text, most)
	}
	return text
}

// tested describes a real run of the tests.
func tested(t *delivery.TestResult) string {
	if t.Passed {
		return fmt.Sprintf("tests: all %d pass", t.Ran)
	}
	return fmt.Sprintf("tests: not passed, %d ran: %s", t.Ran, cli.Clip(t.Reason, most))
}

// changed summarizes a difference in unified format.
func changed(diff string) string {
	files, added, removed, content := 0, 0, 0, false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "diff "):
			files++
			content = false
		case strings.HasPrefix(line, "@@"):
			content = true
		case content && line[0] == '+':
			added++
		case content && line[0] == '-':
			removed++
		}
	}
	return fmt.Sprintf("changed: %d files, %d lines added, %d removed", files, added, removed)
}

// view is what a terminal shows of a run beside its state.
type view struct {
	at     time.Time     // of the last record
	worked time.Duration // pauses between processes do not count
	last   string
}

// picture is the run as a terminal shows it; nil: it has no state now.
func (v *view) picture(ctx context.Context, run *orchestrator.Run, rec runlog.Record) []string {
	if !v.at.IsZero() && rec.Kind != runlog.Resumed {
		v.worked += max(0, rec.At.Sub(v.at))
	}
	v.at = rec.At
	if told := lines(rec); len(told) > 0 {
		v.last = "  " + strings.Join(strings.Fields(strings.Join(told[:min(2, len(told))], " ")), " ")
	}
	var s delivery.State
	if run.State(ctx, &s) != nil {
		return nil
	}
	head := "  " + words(string(s.Status))
	if s.CurrentRole != "" {
		head += ": " + string(s.CurrentRole)
	}
	if s.TimeLimit > 0 && s.EndTime == nil {
		head += ", " + short(s.TimeLimit-v.worked) + " left"
	}
	all := []string{head}
	if v.last != "" {
		all = append(all, v.last)
	}
	if e := s.Escalation; e.Issues > 0 {
		all = append(all, fmt.Sprintf("  rejected in a row: %d, level %s", e.Issues, e.Level))
	}
	for _, p := range s.Plans {
		switch {
		case !p.Approved:
			all = append(all, fmt.Sprintf("  plan %s: %d steps, %s", p.ID, len(p.Steps), p.Status))
		case p.ParentPlanID == "":
			walk(s, p, func(step delivery.Step) {
				all = append(all, fmt.Sprintf("  %s%-11s %s", strings.Repeat("  ", step.Depth), status(step), title(step)))
			})
		}
	}
	return all
}

// walk visits the steps of a plan, and below each one those of its sub-plan.
func walk(s delivery.State, p delivery.Plan, visit func(delivery.Step)) {
	for _, step := range p.Steps {
		visit(step)
		for _, sub := range s.Plans {
			if sub.Approved && len(sub.Steps) > 0 && sub.Steps[0].ParentStepID == step.ID {
				walk(s, sub, visit)
			}
		}
	}
}

// title is a step with its progress: attempts, tests, gate.
func title(s delivery.Step) string {
	var parts []string
	if s.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("try %d of %d", s.Attempts, s.MaxAttempts))
	}
	if t := s.Tests; t != nil && !t.Passed {
		parts = append(parts, "tests fail")
	} else if t != nil {
		parts = append(parts, fmt.Sprintf("%d tests", t.Ran))
	}
	if v := s.Verification; v != nil {
		parts = append(parts, fmt.Sprintf("gate %.4g of %.4g", v.Score, v.Threshold))
	}
	text := s.ID
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text + " " + s.Description
}

// status is that of a step, in words.
func status(s delivery.Step) string {
	if s.Status == delivery.StepBlocked && s.Attempts > 0 {
		return "divided" // its sub-plan is running
	}
	return words(string(s.Status))
}

func words(id string) string { return strings.ReplaceAll(id, "_", " ") }

// short is a duration in words.
func short(d time.Duration) string {
	if d = max(0, d.Round(time.Second)); d < time.Minute {
		return d.String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

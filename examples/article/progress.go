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
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// view is what the program shows of a running run.
type view struct {
	budget providers.NanoUSD
	spent  providers.Usage
}

// lines describes a record; nil: it is not shown.
func (v *view) lines(rec runlog.Record) []string {
	var e research.Event
	if json.Unmarshal(rec.Data, &e) != nil {
		return nil // a record of the engine's
	}
	if e.Usage != nil && e.Who != "" {
		v.spent = v.spent.Add(*e.Usage)
	}
	switch team.Kind(rec.Kind) {
	case research.EventPhaseChanged:
		return []string{"phase " + string(e.Phase)}
	case research.EventPlanOptimized:
		return planned(e)
	case research.EventStepFinished:
		return []string{fmt.Sprintf("step %s is done, %d%% of the plan, %s of %s are spent", e.Step, *e.Percent, cli.USD(v.spent.Cost), cli.USD(v.budget))}
	case research.EventIterationEvaluated:
		if e.Score == nil {
			return []string{fmt.Sprintf("iteration %d was not graded", e.Iteration)}
		}
		return []string{fmt.Sprintf("iteration %d scored %.4g of %.4g: %s", e.Iteration, *e.Score, *e.Threshold, strings.ToLower(string(e.Decision)))}
	case research.EventIterationStarted:
		return []string{"feedback: " + e.Text}
	}
	if e.Warning != nil {
		return []string{"warning: " + e.Warning.Message}
	}
	if text := worker(team.Kind(rec.Kind), e); text != "" {
		return []string{"    " + text}
	}
	return nil
}

// worker describes what a worker, or another agent, does.
func worker(kind team.Kind, e research.Event) string {
	switch kind {
	case research.EventWorkerSkipped:
		return fmt.Sprintf("%s is left out: %s", e.Who, e.Text)
	case research.EventWorkerReplaced:
		return fmt.Sprintf("%s does the part of %s", e.Text, e.Who)
	case team.AgentStarted.Of("research"):
		return fmt.Sprintf("%s works, attempt %d", e.Who, e.Try)
	case team.AgentFinished.Of("research"):
		return e.Who + " is done"
	case team.AgentFailed.Of("research"):
		return fmt.Sprintf("%s failed: %s", e.Who, e.Text)
	case team.AgentRetried.Of("research"):
		return fmt.Sprintf("%s is asked again in %v", e.Who, e.Wait)
	default:
		return ""
	}
}

// planned describes a plan.
func planned(e research.Event) []string {
	all := []string{fmt.Sprintf("%s: about %s and %v", e.Plan.ID, cli.USD(e.Plan.EstCost), e.Plan.EstTime)}
	for _, s := range e.Plan.Steps {
		all = append(all, fmt.Sprintf("  step %s, %s: %s", s.ID, strings.ToLower(string(s.Mode)), strings.Join(s.Workers, ", ")))
	}
	return all
}

// picture is the run as a terminal shows it; nil: it has no state now.
func (v *view) picture(ctx context.Context, run *orchestrator.Run, _ runlog.Record) []string {
	var s research.State
	if run.State(ctx, &s) != nil {
		return nil
	}
	elapsed := "0s"
	if n := len(s.Actions); n > 0 {
		elapsed = s.Actions[n-1].At.Sub(s.StartedAt).Round(100 * time.Millisecond).String()
	}
	all := []string{fmt.Sprintf("  iteration %d of %d: %s, %s of %s are spent, %s", s.Iteration, s.MaxIterations, s.Phase, cli.USD(s.Usage.Cost), cli.USD(v.budget), elapsed)}
	for _, h := range s.History {
		all = append(all, fmt.Sprintf("  %s scored %.4g of %.4g", h.Plan.ID, h.Quality, *s.Input.MinQuality))
	}
	for _, t := range s.Tasks {
		if t.Iteration == s.Iteration {
			all = append(all, fmt.Sprintf("    %-10s %-20s %-10s attempt %d", t.Step, t.Worker, strings.ToLower(string(t.Status)), t.Attempts))
		}
	}
	return all
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

// view is what is told of a run while it is executed.
type view struct {
	budget providers.NanoUSD
	spent  providers.Usage
}

// lines tells what happened; nil is nothing worth a line.
func (v *view) lines(rec blackboard.Record) []string {
	var e research.Event
	if json.Unmarshal(rec.Data, &e) != nil {
		return nil // a record of the engine's
	}
	if e.Usage != nil {
		v.spent = v.spent.Add(*e.Usage)
	}
	switch rec.Kind {
	case "phase":
		return []string{"phase " + string(e.Phase)}
	case "optimized":
		return planned(e)
	case "step_finished":
		return []string{fmt.Sprintf("step %s is done, %d%% of the plan, workers have spent %s of %s", e.Step, *e.Percent, cli.USD(v.spent.Cost), cli.USD(v.budget))}
	case "evaluated":
		return []string{fmt.Sprintf("iteration %d scored %.4g of %.4g: %s", e.Iteration, *e.Score, *e.Threshold, strings.ToLower(string(e.Decision)))}
	case "replan":
		return []string{"feedback: " + e.Text}
	case "warning":
		return []string{"warning: " + e.Warning.Message}
	}
	if text := worker(rec.Kind, e); text != "" {
		return []string{"    " + text}
	}
	return nil
}

// worker tells what a worker does.
func worker(kind string, e research.Event) string {
	switch kind {
	case "worker_started":
		return fmt.Sprintf("%s works, attempt %d", e.Worker, e.Attempt)
	case "worker_finished":
		return e.Worker + " is done"
	case "worker_retry":
		return fmt.Sprintf("%s is asked again in %v: %s", e.Worker, e.Wait, e.Text)
	case "worker_skipped":
		return fmt.Sprintf("%s is left out: %s", e.Worker, e.Text)
	case "worker_fallback":
		return fmt.Sprintf("%s failed, %s takes its place", e.Worker, e.Text)
	default:
		return ""
	}
}

// planned tells a plan.
func planned(e research.Event) []string {
	all := []string{fmt.Sprintf("%s: about %s and %v", e.Plan.ID, cli.USD(e.Plan.EstCost), e.Plan.EstTime)}
	for _, s := range e.Plan.Steps {
		all = append(all, fmt.Sprintf("  step %s, %s: %s", s.ID, strings.ToLower(string(s.Mode)), strings.Join(s.Workers, ", ")))
	}
	return all
}

// picture is the run as a terminal shows it; nil: it has no state now.
func (v *view) picture(ctx context.Context, run *orchestrator.Run, _ blackboard.Record) []string {
	var s research.State
	if run.State(ctx, &s) != nil {
		return nil
	}
	elapsed := "0s"
	if n := len(s.Actions); n > 0 {
		elapsed = s.Actions[n-1].At.Sub(s.StartedAt).Round(100 * time.Millisecond).String()
	}
	spent := providers.Usage{}
	for _, t := range s.Tasks {
		spent = spent.Add(t.Usage)
	}
	all := []string{fmt.Sprintf("  iteration %d of %d: %s, workers have spent %s of %s, %s", s.Iteration, s.MaxIterations, s.Phase, cli.USD(spent.Cost), cli.USD(v.budget), elapsed)}
	for _, h := range s.History {
		all = append(all, fmt.Sprintf("  %s scored %.4g of %.4g", h.Plan.ID, h.Quality, *s.Brief.MinQuality))
	}
	for _, t := range s.Tasks {
		if t.Iteration == s.Iteration {
			all = append(all, fmt.Sprintf("    %-10s %-20s %-10s attempt %d", t.Step, t.Worker, strings.ToLower(string(t.Status)), t.Attempts))
		}
	}
	return all
}

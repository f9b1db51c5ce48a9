package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
)

// lines describes a record; nil: it is not shown.
func lines(rec runlog.Record) []string {
	var e hierarchy.Event
	if err := json.Unmarshal(rec.Data, &e); err != nil || e.Path == "" {
		return nil // a record of the engine's
	}
	if text := tell(rec.Kind, e); text != "" {
		return []string{text}
	}
	return nil
}

// tell describes an event in a line; "": it is not shown.
func tell(kind string, e hierarchy.Event) string {
	who := strings.NewReplacer("dept/", "", "/spec/", ": ").Replace(e.Path)
	switch team.Kind(kind) {
	case hierarchy.EventRouteDecided:
		return "route: " + strings.Join(append([]string{e.Route.Primary}, e.Route.Supporting...), ", ")
	case hierarchy.EventHeadAsked:
		return who + ": the head answers"
	case hierarchy.EventSpecialistsSelected:
		return who + ": asks " + strings.Join(e.Agents, ", ")
	case hierarchy.EventAttemptFinished:
		switch {
		case e.Text != "":
			return who + ": " + e.Text
		case e.Score == nil: // of a head that is not graded
			return ""
		}
		return fmt.Sprintf("%s: attempt %d scored %g: %s", who, *e.Attempt+1, *e.Score, e.Decision)
	case hierarchy.EventSpecialistFinished:
		if e.Result != nil && e.Result.Output == nil {
			return who + ": " + string(e.Status) + ", " + e.Result.ReviewNotes
		}
		return ""
	case hierarchy.EventAttemptStarted:
		switch {
		case *e.Attempt == 0:
			return ""
		case strings.Contains(e.Path, "/spec/"):
			return who + ": tries again: " + cli.Clip(e.Feedback, 100)
		}
		return who + ": the head tries again"
	case hierarchy.EventSynthesisReplaced:
		return who + ": no synthesis, takes the work of " + strings.Join(e.Agents, ", ")
	case hierarchy.EventDepartmentFinished:
		return fmt.Sprintf("%s: done, quality %g", who, *e.Score)
	case hierarchy.EventDepartmentFailed, hierarchy.EventDepartmentSkipped:
		return fmt.Sprintf("%s: %s: %s", who, e.Status, e.Text)
	default:
		return ""
	}
}

// picture has a line for each department and each specialist; nil: there is no state now.
func picture(ctx context.Context, run *orchestrator.Run, _ runlog.Record) []string {
	var state hierarchy.State
	if run.State(ctx, &state) != nil {
		return nil
	}
	all := []string{"  the run is " + string(state.Phase)}
	for _, d := range state.Departments {
		quality := ""
		if d.QualityScore != nil {
			quality = fmt.Sprintf("quality %d", *d.QualityScore)
		}
		all = append(all, fmt.Sprintf("  %-12s %-11s %s", d.Phase, quality, d.ID))
		for _, a := range d.Specialists {
			score := ""
			if a.Score != nil {
				score = fmt.Sprintf(", %.0f", *a.Score)
			}
			all = append(all, fmt.Sprintf("    %-10s %-11s %s", a.Phase, fmt.Sprintf("try %d%s", a.Attempts, score), a.AgentID))
		}
	}
	return all
}

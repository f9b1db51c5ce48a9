package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// watch shows the run until it ends: a line for each event behind the records that
// were there before, or, on a terminal, a picture that is drawn again.
func (s *studio) watch(ctx context.Context, run *orchestrator.Run, from int64) error {
	drawn := 0
	for rec, err := range run.Events(ctx, from) {
		if err != nil {
			return err
		}
		if !s.c.terminal {
			s.line(rec)
			continue
		}
		var state hierarchy.State
		if err := run.State(ctx, &state); err != nil {
			if ctx.Err() == nil && !errors.Is(err, orchestrator.ErrNoState) {
				return err
			}
			if drawn == 0 { // another process works on the run
				s.line(rec)
			}
			continue
		}
		drawn = s.draw(state, drawn)
	}
	return nil
}

// line tells one record.
func (s *studio) line(rec blackboard.Record) {
	var e hierarchy.Event
	if err := json.Unmarshal(rec.Data, &e); err != nil || e.Path == "" {
		return // a record of the engine's
	}
	if text := tell(rec.Kind, e); text != "" {
		s.print("  %s\n", text)
	}
}

// tell says in a line what happened; "" is nothing worth a line.
func tell(kind string, e hierarchy.Event) string {
	who := strings.NewReplacer("dept/", "", "/spec/", ": ").Replace(e.Path)
	switch kind {
	case "routing.decided":
		return "route: " + strings.Join(append([]string{e.Route.Primary}, e.Route.Supporting...), ", ")
	case "department.head_direct":
		return who + ": the head answers"
	case "specialists.selected":
		return who + ": asks " + strings.Join(e.Agents, ", ")
	case "specialist.graded":
		return fmt.Sprintf("%s: attempt %d scored %g: %s", who, *e.Attempt+1, *e.Score, e.Decision)
	case "specialist.finished":
		if e.Result != nil && e.Result.Output == nil {
			return who + ": " + e.Status + ", " + e.Result.ReviewNotes
		}
		return ""
	case "synthesis.retry":
		return who + ": the head tries again"
	case "synthesis.fallback":
		return who + ": no synthesis, takes the work of " + strings.Join(e.Agents, ", ")
	case "department.finished":
		return fmt.Sprintf("%s: done, quality %g", who, *e.Score)
	case "department.failed", "department.skipped":
		return fmt.Sprintf("%s: %s: %s", who, e.Status, e.Message)
	default:
		return ""
	}
}

const width = 79 // of the picture and the report

// draw puts the picture of a state in the place of the last one, which had so many
// lines.
func (s *studio) draw(state hierarchy.State, lines int) int {
	var b strings.Builder
	if lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", lines)
	}
	b.WriteString("\x1b[J")
	picture := picture(state)
	for _, l := range picture {
		if r := []rune(l); len(r) > width {
			l = string(r[:width-1]) + "…"
		}
		b.WriteString(l + "\n")
	}
	_, _ = fmt.Fprint(s.c.out, b.String()) // not by print: it commands the terminal
	return len(picture)
}

// picture has a line for each department and each specialist.
func picture(state hierarchy.State) []string {
	all := []string{"  the run is " + string(state.Phase)}
	for _, d := range state.Departments {
		quality := ""
		if d.QualityScore != nil {
			quality = fmt.Sprintf("quality %d", *d.QualityScore)
		}
		all = append(all, fmt.Sprintf("  %-34s %-13s %s", d.ID, d.Phase, quality))
		for _, a := range d.Specialists {
			score := ""
			if a.Score != nil {
				score = fmt.Sprintf("score %.0f", *a.Score)
			}
			all = append(all, strings.TrimRight(fmt.Sprintf("    %-32s %-13s try %d  %s", a.AgentID, a.Phase, a.Attempts, score), " "))
		}
	}
	return all
}

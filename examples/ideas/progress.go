package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/team"
)

// lines describes a record; nil: it is not shown.
func lines(rec runlog.Record) []string {
	var e discussion.Event
	if json.Unmarshal(rec.Data, &e) != nil {
		return nil // a record of the engine's
	}
	if text := tell(rec.Kind, e); text != "" {
		return []string{text}
	}
	return nil
}

func tell(kind string, e discussion.Event) string {
	switch team.Kind(kind) {
	case discussion.EventRoundStarted:
		return fmt.Sprintf("round %d", e.Round)
	case team.AgentStarted.Of("discussion"):
		return speaker(e) + " speaks"
	case team.AgentFailed.Of("discussion"):
		return speaker(e) + " failed: " + e.Text
	case discussion.EventIdeaAdded:
		return fmt.Sprintf("  %s: %s", e.Idea.ID, e.Idea.Title)
	case discussion.EventIdeaScored:
		return fmt.Sprintf("  %s scored %.1f: %s", e.Idea.ID, e.Idea.Score, e.Idea.Title)
	case discussion.EventSelectionMade:
		return fmt.Sprintf("chosen by %s: %s", e.Text, e.Idea.ID)
	case discussion.EventSelectionOverruled:
		return fmt.Sprintf("the leader's choice was %s", e.Idea.ID)
	case team.WarningRaised.Of("discussion"):
		return e.Warning.Message
	default:
		return ""
	}
}

func speaker(e discussion.Event) string {
	if e.Turn > 1 {
		return fmt.Sprintf("%s, again,", e.Who)
	}
	return e.Who
}

// view is what a terminal shows: the round, who speaks, the ideas with their scores.
type view struct {
	round int
	now   string
	ideas []discussion.Idea
}

// picture is the view after a record; nil: nothing has changed.
func (v *view) picture(_ context.Context, _ *orchestrator.Run, rec runlog.Record) []string {
	var e discussion.Event
	if json.Unmarshal(rec.Data, &e) != nil || !v.add(rec.Kind, e) {
		return nil
	}
	all := []string{fmt.Sprintf("  round %d: %s", v.round, v.now)}
	for _, i := range v.ideas {
		score := "    "
		if i.Validated {
			score = fmt.Sprintf("%4.1f", i.Score)
		}
		all = append(all, fmt.Sprintf("  %s  %-8s %s", score, i.ID, i.Title))
	}
	return all
}

// add adds an event to the view, and tells whether the view changed.
func (v *view) add(kind string, e discussion.Event) bool {
	switch team.Kind(kind) {
	case discussion.EventRoundStarted:
		v.round = e.Round
	case team.AgentStarted.Of("discussion"):
		v.now = speaker(e) + " speaks"
	case team.RunFinished.Of("discussion"):
		v.now = string(e.Status)
	case discussion.EventIdeaAdded:
		v.ideas = append(v.ideas, *e.Idea)
	case discussion.EventIdeaScored:
		i := slices.IndexFunc(v.ideas, func(i discussion.Idea) bool { return i.ID == e.Idea.ID })
		if i < 0 {
			return false
		}
		v.ideas[i] = *e.Idea
	default:
		return false
	}
	return true
}

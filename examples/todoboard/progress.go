package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
)

// lines describes a record; nil: it is not shown.
func lines(rec runlog.Record) []string {
	var e director.Event
	if !strings.HasPrefix(rec.Kind, "director.") || json.Unmarshal(rec.Data, &e) != nil {
		return nil // a record of the engine's
	}
	text := tell(team.Kind(rec.Kind), e)
	if text == "" {
		return nil
	}
	if e.Task != "" {
		text = e.Task + ": " + text
	}
	return []string{cli.Clip(text, 300)}
}

// tell describes an event in a line; "": it is not shown.
func tell(kind team.Kind, e director.Event) string {
	switch kind {
	case director.EventPhaseChanged:
		return "phase " + e.To
	case director.EventTaskAdded:
		if e.Definition == nil {
			return ""
		}
		return "new, " + because(e.Definition.Title, e.Who)
	case director.EventTaskMoved:
		return moved(e)
	case director.EventInsightShared:
		return "insight: " + e.Text
	case director.EventDecisionLogged:
		return "decision: " + e.Text
	case director.EventRunStagnated:
		return fmt.Sprintf("%d failures: the tasks are planned anew", e.Count)
	case director.EventRunReplanned:
		return because("the plan is "+e.On, e.Text)
	case director.EventHumanAsked:
		return "a person is asked: " + e.Text
	case director.EventHumanAnswered:
		return "a person says " + e.Text
	case director.EventBudgetExceeded:
		return "the budget is used up: " + e.Text
	case "director.warning.raised":
		if e.Warning == nil {
			return ""
		}
		return "warning: " + e.Warning.Message
	}
	return attempted(kind, e)
}

// attempted describes what happened to an attempt.
func attempted(kind team.Kind, e director.Event) string {
	switch kind {
	case director.EventTaskDispatched:
		return fmt.Sprintf("%s works, attempt %d", e.Who, e.Attempt)
	case director.EventCheckFinished:
		if e.Alignment == nil {
			return ""
		}
		return fmt.Sprintf("the Guardian sees %g%% on the task: %s", *e.Alignment, e.On)
	case director.EventWorkerNudged:
		return "nudged, " + e.On
	case director.EventSuggestionReviewed:
		return because("suggestion "+e.On+": "+e.Who, e.Text)
	case director.EventEscalationRaised:
		return because(e.On, e.Text)
	case director.EventReviewFinished:
		return because(fmt.Sprintf("review of attempt %d: %s", e.Attempt, e.On), e.Text)
	case director.EventCommitMerged:
		return "merged, " + short(e.Text)
	case director.EventMergeFailed:
		return because("not merged, "+e.On, strings.Join(e.Files, ", "))
	case director.EventAttemptFailed:
		return because(fmt.Sprintf("attempt %d has failed, %s", e.Attempt, e.On), e.Text)
	}
	return ""
}

// moved describes a move that no other line describes.
func moved(e director.Event) string {
	switch state := blackboard.State(e.To); state { //nolint:exhaustive // the others are told by what caused them
	case blackboard.Blocked, blackboard.Complete, blackboard.Abandoned:
		return because(e.To, e.Text)
	}
	return ""
}

func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}

// short is an abbreviated commit.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// order is the order of states in the picture: active ones first.
var order = []blackboard.State{
	blackboard.WaitingHuman, blackboard.Active, blackboard.AwaitingQA, blackboard.FailedQA, blackboard.Ready, blackboard.Blocked, blackboard.Planned, blackboard.Complete, blackboard.Abandoned,
}

// picture is the board as a terminal shows it; nil: there is none now.
func picture(ctx context.Context, run *orchestrator.Run, _ runlog.Record) []string {
	var s director.State
	if run.State(ctx, &s) != nil || s.Board == nil {
		return nil
	}
	tasks := slices.Clone(s.Board.Tasks)
	slices.SortStableFunc(tasks, func(a, b blackboard.Task) int {
		return cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status))
	})
	count := map[blackboard.State]int{}
	for _, t := range tasks {
		count[t.Status]++
	}
	head := []string{string(s.Phase)}
	for _, state := range order {
		if n := count[state]; n > 0 {
			head = append(head, fmt.Sprintf("%d %s", n, state))
		}
	}
	all := []string{"  " + strings.Join(head, ", ")}
	for _, t := range tasks {
		all = append(all, strings.TrimRight(fmt.Sprintf("    %-13s %-12s %s", t.Status, t.ID, standing(t, s.Board)), " "))
	}
	return all
}

// standing describes the state of a task.
func standing(t blackboard.Task, b *blackboard.Board) string {
	attempt := fmt.Sprintf("attempt %d", t.Attempt)
	switch t.Status { //nolint:exhaustive // of the others there is nothing to say
	case blackboard.Active, blackboard.AwaitingQA, blackboard.FailedQA:
		if w := b.Guardian.Watches[t.ID]; w.Verdict != "" && t.Status == blackboard.Active {
			attempt += ", " + w.Verdict
		}
		return attempt
	case blackboard.Blocked:
		if t.Blocked != nil {
			return because(string(t.Blocked.Type), strings.Join(t.Blocked.WaitingOn, ", "))
		}
	case blackboard.WaitingHuman, blackboard.Abandoned:
		return t.Reason
	case blackboard.Complete:
		return attempt + ", merged " + short(t.Merged)
	}
	return ""
}

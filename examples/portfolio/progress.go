package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/team"
)

// lines describes a record; nil: it is not shown.
func lines(rec runlog.Record) []string {
	var e portfolio.Event
	if !strings.HasPrefix(rec.Kind, "portfolio.") || json.Unmarshal(rec.Data, &e) != nil {
		return nil
	}
	switch team.Kind(rec.Kind) {
	case portfolio.EventMoneyAllocated:
		return allocated(e)
	case "portfolio.project.killed":
		return []string{fmt.Sprintf("%s is killed: %s", e.Project, e.Text)}
	case "portfolio.project.promoted":
		return []string{fmt.Sprintf("%s is promoted to %s", e.Project, e.Stage)}
	case portfolio.EventRoundStarted:
		return []string{fmt.Sprintf("%s, %s: round %d begins with %s", e.Project, e.Stage, e.Round, cli.USD(e.Budget))}
	case portfolio.EventRoundFinished:
		return []string{finished(e)}
	case "portfolio.warning.raised":
		return []string{"warning: " + e.Warning.Who + ": " + e.Warning.Message}
	}
	return nil
}

// allocated describes how the next round's money is shared.
func allocated(e portfolio.Event) []string {
	var shares []string
	for _, o := range e.Orders {
		if o.Action != portfolio.Kill {
			shares = append(shares, fmt.Sprintf("%s %s", o.Project, cli.USD(o.Budget)))
		}
	}
	if shares == nil {
		return nil
	}
	return []string{fmt.Sprintf("to share out: %s (%s)", cli.USD(e.Budget), strings.Join(shares, ", "))}
}

func finished(e portfolio.Event) string {
	score := "no score"
	if e.Score != nil {
		score = fmt.Sprintf("score %.2f", *e.Score)
	}
	text := fmt.Sprintf("%s: round %d ends with %s, for %s", e.Project, e.Round, score, cli.USD(e.Usage.Cost))
	if e.Text != "" {
		text += " (" + e.Text + ")"
	}
	return text
}

// view is what a terminal shows: each project with its stage, score, round and money.
type view struct{ state portfolio.State }

// picture is the view after a record; nil: nothing has changed.
func (v *view) picture(ctx context.Context, run *orchestrator.Run, rec runlog.Record) []string {
	if !strings.HasPrefix(rec.Kind, "portfolio.") {
		return nil
	}
	if run.State(ctx, &v.state) != nil {
		return nil // it has just ended: the report follows
	}
	all := make([]string, 0, len(v.state.Projects))
	for _, p := range v.state.Projects {
		score, doing := " -  ", "waits"
		if p.Score != nil {
			score = fmt.Sprintf("%.2f", *p.Score)
		}
		switch {
		case p.Running:
			doing = fmt.Sprintf("round %d, with %s", p.Rounds, cli.USD(p.Budget))
		case p.Stage == portfolio.Killed:
			doing = "is over"
		}
		all = append(all, fmt.Sprintf("  %s %-12s %-14s %s; spent %s", score, p.Stage, p.ID, doing, cli.USD(p.Spent)))
	}
	return all
}

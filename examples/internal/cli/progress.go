package cli

import (
	"context"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

// heading prints the request and the model.
func (s *session[In, Out]) heading() {
	const most = 200 // characters of a request
	s.c.Print("request: %s\n", Clip(s.Request, most))
	if s.Model == nil {
		s.c.Print("agents: REHEARSAL. No model is asked (-model names one, %s -h).\n%s", s.Program, Wrap(s.Rules, ""))
		return
	}
	s.c.Print("agents: %s\n", s.Who())
}

// opening prints where the run begins.
func (s *session[In, Out]) opening(ctx context.Context, run *orchestrator.Run, before Past) error {
	switch {
	case before.Ended:
		s.c.Print("run %s ended earlier: this is its report from %s (-new starts a new run)\n", run.ID(), s.DB)
		return nil
	case before.Records == 0:
		s.c.Print("run %s in %s\n", run.ID(), s.DB)
		return nil
	}
	if before.Held {
		s.c.Print("another %s works on run %s in %s: this one shows it, and resumes it if the other one dies\n", s.Program, run.ID(), s.DB)
		return nil
	}
	s.c.Print("resumed run %s with %d recorded answers from %s\n", run.ID(), before.Answers, s.DB)
	info, err := run.Info(ctx)
	if err != nil {
		return err
	}
	if was := info.Labels[limitsLabel]; was != s.limits() {
		s.c.Print("it keeps the limits that it was started with: %s (-new starts a new run)\n", was)
	}
	return nil
}

// watch shows the run until it ends: on a terminal as a picture, else as lines for the
// records after the existing ones.
func (s *session[In, Out]) watch(ctx context.Context, run *orchestrator.Run, from int64) error {
	if s.c.Size != nil {
		return s.watchLive(ctx, run)
	}
	for rec, err := range run.Events(ctx, 0) {
		if err != nil {
			return err
		}
		for _, line := range s.Lines(rec) {
			if rec.Seq >= from {
				s.c.Print("  %s\n", line)
			}
		}
	}
	return nil
}

// Ending is the end of a report. took is from start to end, pauses included.
func (s *Settings) Ending(c Console, o orchestrator.Outcome, score string, took time.Duration) {
	c.Print("\n%s: %s, %d calls, %s, %v from start to end\n", o.Status, score, o.Spent.Calls, s.Cost(o.Spent), took.Round(100*time.Millisecond))
	if s.Model == nil {
		c.Print("REHEARSAL: no model wrote or judged any of this.\n")
	}
}

package discussion

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) { return team.New(definition(), cfg) }

func definition() team.Definition[Config, Input, Outcome] {
	return team.Definition[Config, Input, Outcome]{
		Name: "discussion", Prompts: ownPrompts, Samples: samples(), Rules: DefaultRules(),
		Defaults: complete, Check: Config.check, Agents: Config.agents,
		Run: func(c *orchestrator.Context, s team.Start, cfg Config, in Input) (Outcome, error) {
			return newRun(cfg).do(c, s, in)
		},
	}
}

// run is one run of the team.
type run struct {
	*team.Run

	cfg      Config
	phases   *team.Machine[Phase, Move]
	round    int    // current; 0: outside of the rounds
	speaking string // ID of the member whose turn it is
	read     transcript
	elided   int             // messages left out of the last context
	known    map[string]bool // fingerprints of the ideas
	largest  need            // most calls, tokens and money that a message took
	shown    Discussion      // copies for Rules.Turns
	out      Outcome
}

func newRun(cfg Config) *run { return &run{cfg: cfg, known: map[string]bool{}} }

// do is the discussion: kickoff, rounds, validation, selection, report.
func (r *run) do(c *orchestrator.Context, s team.Start, in Input) (Outcome, error) {
	in.Topic = text.Newlines(in.Topic)
	d := &r.out.Discussion
	*d = Discussion{
		ID: c.RunID(), Topic: in.Topic, Phase: created, Rounds: r.cfg.Rounds.Max, Threshold: r.cfg.Policy.Threshold,
		Messages: []Message{}, Ideas: []Idea{}, Started: c.Now(),
	}
	r.out.SelectedBy, r.out.Shortlist = ByNone, []Idea{}
	s.Asked, s.Outcome, s.State = in.Topic, &r.out.Outcome, r.state
	r.Run, c = team.Begin(c, s)
	r.phases = team.NewMachine(r.Run, "", phases, &d.Phase)
	r.phases.Changed = func(c *orchestrator.Context, from, to Phase) {
		if from != created { // nothing started it
			r.Emit(c, EventPhaseFinished, &Event{Phase: from})
		}
		r.Emit(c, EventPhaseStarted, &Event{Phase: to})
	}
	err := r.begin(c, in)
	for _, step := range []func(*orchestrator.Context) error{r.kickOff, r.explore, r.validate, r.choose, r.visualize} {
		if err == nil {
			err = step(c)
		}
	}
	r.end(c, err)
	if err != nil {
		err = fmt.Errorf("discussion: %w", err)
	}
	return r.out, err
}

// state is the state that a run exposes.
func (r *run) state() any {
	d := r.out.Discussion
	s := State{Phase: d.Phase, Round: d.Round, Rounds: d.Rounds, Speaking: r.speaking, Messages: len(d.Messages), Ideas: len(d.Ideas)}
	if r.out.FinalIdea != nil {
		s.Best = r.out.FinalIdea.Title
	}
	return s
}

// begin checks the input and adds the host's preamble.
func (r *run) begin(c *orchestrator.Context, in Input) error {
	if err := in.check(r.cfg.Bounds.TopicBytes); err != nil {
		return team.Fail(ErrInput, "%w", err)
	}
	if err := r.phases.Go(c, start); err != nil {
		return err
	}
	for _, text := range in.Preamble {
		r.add(c, Message{From: System, Content: text, Type: "preamble"})
	}
	return nil
}

// check finds every fault of the input. limit is that of the topic's bytes; 0: none.
func (in Input) check(limit int) error {
	var f team.Faults
	f.If(strings.TrimSpace(in.Topic) == "", "the topic is blank")
	f.If(limit > 0 && len(in.Topic) > limit, "the topic has %d bytes, want at most %d", len(in.Topic), limit)
	f.Text("the topic", in.Topic)
	for i, text := range in.Preamble {
		f.If(strings.TrimSpace(text) == "", "Preamble[%d] is blank", i)
	}
	f.Check(in)
	return f.Err()
}

// kickOff lets the leader set the direction. Without it the run fails.
func (r *run) kickOff(c *orchestrator.Context) error {
	_, err := r.say(c, turn{by: r.cfg.who(Lead), kind: "kickoff", prompt: "kickoff.tmpl"})
	switch {
	case err == nil:
		return r.phases.Go(c, replied)
	case team.Ends(err):
		return err
	}
	for _, code := range []error{orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrFlow} {
		if errors.Is(err, code) { // the agent's own, which is not the run's
			return team.Fail(ErrKickoff, "kickoff: %s", err.Error())
		}
	}
	return team.Fail(ErrKickoff, "kickoff: %w", err)
}

// verified returns the status of a run that came to its end: that of its final idea. An idea
// that has not won may be ungraded.
func (r *run) verified() orchestrator.Status {
	if r.out.FinalIdea == nil || slices.Contains(r.out.Unverified, r.out.FinalIdea.ID) {
		return orchestrator.Partial
	}
	return orchestrator.Completed
}

// end moves to the final phase and completes the outcome, from which the host's report is
// made.
func (r *run) end(c *orchestrator.Context, err error) {
	if r.out.Status = r.Ending(c, err); err == nil {
		r.out.Status = r.verified()
	}
	r.phases.Fire(c, endings[r.out.Status])
	r.out.Discussion.Ended = c.Now()
	r.Settle(c, err)
	if report := r.cfg.Rules.Report; report != nil {
		html, err := team.Rule(r.Run, c, "", "Rules.Report", func() (string, error) { return report(team.Clone(r.out)) })
		if err == nil {
			r.out.Report = html
		}
	}
	r.End(c, err, nil)
}

package discussion

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// New returns the flow of a team. All faults of cfg are in the one error.
func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
	texts, err := newPrompts(cfg.Prompts)
	if err := errors.Join(cfg.check(), err); err != nil {
		return orchestrator.Flow[Input, Outcome]{}, fmt.Errorf("discussion: %w", err)
	}
	cfg = cfg.withDefaults()
	return orchestrator.Flow[Input, Outcome]{
		Name:   cfg.Name,
		Agents: cfg.agents(),
		Roles:  team.Roles(cfg, cfg.agents()),
		Do: func(c *orchestrator.Context, in Input) (Outcome, error) {
			return (&run{cfg: cfg, in: in}).do(c, texts)
		},
	}, nil
}

// run is one run of the team.
type run struct {
	*team.Run

	cfg      Config
	in       Input
	phases   *team.Machine[Phase, Move]
	round    int // current; 0: outside of the rounds
	speaking Role
	elided   int // messages left out of the last context
	out      Outcome
}

// do is the discussion: kickoff, rounds, validation, selection, report.
func (r *run) do(c *orchestrator.Context, texts prompt.Set) (Outcome, error) {
	d := &r.out.Discussion
	*d = Discussion{
		ID: c.RunID(), Topic: r.in.Topic, Phase: created, Rounds: r.cfg.Rounds.Max, Threshold: r.cfg.Policy.Threshold,
		Messages: []Message{}, Ideas: []Idea{}, Started: c.Now(),
	}
	r.out.SelectedBy, r.out.Shortlist = ByNone, []Idea{}
	r.Run, c = team.Begin(c, team.Start{
		Team: "discussion", Asked: r.in.Topic, Outcome: &r.out.Outcome, Limits: r.in.Limits.Or(r.cfg.Limits),
		Permit: r.cfg.Rules.Permit, Prompts: texts, State: r.state, Agents: r.cfg.agents(),
	})
	r.phases = team.NewMachine(r.Run, "", phases, &d.Phase)
	r.phases.Changed = func(c *orchestrator.Context, from, to Phase) {
		if from != created { // nothing started it
			r.Emit(c, EventPhaseFinished, &Event{Phase: from})
		}
		r.Emit(c, EventPhaseStarted, &Event{Phase: to})
	}
	for _, step := range []func(*orchestrator.Context) error{r.begin, r.kickOff, r.explore, r.validate, r.choose, r.visualize} {
		if err := step(c); err != nil {
			return r.end(c, fmt.Errorf("discussion: %w", err))
		}
	}
	return r.end(c, nil)
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
func (r *run) begin(c *orchestrator.Context) error {
	err := r.in.check(r.cfg.Bounds.TopicBytes)
	if err == nil {
		err = r.phases.Go(c, start)
	}
	if err != nil {
		return err
	}
	for _, text := range r.in.Preamble {
		r.add(c, Message{From: System, Content: text, Type: typePreamble})
	}
	return nil
}

// check returns an error unless the input is a topic. limit is that of its bytes, 0: none.
func (in Input) check(limit int) error {
	switch {
	case strings.TrimSpace(in.Topic) == "":
		return team.Fail(ErrEmptyTopic, "the topic is blank")
	case limit > 0 && len(in.Topic) > limit:
		return team.Fail(ErrTopicTooLarge, "the topic has %d bytes, want at most %d", len(in.Topic), limit)
	case !utf8.ValidString(in.Topic):
		return team.Fail(ErrBadTopic, "the topic is not UTF-8")
	case strings.ContainsFunc(in.Topic, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError }):
		return team.Fail(ErrBadTopic, "the topic holds control characters")
	}
	for i, text := range in.Preamble {
		if strings.TrimSpace(text) == "" {
			return team.Fail(ErrBadPreamble, "Preamble[%d] is blank", i)
		}
	}
	if err := team.Check(in); err != nil {
		return team.Fail(ErrBadLimits, "%w", err)
	}
	return nil
}

// kickOff lets the leader set the direction. Without it the run fails.
func (r *run) kickOff(c *orchestrator.Context) error {
	_, err := r.say(c, turn{role: TeamLeader, kind: typeKickoff, prompt: "kickoff.tmpl"})
	switch {
	case err == nil:
		return r.phases.Go(c, replied)
	case team.Ends(err):
		return err
	}
	return team.Fail(ErrKickoff, "kickoff: %w", err)
}

// end moves to the final phase and completes the outcome, from which the host's report is
// made.
func (r *run) end(c *orchestrator.Context, err error) (Outcome, error) {
	status := r.Ending(c, err)
	if status == orchestrator.Completed && r.out.FinalIdea == nil {
		status = orchestrator.Partial
	}
	r.phases.Fire(c, endings[status])
	r.out.Status, r.out.Discussion.Ended = status, c.Now()
	r.Settle(c, err)
	r.report(c)
	r.End(c, err, nil)
	return r.out, err
}

package team_test

import (
	"fmt"
	"testing/fstest"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Config is a team of one: a poet.
type Config struct {
	Poet   string      `default:"poet"        json:"poet,omitzero"`
	Rules  Rules       `json:"-"`
	Limits team.Limits `json:"limits,omitzero"`
}

// Rules are the rules of the team that a host may replace.
type Rules struct {
	Retrier orchestrator.Retrier // tries of the poet; nil: two
	Permit  orchestrator.Permit  // asked before "write"; nil: all may happen
}

// Input is what a run is asked.
type Input struct {
	Topic  string      `json:"topic"            required:"true"`
	Limits team.Limits `json:"limits,omitzero"`
}

// Poem is what a run returns.
type Poem struct {
	orchestrator.Outcome

	Phase Phase  `json:"phase"`
	Text  string `json:"text,omitempty"`
}

func (p Poem) MarshalJSON() ([]byte, error)     { return team.Encode(p) }
func (p *Poem) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, p) }

// Phase is where a run is; Move is what moves it.
type (
	Phase string
	Move  string
)

const (
	created Phase = "created"
	writing Phase = "writing"
	done    Phase = "done"
	failed  Phase = "failed"

	write  Move = "write"
	finish Move = "finish"
	fail   Move = "fail"
)

var phases = fsm.MustNew(fsm.Definition[Phase, Move, string]{
	Initial: created, States: []Phase{created, writing, done, failed}, Terminal: []Phase{done, failed},
	Rules: []fsm.Rule[Phase, Move, string]{
		{On: write, From: []Phase{created}, To: writing},
		{On: finish, From: []Phase{writing}, To: done},
		{On: fail, To: failed},
	},
})

// EventPoemWritten is the team's own kind of record.
const EventPoemWritten team.Kind = "poetry.poem.written"

// Event is the data of all records of a run.
type Event struct {
	team.Event

	Lines int `json:"lines,omitempty"` // poem.written: lines of the poem
}

// poetry returns the flow of a Config.
func poetry(cfg Config) (orchestrator.Flow[Input, Poem], error) {
	texts, err := prompt.New(prompt.Source{
		Own:     fstest.MapFS{"write.tmpl": {Data: []byte("Write a haiku.\n{{data \"topic\" .}}")}},
		Samples: map[string][]any{"write.tmpl": {"tea"}},
	})
	if err == nil {
		err = team.Check(cfg)
	}
	if err != nil {
		return orchestrator.Flow[Input, Poem]{}, fmt.Errorf("poetry: %w", err)
	}
	cfg = team.Clone(cfg)
	team.Defaults(&cfg)
	if cfg.Rules.Retrier == nil {
		cfg.Rules.Retrier = orchestrator.Attempts{Max: 2}
	}
	return orchestrator.Flow[Input, Poem]{Name: "poetry", Agents: []string{cfg.Poet}, Roles: team.Roles(cfg, []string{cfg.Poet}), Do: func(c *orchestrator.Context, in Input) (Poem, error) {
		out := &Poem{}
		r, c := team.Begin(c, team.Start{
			Team: "poetry", Asked: in.Topic, Outcome: &out.Outcome, Limits: in.Limits.Or(cfg.Limits), Permit: cfg.Rules.Permit, Prompts: texts,
			State: func() any { return out.Phase },
		})
		m := team.NewMachine(r, "", phases, &out.Phase)
		err := team.Check(in)
		if err == nil {
			err = m.Go(c, write)
		}
		if err == nil {
			poet := team.Seat[string]{Who: "poet", Agent: cfg.Poet, Prompt: "write.tmpl", Request: agent.Request{Task: "haiku"}, Retrier: cfg.Rules.Retrier}
			out.Text, err = poet.Ask(c, r, in.Topic)
		}
		if err != nil {
			m.Fire(c, fail)
			r.End(c, err, nil)
			return *out, fmt.Errorf("poetry: %w", err)
		}
		r.Emit(c, EventPoemWritten, &Event{Lines: 3})
		m.Fire(c, finish)
		r.End(c, nil, nil)
		return *out, nil
	}}, nil
}

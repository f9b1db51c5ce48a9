package portfolio

import (
	"errors"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Config is how projects are worked on and judged. New copies it. It has a JSON form,
// without Work and Hooks: durations are "5m" or seconds, money is USD, unknown fields are
// faults.
type Config[I, O any] struct {
	// Name is the flow's. "" means "portfolio".
	Name string `json:"name,omitzero"`

	// Work is one round of work at a project, such as a director.
	Work orchestrator.Flow[I, O] `json:"-"`

	Policy Policy      `json:"policy,omitzero"`
	Limits Limits      `json:"limits,omitzero"`
	Hooks  Hooks[I, O] `json:"-"`
}

// Limits bound a run.
type Limits struct {
	Rounds        int               `json:"rounds,omitzero"` // of a project; 0: 5
	Cost          providers.NanoUSD `json:"cost,omitzero"`   // of all projects; 0: no limit beside the run's own
	AllowUnpriced bool              `json:"allowUnpriced,omitzero"`
	Time          time.Duration     `json:"time,omitzero"` // of the run; 0: no limit
}

// Hooks are pure functions of the host.
type Hooks[I, O any] struct {
	// Score is how promising a project is after a round, from 0 to 1, by what came of it;
	// nil: it cannot be told. Outcomes of teams have scores on scales of their own. It is
	// not asked about rounds that failed. Required.
	Score func(p Project, out O) *float64

	// Brief is what a round is given: in is the input of the entry, p the project at the
	// stage that it has now, last what came of its round before, nil at the first one. nil:
	// every round gets in.
	Brief func(p Project, in I, last *O) I
}

// MarshalJSON implements json.Marshaler.
func (c Config[I, O]) MarshalJSON() ([]byte, error) { return team.Encode(c) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config[I, O]) UnmarshalJSON(data []byte) error { return team.Decode(data, c) }

// MarshalJSON implements json.Marshaler.
func (p Policy) MarshalJSON() ([]byte, error) { return team.Encode(p) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Policy) UnmarshalJSON(data []byte) error { return team.Decode(data, p) }

// MarshalJSON implements json.Marshaler.
func (l Limits) MarshalJSON() ([]byte, error) { return team.Encode(l) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Limits) UnmarshalJSON(data []byte) error { return team.Decode(data, l) }

// withDefaults returns a copy of c in which what is 0 has its default.
func (c Config[I, O]) withDefaults() Config[I, O] {
	if c.Name == "" {
		c.Name = "portfolio"
	}
	if c.Policy.Promote == 0 {
		c.Policy.Promote = 0.7
	}
	if c.Policy.Kill == 0 {
		c.Policy.Kill = 0.2
	}
	if c.Limits.Rounds == 0 {
		c.Limits.Rounds = 5
	}
	if c.Hooks.Brief == nil {
		c.Hooks.Brief = func(_ Project, in I, _ *O) I { return in }
	}
	return c
}

// validate finds every fault of c.
func (c Config[I, O]) validate() error {
	var f team.Faults
	if c.Work.Do == nil {
		f.Add("Work is missing: want the flow that works on a project")
	}
	if c.Hooks.Score == nil {
		f.Add("Hooks.Score is missing: want a function that grades a round from 0 to 1")
	}
	team.Least(&f, "Policy.StaleAfter", c.Policy.StaleAfter, orchestrator.None)
	team.Least(&f, "Policy.Slots", c.Policy.Slots, orchestrator.None)
	team.Least(&f, "Limits.Rounds", c.Limits.Rounds, 1)
	team.Least(&f, "Limits.Cost", c.Limits.Cost, 0)
	team.Least(&f, "Limits.Time", c.Limits.Time, 0)
	return errors.Join(f.Err(), check(nil, 0, c.Policy))
}

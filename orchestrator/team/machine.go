package team

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Machine is a state machine of a run, or of a part of it. P are its states, M its moves: the
// events of the table, each a typed constant of the team.
type Machine[P, M ~string] struct {
	// Changed is called when the phase has changed, before Fire returns. Teams emit the
	// records of their phases there. Nil: nothing is done.
	Changed func(c *orchestrator.Context, from, to P)

	run   *Run
	moves fsm.Moves[P, M, string]
	shown *P
	*trail
}

// NewMachine returns a machine in its initial state. The state is kept in *shown, a field of
// the Outcome or of the State, which nothing else may change. path names the machine in
// records and for a Permit, such as "dept/design"; "" is the machine of the run itself,
// whose moves are in the records that the Run emits.
func NewMachine[P, M ~string](r *Run, path string, moves fsm.Moves[P, M, string], shown *P) *Machine[P, M] {
	*shown = moves.Initial()
	return MachineAt(r, path, moves, shown)
}

// MachineAt is [NewMachine] for a machine that stays in the state that *shown has.
func MachineAt[P, M ~string](r *Run, path string, moves fsm.Moves[P, M, string], shown *P) *Machine[P, M] {
	m := &Machine[P, M]{run: r, moves: moves, shown: shown, trail: r.trail}
	if path != "" {
		m.trail = &trail{path: path}
	}
	return m
}

// Phase returns the state of the machine.
func (m *Machine[P, M]) Phase() P { return *m.shown }

// Over reports whether the machine is in a terminal state.
func (m *Machine[P, M]) Over() bool { return m.moves.Terminal(*m.shown) }

// Fire moves the machine and returns the new state. A move that the table refuses is a
// mistake in the team's code: Fire panics, and the engine leaves the run stuck.
func (m *Machine[P, M]) Fire(c *orchestrator.Context, move M) P {
	from, to := *m.shown, m.next(move)
	*m.shown = to
	m.trail.moves = append(m.trail.moves, fmt.Sprintf("%s -%s-> %s", from, move, to))
	if from != to && m.Changed != nil {
		m.Changed(c, from, to)
	}
	return to
}

// next returns the state to which a move leads.
func (m *Machine[P, M]) next(move M) P {
	to, err := m.moves.Check(*m.shown, move, "")
	if err != nil {
		what := m.run.Team
		if m.path != "" {
			what += ": " + m.path
		}
		panic(fmt.Errorf("%s: %w", what, err))
	}
	return to
}

// Go asks the Permit about a move, and fires it.
func (m *Machine[P, M]) Go(c *orchestrator.Context, move M) error {
	err := m.Allow(c, move)
	if err == nil {
		m.Fire(c, move)
	}
	return err
}

// Allow asks the Permit of the run about a move, before the work that the move stands for.
// What it refuses is a warning, too, whose Who is the last name of the path, and its error has
// the code "<team>/not-permitted"; an error that Ends the run passes unchanged. It is not
// asked about moves that fail, cancel or only record.
func (m *Machine[P, M]) Allow(c *orchestrator.Context, move M) error {
	path := cmp.Or(m.path, "run")
	asked := orchestrator.Move{Path: path, From: string(*m.shown), Event: string(move), To: string(m.next(move))}
	code, err := m.run.permit(c, asked)
	if code != "" {
		m.run.Warn(c, code, path[strings.LastIndex(path, "/")+1:], "%s of %s: %s", move, path, err.Error())
	}
	return refusal(asked, code, err)
}

// Allow asks the Permit about a move, as [Machine.Allow] does, without a warning: for moves of
// what has no machine, and for those whose warning the team raises itself. Nth is counted.
func (r *Run) Allow(c *orchestrator.Context, asked orchestrator.Move) error {
	code, err := r.permit(c, asked)
	return refusal(asked, code, err)
}

// permit asks the Permit. A code is there if it refuses the move or fails.
func (r *Run) permit(c *orchestrator.Context, asked orchestrator.Move) (agent.Code, error) {
	key := asked.Path + "/" + asked.Event
	r.asked[key]++
	asked.Nth = r.asked[key]
	if r.Permit == nil {
		return "", nil
	}
	if r.Waits != "" {
		c = c.WithoutQuestions(Fail(r.Waits, "%s of %s waits for a person", asked.Event, asked.Path))
	}
	_, err := guard("Rules.Permit", func() (struct{}, error) { return struct{}{}, r.Permit.Allow(c, asked) })
	switch {
	case err == nil, Ends(err), r.IsWaiting(err):
		return "", err
	}
	code := r.Code(notPermitted)
	if wasPanic(err) {
		code = r.Code(failedRule)
	}
	r.failed[code] = true
	return code, err
}

// IsWaiting reports whether err is that of a move which waits for a person whom the run does
// not ask: the move is neither allowed nor refused.
func (r *Run) IsWaiting(err error) bool { return r.Waits != "" && errors.Is(err, r.Waits) }

func refusal(asked orchestrator.Move, code agent.Code, err error) error {
	if code == "" {
		return err
	}
	return Fail(code, "%s of %s is not permitted: %w", asked.Event, asked.Path, err)
}

func wasPanic(err error) bool {
	e, ok := err.(*agent.Error) //nolint:errorlint // what Guard made of a panic of the rule, and not of an agent behind it
	return ok && e.Stack != ""
}

// Emit writes a record about this machine: e with its path, and its moves since the last
// record. e may be nil.
func (m *Machine[P, M]) Emit(c *orchestrator.Context, kind Kind, e Telling) { m.emit(c, kind, e) }

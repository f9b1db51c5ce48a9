package orchestrator

import (
	"fmt"
	"strconv"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// ErrNotPermitted is that somebody said no to a [Move].
const ErrNotPermitted = agent.Code("not-permitted")

// Move is a step of a team that is about to happen.
type Move struct {
	Path  string // name of what moves: "run", or a part of it such as "task/a"
	From  string // state in which it is
	Event string // event that moves it
	To    string // state to which the event leads
	Nth   int    // how often Path has made this move, this time included; 0 counts as 1
}

// Key names m in a run: "permit/", its Path and its Event, and from the second time on its
// number, as in "permit/task/a/pass/2".
func (m Move) Key() string {
	key := "permit/" + m.Path + "/" + m.Event
	if m.Nth > 1 {
		key += "/" + strconv.Itoa(m.Nth)
	}
	return key
}

// Permit is a rule of a team: it lets a move happen, or refuses it.
//
// It is asked once a move, before the work that the move stands for. It may hold the move
// up: it may ask agents and people through c, and sleep. Other branches of the run go on
// meanwhile. The wait counts in the run's time (Limits.Time, Budget.Wall), as all waits do.
//
// Nil lets the move happen. An error refuses it: the part of the run that wanted to move
// fails with it, and keeps what it has. An error for which [IsOver] holds is passed on. A
// Permit is not asked about moves that only record what happened, nor about those that end
// work because it failed, expired, was canceled or found no budget.
//
// Allow is called again when a run is resumed; what it does through c is on record then. Its
// own code is deterministic, as that of a flow.
type Permit interface {
	Allow(c *Context, m Move) error
}

// PermitFunc is a function as a [Permit].
type PermitFunc func(c *Context, m Move) error

// Allow returns f(c, m).
func (f PermitFunc) Allow(c *Context, m Move) error { return f(c, m) }

// AskFirst is the [Permit] that asks somebody before some moves. The Question's Key is
// Move.Key, and its answer is a bool: may it happen?
type AskFirst struct {
	Moves   func(m Move) bool // true: it asks about the move; nil: about every move
	Timeout time.Duration     // time for the answer, after which the move is refused; 0: no limit
	Only    []string          // who may answer, as in Question.Only; nil: anybody
	Person  bool              // true: only a person may answer, as in Question.Person
}

// Allow asks, and waits for the answer. No is [ErrNotPermitted], and an answer that does
// not come in time is [ErrTimeout].
func (a AskFirst) Allow(c *Context, m Move) error {
	if a.Moves != nil && !a.Moves(m) {
		return nil
	}
	allowed, err := Await[bool](c, Question{
		Key: m.Key(), Text: fmt.Sprintf("May %s go from %s to %s?", m.Path, m.From, m.To),
		Timeout: a.Timeout, Only: a.Only, Person: a.Person,
	})
	if err == nil && !allowed {
		err = agent.ErrorOf(fmt.Errorf("%w: the answer to %s was no", ErrNotPermitted, m.Key()))
	}
	return err
}

// Package team has what every team does in the same way: moving its state machines,
// collecting faults of a Config, reading prompts, calling hooks, trying again, picking
// the best, and the copy and the JSON form of a Config.
package team

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// Tracker is one state machine of a run. It belongs to the run's branches: only one of
// them executes at a time.
type Tracker[S ~string] struct {
	what    string
	machine *fsm.Machine[S, string, string]
	shown   *S // the phase in the state that the run exposes
	moves   []string
}

// Track starts a machine at the initial state of its table. what names it in the
// panic of a refused event; shown follows its state.
func Track[S ~string](what string, table *fsm.Table[S, string, string], shown *S) *Tracker[S] {
	t := &Tracker[S]{what: what, machine: table.Start(nil), shown: shown}
	*shown = t.machine.Current()
	return t
}

// Fire moves the machine and returns the new state. An event that the table refuses is
// a mistake of the team: it panics, and the engine leaves the run stuck.
func (t *Tracker[S]) Fire(event string) S {
	entry, err := t.machine.Fire(event, "", "")
	if err != nil {
		panic(fmt.Errorf("%s: %w", t.what, err))
	}
	t.moves = append(t.moves, fmt.Sprintf("%s -%s-> %s", entry.From, entry.Event, entry.To))
	*t.shown = entry.To
	return entry.To
}

// Phase is the state in which the machine is.
func (t *Tracker[S]) Phase() S { return t.machine.Current() }

// Moves returns the transitions since the last call, as "state -event-> state", so
// that each of them is in one event of the run.
func (t *Tracker[S]) Moves() []string {
	moves := t.moves
	t.moves = nil
	return moves
}

// Faults collects what is wrong with a Config. The zero value has found nothing.
type Faults struct{ errs []error }

// Add adds a fault. Its text begins with the field's name.
func (f *Faults) Add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// Within adds a fault if x is not a number from low to high.
func (f *Faults) Within(field string, x, low, high float64) {
	if !(x >= low && x <= high) { // also refuses NaN
		f.Add("%s is %v, want %v to %v", field, x, low, high)
	}
}

// WithinIfSet is Within for a field that may be nil.
func (f *Faults) WithinIfSet(field string, x *float64, low, high float64) {
	if x != nil {
		f.Within(field, *x, low, high)
	}
}

// Least adds a fault if n is less than low.
func Least[N ~int | ~int64](f *Faults, field string, n, low N) {
	if n < low {
		f.Add("%s is %v, want %v or more", field, n, low)
	}
}

// Counts adds a fault for each whole number, duration or amount in a group of a Config
// that is less than low. name is the group's.
func (f *Faults) Counts(name string, group any, low int64) {
	v := reflect.ValueOf(group)
	for i := range v.NumField() {
		n := v.Field(i)
		if n.CanInt() && n.Int() < low {
			want := reflect.New(n.Type()).Elem()
			want.SetInt(low)
			f.Add("%s.%s is %v, want %v or more", name, v.Type().Field(i).Name, n, want)
		}
	}
}

// Err is all faults in one error, or nil.
func (f *Faults) Err() error { return errors.Join(f.errs...) }

// Clone returns a copy of v that shares no pointer, list or map with it. Functions,
// interfaces and unexported fields are the same.
func Clone[T any](v T) T { return clone(reflect.ValueOf(&v).Elem()).Interface().(T) } //nolint:errcheck // it is of v's type

func clone(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if own.Field(i).CanSet() {
				own.Field(i).Set(clone(v.Field(i)))
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		own.Set(clone(v.Elem()).Addr())
	case v.Kind() == reflect.Slice && !v.IsNil():
		own.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			own.Index(i).Set(clone(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		own.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			own.SetMapIndex(key, clone(value))
		}
	}
	return own
}

// Guard calls a hook of the host. Its panic becomes an error with a stack; what names
// the hook in errors.
func Guard[T any](what string, hook func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &agent.Error{Message: fmt.Sprintf("%s panicked: %v", what, p), Codes: []agent.Code{"panic"}, Stack: string(debug.Stack())}
		}
	}()
	if v, err = hook(); err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// Ends tells whether err ends the run: the engine says that it is over, or the flow
// broke a rule. An agent's own error of these names does not.
func Ends(err error) bool { return orchestrator.IsOver(err) || errors.Is(err, orchestrator.ErrFlow) }

// Fail is an error of that code, whose text is format's alone. What args wrap (%w) keeps
// its codes.
func Fail(code agent.Code, format string, args ...any) error {
	err := *agent.ErrorOf(fmt.Errorf(format, args...))
	err.Codes = append([]agent.Code{code}, err.Codes...)
	return &err
}

// Graded asks for a grade, and once more, afresh, if none comes. An error is why the
// work has none; one that Ends is not asked again.
func Graded[T any](ask func() (T, error)) (grade T, err error) {
	for range 2 {
		if grade, err = ask(); err == nil || Ends(err) {
			break
		}
	}
	return grade, err
}

// Attempts says how often something is tried, and the waits in between.
type Attempts struct {
	Most      int                  // tries in all; less than 1 counts as 1
	Base      time.Duration        // before the second try; 0: no wait
	Factor    float64              // of each further wait; less than 1 counts as 1
	Longest   time.Duration        // of a wait; 0: no bound
	Left      func() time.Duration // of the time, asked before each wait, which is no longer: 0: no bound, negative: none. nil: no bound
	Retryable func(err error) bool // nil: Retryable

	// Waits hears of each wait before a further try, counted from 2. nil: nobody does.
	Waits func(try int, wait time.Duration, failed error)
}

// Try calls do, with the number of the try from 1 on, until it succeeds, has no tries
// left, or its error is not worth another one. A wait is at least as long as the vendor
// asks for, up to Longest. It returns the last error and how many tries there were. A
// wait that the end of the run cuts returns that error.
func Try[T any](c *orchestrator.Context, a Attempts, do func(try int) (T, error)) (v T, tries int, err error) {
	worth := a.Retryable
	if worth == nil {
		worth = Retryable
	}
	for try := 1; ; try++ {
		if v, err = do(try); err == nil || Ends(err) || try >= a.Most || !worth(err) {
			return v, try, err
		}
		wait := routing.Backoff(try+1, a.Base, a.Factor, a.Longest)
		if e, ok := errors.AsType[*agent.Error](err); ok && e.RetryAfter > wait {
			wait = e.RetryAfter
			if a.Longest > 0 {
				wait = min(wait, a.Longest)
			}
		}
		if a.Left != nil {
			if left := a.Left(); left != 0 {
				wait = min(wait, max(left, 0))
			}
		}
		if a.Waits != nil {
			a.Waits(try+1, wait, err)
		}
		if cut := c.Sleep(wait); cut != nil {
			return v, try, cut
		}
	}
}

// Retryable tells whether another try may succeed where err came up: not if the agent
// says that it is permanent or that the request is at fault, if it refused, if there is
// no such agent, or if a budget of its own is used up.
func Retryable(err error) bool {
	for _, final := range []error{
		agent.Code("permanent"), agent.Code("invalid"), agent.ErrRefused, orchestrator.ErrNoAgent, orchestrator.ErrBudget, orchestrator.ErrFlow,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// Tie says which of equal scores is the best.
type Tie int

// The ties.
const (
	First Tie = iota
	Last
)

// Best returns the index of the highest score among n, or -1 if there is none. score
// says what the i-th has, nil: none. Scores are equal if they are so to six decimals.
// What is no number does not count.
func Best(n int, tie Tie, score func(i int) *float64) int {
	best, high := -1, math.Inf(-1)
	for i := range n {
		s := score(i)
		if s == nil || math.IsNaN(*s) {
			continue
		}
		if x := grading.Round6(*s); best < 0 || x > high || tie == Last && x == high {
			best, high = i, x
		}
	}
	return best
}

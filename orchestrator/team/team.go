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

// Tracker is one state machine of a run. Only branches of that run may use it: of them, one
// executes at a time.
type Tracker[S ~string] struct {
	what  string
	table *fsm.Table[S, string, string]
	shown *S // its state, a field of what Run.State shows
	moves []string
}

// Track returns a machine in the initial state of its table. what names the machine when
// it panics. The state is kept in *shown, which nothing else may change.
func Track[S ~string](what string, table *fsm.Table[S, string, string], shown *S) *Tracker[S] {
	*shown = table.Start(nil).Current()
	return &Tracker[S]{what: what, table: table, shown: shown}
}

// Fire moves the machine and returns the new state. It panics like [Move].
func (t *Tracker[S]) Fire(event string) S {
	from := *t.shown
	Move(t.what, t.table, t.shown, event)
	t.moves = append(t.moves, fmt.Sprintf("%s -%s-> %s", from, event, *t.shown))
	return *t.shown
}

// Phase returns the state of the machine.
func (t *Tracker[S]) Phase() S { return *t.shown }

// Move moves a state that has no Tracker, such as one of many in a list. An event that the
// table refuses is a mistake in the team's code: Move panics with an error that begins
// with what, and the engine leaves the run stuck.
func Move[S ~string](what string, table *fsm.Table[S, string, string], state *S, event string) {
	to, err := table.Check(*state, event, "")
	if err != nil {
		panic(fmt.Errorf("%s: %w", what, err))
	}
	*state = to
}

// Moves returns the transitions since the last call, each as "state -event-> state". The
// slice is the caller's.
func (t *Tracker[S]) Moves() []string {
	moves := t.moves
	t.moves = nil
	return moves
}

// Faults collects the faults of a Config. The zero value is ready to use and has none.
type Faults struct{ errs []error }

// Add adds a fault. Its text begins with the field's name.
func (f *Faults) Add(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// If adds a fault if wrong is true.
func (f *Faults) If(wrong bool, format string, args ...any) { //nolint:revive // the conditions of a table
	if wrong {
		f.Add(format, args...)
	}
}

// Within adds a fault if x is not a number from low to high.
func (f *Faults) Within(field string, x, low, high float64) {
	if !(x >= low && x <= high) { // NaN is outside of every range
		f.Add("%s is %v, want %v to %v", field, x, low, high)
	}
}

// WithinIfSet is Within for a field that may be nil, which is no fault.
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

// Counts adds a fault for each whole number, duration or amount of money that is less than
// low. group is a struct in a Config, and name is its name there.
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

// Err returns all faults in one error, in the order in which they were added, or nil.
func (f *Faults) Err() error { return errors.Join(f.errs...) }

// Clone returns a copy of v that shares no pointer, slice or map with it. The values of
// interfaces, of functions and of unexported fields are shared.
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

// Guard calls a hook of the host and returns what it returns. A panic becomes an
// agent.Error with the code "panic" and the stack. Errors begin with what, the hook's name.
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

// Ends reports whether err ends the run: the engine says that the run is over, or the flow
// broke a rule. An error that an agent returns never does.
func Ends(err error) bool { return orchestrator.IsOver(err) || orchestrator.IsBroken(err) }

// Fail returns an error with that code. Its text is format with args, without the code. An
// error that args wrap (%w) keeps its own codes.
func Fail(code agent.Code, format string, args ...any) error {
	err := *agent.ErrorOf(fmt.Errorf(format, args...))
	err.Codes = append([]agent.Code{code}, err.Codes...)
	return &err
}

// Graded returns the grade that ask returns. If ask fails, it is called once more, unless
// its error Ends the run. The error is that of the last call.
func Graded[T any](ask func() (T, error)) (grade T, err error) {
	for range 2 {
		if grade, err = ask(); err == nil || Ends(err) {
			break
		}
	}
	return grade, err
}

// Attempts says how often Try tries, and how long it waits in between.
type Attempts struct {
	Most    int           // limit of tries; less than 1 counts as 1
	Base    time.Duration // wait before the second try; 0: none
	Factor  float64       // ratio of each further wait to the one before; less than 1 counts as 1
	Longest time.Duration // limit of a wait; 0: none

	// Left returns the time that is left, which no wait exceeds. 0 means that there is no
	// limit, a negative time that Try does not wait. A nil Left sets no limit.
	Left func() time.Duration

	// Retryable reports whether another try is worth it. Nil means the function Retryable.
	Retryable func(err error) bool

	// Waits is told of each wait before it begins: the number of the next try, from 2 on,
	// and the error of the last one. Nil tells nobody.
	Waits func(try int, wait time.Duration, failed error)
}

// Try calls do with the number of the try, from 1 on. It returns the value and the error of
// the last try, and the number of tries.
//
// Try ends with the first success, an error that Ends the run or is not Retryable, or the
// last of a.Most tries. A wait is at least as long as the error asks for (RetryAfter), up
// to a.Longest. If the run ends during a wait, Try returns that error.
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

// Retryable reports whether another try may succeed after err. It may not if the agent says
// that the error is permanent or the request wrong, or if the agent refused. Nor may it if
// there is no such agent, its own budget is used up, or the flow broke a rule.
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

// Tie says which of several equal scores is the best.
type Tie int

// The ties: the first or the last of them.
const (
	First Tie = iota
	Last
)

// Best returns the index of the highest of n scores, or -1 if there is none. score returns
// the i-th; nil means that it has none. NaN does not count. Scores are compared to six
// decimals.
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

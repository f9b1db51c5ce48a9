package team

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

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

// Text adds a fault if s is no text for people and models: it is not UTF-8, it has a control
// character other than tab and line ends, or nothing in it can be seen. The fault has the
// place. A blank s has none, as a team may take it; \r\n and \r are line ends.
func (f *Faults) Text(field, s string) {
	if err := text.Fault(text.Newlines(s)); err != nil && strings.TrimSpace(s) != "" {
		f.Add("%s: %w", field, err)
	}
}

// Name is Text for names and IDs of a configuration, which have no tab and no line end.
func (f *Faults) Name(field, s string) {
	if err := text.NameFault(s); err != nil {
		f.Add("%s: %w", field, err)
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
		if kind := v.Type().Elem().Kind(); kind <= reflect.Complex128 || kind == reflect.String {
			reflect.Copy(own, v)
			break
		}
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

// guard calls a hook of the host and returns what it returns. A panic becomes an
// agent.Error with the code "panic" and the stack. Errors begin with what, the hook's name.
func guard[T any](what string, hook func() (T, error)) (v T, err error) {
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

package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/convene-go/convene/providers"
)

// Code is an error with a stable name that survives every engine and every
// restart: errors.Is finds it in what a call or a run returned. Declare it as a
// constant: const ErrRejected = agent.Code("acme/rejected").
type Code string //nolint:errname // Err... constants of this type are what reads like an error

// The codes that stand for the errors of package context.
const (
	canceled Code = "canceled"
	timeout  Code = "timeout"
)

func (c Code) Error() string { return string(c) }

// Is reports whether target is the error of package context that c stands for:
// "canceled" is context.Canceled, "timeout" is context.DeadlineExceeded.
func (c Code) Is(target error) bool {
	return c == canceled && target == context.Canceled || c == timeout && target == context.DeadlineExceeded
}

// Error is the one form in which errors cross from agents to flows and from
// flows to hosts, in memory too: other types do not survive, their text and
// codes do.
type Error struct {
	Message   string          `json:"message"`
	Codes     []Code          `json:"codes,omitempty"`     // all that were in the chain, each once
	Transient bool            `json:"transient,omitempty"` // worth a retry
	Usage     providers.Usage `json:"usage,omitzero"`      // spent on the failure
	Stack     string          `json:"stack,omitempty"`     // of a panic

	// RetryAfter is how long to wait before a retry of a transient error; 0: not
	// known.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is one of e.Codes. A providers.Kind, context.Canceled
// and context.DeadlineExceeded are found too.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch x := target.(type) {
	case Code:
		return slices.Contains(e.Codes, x)
	case providers.Kind:
		return slices.Contains(e.Codes, Code(x))
	}
	return slices.ContainsFunc(e.Codes, func(c Code) bool { return c.Is(target) })
}

// Transient marks err as worth a retry, not before after.
func Transient(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &transient{err, after}
}

type transient struct {
	error
	after time.Duration
}

func (t *transient) Unwrap() error { return t.error }

// ErrorOf returns err in the form in which it crosses a boundary: nil for nil, an
// *Error as it is, and for any other error its text, the codes of its whole
// chain, and whether it is transient. A providers.Kind, or that of a
// *providers.Error, is a code. A nil pointer that is used as an error, or an error
// whose methods panic, is an error that says so.
func ErrorOf(err error) (out *Error) {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok && e != nil { //nolint:errorlint // an *Error inside another error has more text around it
		return e
	}
	out = &Error{}
	defer func() {
		if v := recover(); v != nil && out.Message == "" {
			out.Message = panicked(err, v)
		}
	}()
	out.Message = err.Error()
	out.Usage = usageOf(err)
	out.collect(err)
	return out
}

// panicked says why the method Error of err panicked with v.
func panicked(err error, v any) string {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if p := reflect.ValueOf(cause); p.Kind() == reflect.Pointer && p.IsNil() {
			return fmt.Sprintf("the agent returned a nil %T as its error; return nil instead", cause)
		}
	}
	return fmt.Sprintf("the method Error of a %T panicked: %v", err, v)
}

// collect adds what the chain of err says to e, but for usage. The outermost error
// that says it is transient says how long to wait.
func (e *Error) collect(err error) {
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case Code:
		e.add(x)
	case *Error:
		if x == nil {
			return
		}
		for _, c := range x.Codes {
			e.add(c)
		}
		if x.Transient {
			e.again(x.RetryAfter)
		}
		if e.Stack == "" {
			e.Stack = x.Stack
		}
	case *transient:
		e.again(x.after)
	case *providers.Error:
		e.kind(x.Kind, x.RetryAfter)
	case providers.Kind:
		e.kind(x, 0)
	}
	if err == context.Canceled { //nolint:errorlint // the same
		e.add(canceled)
	}
	if err == context.DeadlineExceeded { //nolint:errorlint // the same
		e.add(timeout)
	}
	for _, cause := range causes(err) {
		e.collect(cause)
	}
}

// usageOf is what the failures in the chain of err were charged. Of one that wraps
// another the outer counts: it includes what it wraps.
func usageOf(err error) providers.Usage {
	var u providers.Usage
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case *Error:
		if x != nil {
			u = x.Usage
		}
	case *providers.Error:
		u = x.Usage
	}
	if u != (providers.Usage{}) {
		return u
	}
	for _, cause := range causes(err) {
		u = u.Add(usageOf(cause))
	}
	return u
}

// causes are the errors that err wraps.
func causes(err error) []error {
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case interface{ Unwrap() error }:
		return []error{x.Unwrap()}
	case interface{ Unwrap() []error }:
		return x.Unwrap()
	}
	return nil
}

// kind adds the kind of a model's failure.
func (e *Error) kind(k providers.Kind, after time.Duration) {
	e.add(Code(k))
	if k == providers.Transient || k == providers.RateLimited {
		e.again(after)
	}
}

// again marks e as worth a retry.
func (e *Error) again(after time.Duration) {
	if !e.Transient {
		e.Transient, e.RetryAfter = true, after
	}
}

func (e *Error) add(c Code) {
	if !slices.Contains(e.Codes, c) {
		e.Codes = append(e.Codes, c)
	}
}

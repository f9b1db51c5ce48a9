package agent

import (
	"context"
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
	Transient bool            `json:"transient,omitempty"` // worth another try
	Usage     providers.Usage `json:"usage,omitzero"`      // spent on the failure
	Stack     string          `json:"stack,omitempty"`     // of a panic

	// RetryAfter is how long to wait before another try of a transient error; 0
	// is not said.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is one of e.Codes. A providers.Kind, context.Canceled
// and context.DeadlineExceeded are found too.
func (e *Error) Is(target error) bool {
	switch x := target.(type) {
	case Code:
		return slices.Contains(e.Codes, x)
	case providers.Kind:
		return slices.Contains(e.Codes, Code(x))
	}
	return slices.ContainsFunc(e.Codes, func(c Code) bool { return c.Is(target) })
}

// Transient marks err as worth another try, not before after.
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
// *providers.Error, is a code.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // an *Error inside another error has more text around it
		return e
	}
	out := &Error{Message: err.Error(), Usage: usageOf(err)}
	out.collect(err)
	return out
}

// collect adds what the chain of err says to e, but for usage. The outermost word
// on transience wins.
func (e *Error) collect(err error) {
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case Code:
		e.add(x)
	case *Error:
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
	switch x := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			e.collect(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			e.collect(inner)
		}
	}
}

// kind adds the kind of a model's failure.
func (e *Error) kind(k providers.Kind, after time.Duration) {
	e.add(Code(k))
	if k == providers.Transient || k == providers.RateLimited {
		e.again(after)
	}
}

// usageOf is what the failures in the chain of err were charged. Of one that wraps
// another the outer counts: who wraps an error with usage has counted it.
func usageOf(err error) providers.Usage {
	var u providers.Usage
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case *Error:
		u = x.Usage
	case *providers.Error:
		u = x.Usage
	}
	if u != (providers.Usage{}) {
		return u
	}
	switch x := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			return usageOf(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			u = u.Add(usageOf(inner))
		}
	}
	return u
}

// again marks e as worth another try.
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

package agent

import (
	"cmp"
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
	Message   string          `json:"message"`             // text of the error
	Codes     []Code          `json:"codes,omitempty"`     // all codes in the chain, each once
	Transient bool            `json:"transient,omitempty"` // true: worth a retry
	Usage     providers.Usage `json:"usage,omitzero"`      // usage of the call that failed
	Stack     string          `json:"stack,omitempty"`     // stack of a panic; "": none

	RetryAfter time.Duration `json:"retryAfter,omitempty"` // wait before a retry; 0: not known
}

func (e *Error) Error() string { return e.Message }

// Is reports whether target is one of e.Codes. A providers.Kind, context.Canceled
// and context.DeadlineExceeded are found too.
func (e *Error) Is(target error) bool {
	return e != nil && slices.ContainsFunc(e.Codes, func(c Code) bool {
		return target == c || target == providers.Kind(c) || c.Is(target)
	})
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
// *Error as it is, and for any other error its text and what its whole chain says. A
// providers.Kind, or that of a *providers.Error, is a code. A nil pointer that is used
// as an error, or an error whose methods panic, is an error that says so.
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
	out.Usage = out.collect(err)
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

// collect adds what err and the errors that it wraps say, and returns what they used.
// Of the usage and the wait of one that wraps another the outer counts: it includes
// what it wraps.
func (e *Error) collect(err error) (used providers.Usage) {
	var said Error           // says only what err itself does
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case Code:
		said.Codes = []Code{x}
	case *Error:
		if x != nil {
			said = *x
		}
	case *transient:
		said.Transient, said.RetryAfter = true, x.after
	case *providers.Error:
		said = Error{Codes: []Code{Code(x.Kind)}, Transient: passes(x.Kind), RetryAfter: x.RetryAfter, Usage: x.Usage}
	case providers.Kind:
		said = Error{Codes: []Code{Code(x)}, Transient: passes(x)}
	default:
		said.Codes = slices.DeleteFunc([]Code{canceled, timeout}, func(c Code) bool { return !c.Is(err) })
	}
	for _, c := range said.Codes {
		if !slices.Contains(e.Codes, c) {
			e.Codes = append(e.Codes, c)
		}
	}
	if said.Transient && !e.Transient {
		e.Transient, e.RetryAfter = true, said.RetryAfter
	}
	e.Stack = cmp.Or(e.Stack, said.Stack)
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case interface{ Unwrap() error }:
		used = e.collect(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, cause := range x.Unwrap() {
			used = used.Add(e.collect(cause))
		}
	}
	return cmp.Or(said.Usage, used)
}

// passes reports whether a model's failure of that kind may be over soon.
func passes(k providers.Kind) bool { return k == providers.Transient || k == providers.RateLimited }

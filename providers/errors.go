package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is a failed model call. Its text contains no key and no prompt. errors.Is finds
// its Kind and Reason: errors.Is(err, providers.RateLimited).
type Error struct {
	Kind       Kind          // meaning of the failure for the caller, never ""
	Reason     Reason        // a more precise cause than Kind; "": unknown
	Model      string        // provider:name
	Status     int           // HTTP; 0: none
	Message    string        // the vendor's message, redacted and cut
	RetryAfter time.Duration // 0: not said
	TooLong    bool          // the request does not fit this model: another may accept it
	Usage      Usage         // charged although it failed
	Err        error         // the cause; it is not printed, because it may contain a key
}

// Error names the model, the kind and the vendor's message.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Model != "" {
		b.WriteString(e.Model)
		b.WriteString(": ")
	}
	b.WriteString(string(e.Kind))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": ")
		b.WriteString(e.Message)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Kind or Reason.
func (e *Error) Is(target error) bool {
	switch target := target.(type) {
	case Kind:
		return target == e.Kind
	case Reason:
		return target == e.Reason
	}
	return false
}

// Kind says what a failure means for the caller. It is an error, for errors.Is.
type Kind string //nolint:errname // the kinds read like words, not like errors

// The kinds of failures.
//
//nolint:errname // the same
const (
	RateLimited Kind = "rate-limited" // wait, or try the next model
	Transient   Kind = "transient"    // try again
	Permanent   Kind = "permanent"    // this model will not answer
	Invalid     Kind = "invalid"      // this request will not be answered
	Canceled    Kind = "canceled"     // the caller gave up
)

// Error returns the kind's name.
func (k Kind) Error() string { return string(k) }

// Reason tells failures of one Kind apart. It is an error, for errors.Is.
type Reason string //nolint:errname // as Kind

// The reasons that vendors have.
//
//nolint:errname // the same
const (
	Overloaded   Reason = "overloaded"   // the vendor has more calls than it can answer (Transient)
	Unavailable  Reason = "unavailable"  // the vendor's fault, or the network's (Transient)
	Quota        Reason = "quota"        // the account's money or allowance is used up (Permanent)
	Unauthorized Reason = "unauthorized" // the key is wrong or may not do this (Permanent)
	NotFound     Reason = "not-found"    // there is no such model (Permanent)
	Refused      Reason = "refused"      // a filter does not let the request through (Invalid)
)

// reasons are all of them.
var reasons = []Reason{Overloaded, Unavailable, Quota, Unauthorized, NotFound, Refused}

// Error returns the reason's name.
func (r Reason) Error() string { return string(r) }

// kindOf returns the kind of the outermost [Error] or Kind in err. Without one it
// is Canceled for the errors of package context, else Permanent.
func kindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Canceled
	}
	return Permanent
}

// usageOf returns what the failed call err was charged.
func usageOf(err error) Usage {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Usage
	}
	return Usage{}
}

// retryAfter returns how long the vendor asked to wait; 0: it did not say.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// addUsage returns err with u added to its usage.
func addUsage(err error, u Usage) error {
	if u == (Usage{}) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return withUsage(err, u.Add(usageOf(err)))
	}
	return &Error{Kind: kindOf(err), Message: err.Error(), Usage: u, Err: err}
}

// withUsage returns a copy of the *Error in err with u as its usage. It wraps err.
func withUsage(err error, u Usage) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Usage, c.Err = u, err
	return &c
}

// canceled says that ctx ended a call that had used spent.
func canceled(ctx context.Context, spent Usage) *Error {
	return &Error{Kind: Canceled, Message: ctx.Err().Error(), Usage: spent, Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}

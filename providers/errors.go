package providers

import (
	"fmt"
	"strings"
	"time"
)

// Error is a failed model call. Its text holds no key and no prompt.
type Error struct {
	Kind       Kind
	Model      string        // provider:name
	Status     int           // HTTP; 0: none
	Message    string        // the vendor's words, redacted and cut
	RetryAfter time.Duration // 0: not said
	TooLong    bool          // the request does not fit this model: another may take it
	Usage      Usage         // charged although it failed
	Err        error         // the cause; it is not printed, for it may hold a key
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

// Kind says what a failure means for the caller.
type Kind string

// The kinds of failures.
const (
	RateLimited Kind = "rate-limited" // wait, or try the next model
	Transient   Kind = "transient"    // try again
	Permanent   Kind = "permanent"    // this model will not answer
	Invalid     Kind = "invalid"      // this request will not be answered
	Canceled    Kind = "canceled"     // the caller gave up
)

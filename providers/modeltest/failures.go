package modeltest

import (
	"strings"
	"testing"
	"time"

	"github.com/convene-go/convene/providers"
)

var failureChecks = []check{
	{"RateLimited", failureRateLimited},
	{"RateLimitedUntilUnknown", failureRateLimitedUntilUnknown},
	{"Quota", fails(Quota, providers.Permanent)},
	{"Unauthorized", fails(Unauthorized, providers.Permanent)},
	{"TooLong", failureTooLong},
	{"BadRequest", fails(BadRequest, providers.Invalid)},
	{"Overloaded", fails(Overloaded, providers.Transient)},
	{"Broken", fails(Broken, providers.Transient)},
	{"Cut", fails(Cut, providers.Transient)},
	{"Empty", fails(Empty, providers.Transient)},
	{"WhileStreaming", failureWhileStreaming},
	{"EmptyIsPaid", failureEmptyIsPaid},
	{"CutIsPaid", isPaid(Cut)},
	{"GarbledIsPaid", isPaid(Garbled)},
	{"PageIsPermanent", failurePage},
}

// fails checks that a situation is an error of the kind, reported after one
// attempt.
func fails(s Situation, kind providers.Kind) func(testing.TB, Open) {
	return func(t testing.TB, open Open) {
		e := failure(t, open(t, play(s)), question(), kind)
		if e.RetryAfter != 0 {
			t.Errorf("Error.RetryAfter is %v, want 0: the vendor did not say", e.RetryAfter)
		}
		if e.TooLong {
			t.Errorf("Error.TooLong is set, want it only for requests that do not fit")
		}
	}
}

// isPaid checks that an answer which came and cannot be read is counted, with the usage
// that the vendor has reported or an estimate, also while it is streamed.
func isPaid(s Situation) func(testing.TB, Open) {
	return func(t testing.TB, open Open) {
		for _, req := range bothWays() {
			e := refused(t, open(t, play(s)), req, providers.Transient)
			if u := e.Usage; u.Negative() || u.Input == 0 && u.Cost == 0 && u.Unpriced == 0 {
				t.Errorf("Error.Usage is %+v, want tokens, a cost or Unpriced: the answer was paid for", u)
			}
		}
	}
}

// bothWays is a question with and without OnText.
func bothWays() []providers.Request {
	watched, _ := streamed()
	return []providers.Request{question(), watched}
}

func failureEmptyIsPaid(t testing.TB, open Open) {
	for _, req := range bothWays() {
		p := play(Empty)
		wantUsage(t, refused(t, open(t, p), req, providers.Transient).Usage, p.Usage)
	}
}

// failurePage has a page in place of an answer: it would come again, and costs nothing.
func failurePage(t testing.TB, open Open) {
	for _, req := range bothWays() {
		e := refused(t, open(t, play(Page)), req, providers.Permanent)
		if !strings.Contains(e.Error(), "text/html") {
			t.Errorf("the error does not say that it is text/html: %v", e)
		}
		if e.Usage != (providers.Usage{}) {
			t.Errorf("Error.Usage is %+v, want none: nobody was paid", e.Usage)
		}
	}
}

func failure(t testing.TB, s Subject, req providers.Request, kind providers.Kind) *providers.Error {
	t.Helper()
	e := refused(t, s, req, kind)
	if s.Sent != nil {
		wantSent(t, s, 1)
	}
	return e
}

func failureRateLimited(t testing.TB, open Open) {
	p := play(RateLimited)
	p.RetryAfter = 7 * time.Second
	e := failure(t, open(t, p), question(), providers.RateLimited)
	// a model that reads a date as a time may be off by the second
	if e.RetryAfter < p.RetryAfter-time.Second || e.RetryAfter > p.RetryAfter+time.Second {
		t.Errorf("Error.RetryAfter is %v, want %v", e.RetryAfter, p.RetryAfter)
	}
}

func failureRateLimitedUntilUnknown(t testing.TB, open Open) {
	fails(RateLimited, providers.RateLimited)(t, open)
}

func failureTooLong(t testing.TB, open Open) {
	if e := failure(t, open(t, play(TooLong)), question(), providers.Invalid); !e.TooLong {
		t.Errorf("Error.TooLong is not set")
	}
}

func failureWhileStreaming(t testing.TB, open Open) {
	req, said := streamed()
	_ = failure(t, open(t, play(Overloaded)), req, providers.Transient)
	if said.Len() > 0 {
		t.Errorf("OnText got %q, want nothing", said.String())
	}
}

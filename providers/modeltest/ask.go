package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/providers"
)

const (
	instructions = "You are the subject of a suite that checks models."
	prompt       = "What is the answer to everything that the suite asks for?"
)

// question is the request of most checks.
func question() providers.Request {
	return providers.Request{Messages: []providers.Message{
		{Role: providers.System, Text: instructions},
		{Role: providers.User, Text: prompt},
	}}
}

// echo is a question with an answer of its own, see Echo.
func echo(n int) (req providers.Request, want string) {
	req, want = question(), fmt.Sprintf("echo-%d", 1000+n)
	req.Messages[1].Text = "Repeat the word " + want + " and nothing else."
	return req, want
}

// withTools is a question with tools that may be called.
func withTools() providers.Request {
	req := question()
	req.Tools = []providers.Tool{
		{
			Name: "weather", Description: "Tells the weather of the coming days.",
			Input: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place","days"]}`),
		},
		{Name: "clock", Description: "Tells the time of day."},
	}
	return req
}

// withResults continues a request with the model's response and a result for every tool
// call.
func withResults(req providers.Request, resp providers.Response) providers.Request {
	req.Messages = append(req.Messages, providers.Message{Role: providers.Assistant, Text: resp.Text, ToolCalls: resp.ToolCalls})
	for i, c := range resp.ToolCalls {
		req.Messages = append(req.Messages, providers.Message{Role: providers.ToolRole, ToolID: c.ID, Text: fmt.Sprintf("%s-%d", resultWord, i)})
	}
	return req
}

// result is what a model returned.
type result struct {
	resp providers.Response
	err  error
}

// ask calls s, and fails t if the call does not return, or panics.
func ask(ctx context.Context, t testing.TB, s Subject, req providers.Request) result {
	t.Helper()
	done := make(chan result, 1)
	var call sync.WaitGroup
	call.Go(func() { done <- generate(ctx, s.Model, req) })
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case r := <-done:
		call.Wait()
		return r
	case <-patient.C: // the call keeps running: a model that hangs must not hang the suite
		t.Fatalf("Generate does not return: the context's error is %v", ctx.Err())
		return result{}
	}
}

func generate(ctx context.Context, m providers.Model, req providers.Request) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic in Generate: %v", p)
		}
	}()
	resp, err := m.Generate(ctx, req)
	return result{resp, err}
}

// answered is ask for a request that must be answered.
func answered(t testing.TB, s Subject, req providers.Request) providers.Response {
	t.Helper()
	r := ask(t.Context(), t, s, req)
	if r.err != nil {
		t.Fatalf("Generate = %v, want an answer", r.err)
	}
	return r.resp
}

// refused is ask for a request that must fail. It requires an error of the kind, without
// secrets and prompts.
func refused(t testing.TB, s Subject, req providers.Request, kind providers.Kind) *providers.Error {
	t.Helper()
	return wantFailure(t, s, ask(t.Context(), t, s, req), kind)
}

func wantFailure(t testing.TB, s Subject, r result, kind providers.Kind) *providers.Error {
	t.Helper()
	if r.err == nil {
		t.Fatalf("Generate = %q and no error, want an error of kind %s", r.resp.Text, kind)
	}
	var e *providers.Error
	if !errors.As(r.err, &e) {
		t.Fatalf("Generate = %v, want a *providers.Error", r.err)
	}
	if e.Kind != kind {
		t.Errorf("Generate = %v, want an error of kind %s", r.err, kind)
	}
	wantDiscreet(t, s, r.err, e)
	return e
}

// wantDiscreet requires that what is printed of an error has neither a secret nor the
// prompt. The causes inside may quote the prompt, but have no secret either.
func wantDiscreet(t testing.TB, s Subject, err error, e *providers.Error) {
	t.Helper()
	if strings.Contains(e.Error(), prompt) {
		t.Errorf("the error's text holds the prompt: %q", e.Error())
	}
	printed := []string{fmt.Sprintf("%v %+v %#v", *e, *e, *e)} // logs print errors in these ways
	for _, c := range causes(err) {
		printed = append(printed, c.Error(), fmt.Sprintf("%v %+v %#v", c, c, c))
	}
	for _, secret := range s.Secrets {
		for _, text := range printed {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("a secret is in the error: %q", strings.ReplaceAll(text, secret, "(it is here)"))
				return
			}
		}
	}
}

// causes returns err and all that it wraps.
func causes(err error) []error {
	if err == nil {
		return nil
	}
	out := []error{err}
	switch x := err.(type) { //nolint:errorlint // each link of the chain is looked at by itself
	case interface{ Unwrap() error }:
		out = append(out, causes(x.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			out = append(out, causes(inner)...)
		}
	}
	return out
}

// sent returns what has reached the stub, and skips t if that is unknown.
func sent(t testing.TB, s Subject) []string {
	t.Helper()
	if s.Sent == nil {
		t.Skipf("Subject.Sent is nil: what reaches the stub is not known")
	}
	return s.Sent()
}

// wantSent requires that the n-th request to the stub contains all parts.
func wantSent(t testing.TB, s Subject, n int, parts ...string) {
	t.Helper()
	bodies := sent(t, s)
	if len(bodies) != n {
		t.Fatalf("%d requests reached the stub, want %d", len(bodies), n)
	}
	for _, part := range parts {
		if !strings.Contains(bodies[n-1], part) {
			t.Errorf("%q was not sent: %.2000s", part, bodies[n-1])
		}
	}
}

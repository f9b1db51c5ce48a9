package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// name is the Model of answers and errors without their own.
const name = "fake:model"

// Answer is one scripted answer. The zero Answer is an empty text.
type Answer struct {
	Text      string               // words of the answer
	ToolCalls []providers.ToolCall // calls that the model asks for; nil: none
	Stop      providers.Stop       // "": StopTools with ToolCalls, else StopEnd
	Usage     providers.Usage      // Calls 0: 1
	Model     string               // provider:name; "": fake:model

	// Chunks is what Request.OnText gets, and Text if that is empty.
	// Nil: Text, word by word.
	Chunks []string

	// Latency passes before the answer, the error or the first chunk, in a test under
	// testing/synctest by the clock of the bubble. A repeated call gets its answer when
	// the first one would have.
	Latency time.Duration

	// Hang waits until ctx is done, instead of answering.
	Hang bool

	// Err is returned instead of an answer. An *providers.Error is returned as a
	// copy; another error as the cause of a Permanent one.
	Err error

	// From makes the answer from the request, instead of all other fields; its own From
	// is ignored. An error fails the test as an unexpected call does. It must not use the
	// Model, nor keep or change the request.
	From func(providers.Request) (Answer, error)
}

// Text answers text.
func Text(text string) Answer { return Answer{Text: text} }

// JSON answers v as JSON. It panics if v cannot be marshaled.
func JSON(v any) Answer {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fake: marshal answer: %v", err))
	}
	return Answer{Text: string(data)}
}

// Call asks for one call of a tool. It panics if input cannot be marshaled. For
// several calls in one answer fill in an [Answer].
func Call(id, tool string, input any) Answer {
	data, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("fake: marshal input of tool %s: %v", tool, err))
	}
	return Answer{ToolCalls: []providers.ToolCall{{ID: id, Name: tool, Input: data}}}
}

// Fail fails with an error of the kind. A retryAfter of 0 means none.
func Fail(kind providers.Kind, retryAfter time.Duration) Answer {
	e := &providers.Error{Kind: kind, Model: name, Message: "scripted failure", RetryAfter: retryAfter}
	if kind == providers.RateLimited {
		e.Status = 429
	}
	return Answer{Err: e}
}

// Hang never answers: it returns an error of kind Canceled when ctx is done.
func Hang() Answer { return Answer{Hang: true} }

// give plays a for a call that was first made at start.
func (a Answer) give(ctx context.Context, req providers.Request, start time.Time) (providers.Response, error) {
	if err := a.wait(ctx, start); err != nil {
		return providers.Response{}, err
	}
	if a.Err != nil {
		return providers.Response{}, a.failure()
	}
	if err := a.stream(ctx, req.OnText); err != nil {
		return providers.Response{}, err
	}
	return a.response(), nil
}

// wait waits for the rest of Latency, or for ever if a hangs.
func (a Answer) wait(ctx context.Context, start time.Time) error {
	left := a.Latency - time.Since(start)
	var passed <-chan time.Time // nil: never
	switch {
	case a.Hang:
	case left <= 0:
		return nil
	default:
		timer := time.NewTimer(left)
		defer timer.Stop()
		passed = timer.C
	}
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
}

func (a Answer) failure() error {
	var e *providers.Error
	if !errors.As(a.Err, &e) {
		return &providers.Error{Kind: providers.Permanent, Model: name, Message: a.Err.Error(), Err: a.Err}
	}
	c := *e
	c.Err = a.Err
	return &c
}

func (a Answer) stream(ctx context.Context, onText func(string) error) error {
	if onText == nil {
		return nil
	}
	chunks := a.Chunks
	if chunks == nil && a.Text != "" {
		chunks = strings.SplitAfter(a.Text, " ")
	}
	for _, c := range chunks {
		if ctx.Err() != nil {
			return canceled(ctx)
		}
		if err := onText(c); err != nil {
			return &providers.Error{Kind: providers.Canceled, Model: name, Message: "OnText ended the call", Err: err}
		}
	}
	return nil
}

func (a Answer) response() providers.Response {
	r := providers.Response{Text: a.Text, ToolCalls: cloneCalls(a.ToolCalls), Stop: a.Stop, Usage: a.Usage, Model: a.Model}
	if r.Text == "" {
		r.Text = strings.Join(a.Chunks, "")
	}
	if r.Model == "" {
		r.Model = name
	}
	if r.Usage.Calls == 0 {
		r.Usage.Calls = 1
	}
	switch {
	case r.Stop != "":
	case len(r.ToolCalls) > 0:
		r.Stop = providers.StopTools
	default:
		r.Stop = providers.StopEnd
	}
	return r
}

func (a Answer) clone() Answer {
	a.ToolCalls = cloneCalls(a.ToolCalls)
	a.Chunks = slices.Clone(a.Chunks)
	return a
}

func canceled(ctx context.Context) *providers.Error {
	return &providers.Error{
		Kind: providers.Canceled, Model: name, Message: ctx.Err().Error(),
		Err: errors.Join(ctx.Err(), context.Cause(ctx)),
	}
}

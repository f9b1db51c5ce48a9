package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/providers"
)

const secret = "the-key-of-the-model"

// fault breaks a model in one way; check is one that must see it, and say so.
type fault struct {
	name    string
	check   string
	says    string
	breakIt func(providers.Model) providers.Model
}

type (
	request  = providers.Request
	response = providers.Response
)

// answering changes what a model answers.
func answering(change func(request, *response)) func(providers.Model) providers.Model {
	return func(m providers.Model) providers.Model {
		return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
			resp, err := m.Generate(ctx, req)
			if err == nil {
				change(req, &resp)
			}
			return resp, err
		})
	}
}

// asking changes what a model is asked.
func asking(change func(*request)) func(providers.Model) providers.Model {
	return func(m providers.Model) providers.Model {
		return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
			change(&req)
			return m.Generate(ctx, req)
		})
	}
}

// failing changes a model's errors.
func failing(change func(request, *providers.Error) error) func(providers.Model) providers.Model {
	return func(m providers.Model) providers.Model {
		return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
			resp, err := m.Generate(ctx, req)
			if e, ok := errors.AsType[*providers.Error](err); ok {
				return resp, change(req, e)
			}
			return resp, err
		})
	}
}

// kind makes all errors of one kind.
func kind(k providers.Kind) func(providers.Model) providers.Model {
	return failing(func(_ request, e *providers.Error) error {
		e.Kind = k
		return e
	})
}

// telling changes what OnText gets.
func telling(change func(tell func(string) error) func(string) error) func(providers.Model) providers.Model {
	return asking(func(r *request) {
		if r.OnText != nil {
			r.OnText = change(r.OnText)
		}
	})
}

// twice makes two attempts at everything.
func twice(m providers.Model) providers.Model {
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		if _, err := m.Generate(ctx, req); err != nil && ctx.Err() != nil {
			return response{}, err
		}
		return m.Generate(ctx, req)
	})
}

// deaf ignores its context.
func deaf(m providers.Model) providers.Model {
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		return m.Generate(context.WithoutCancel(ctx), req)
	})
}

// swallow turns errors into empty answers.
func swallow(m providers.Model) providers.Model {
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		resp, err := m.Generate(ctx, req)
		if err != nil {
			return response{Stop: providers.StopUnknown, Model: "fake:model"}, nil //nolint:nilerr // the fault
		}
		return resp, nil
	})
}

// free has errors without usage.
var free = failing(func(_ request, e *providers.Error) error {
	e.Usage = providers.Usage{}
	return e
})

// foreign returns errors of another type.
var foreign = failing(func(_ request, e *providers.Error) error { return errors.New(e.Error()) })

// shared gives all callers what the first one asked for.
func shared(m providers.Model) providers.Model {
	var first request
	var once sync.Once
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		once.Do(func() { first = req })
		return m.Generate(ctx, first)
	})
}

// remembering answers what it was asked first, as it finds it in the caller's slice.
func remembering(m providers.Model) providers.Model {
	var kept []providers.Message
	var answers []response
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		if kept != nil && slices.EqualFunc(kept, req.Messages, func(a, b providers.Message) bool { return a.Text == b.Text }) {
			return answers[0], nil
		}
		resp, err := m.Generate(ctx, req)
		kept, answers = req.Messages, append(answers, resp)
		return resp, err
	})
}

// keeping returns the same tool calls each time.
func keeping(m providers.Model) providers.Model {
	var kept []providers.ToolCall
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		resp, err := m.Generate(ctx, req)
		if kept == nil {
			kept = resp.ToolCalls
		}
		resp.ToolCalls = kept
		return resp, err
	})
}

// late calls OnText after it has returned.
func late(m providers.Model) providers.Model {
	var tell func(string) error
	return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
		if req.OnText != nil {
			tell = req.OnText
		} else if tell != nil {
			_ = tell("late")
		}
		return m.Generate(ctx, req)
	})
}

func dropFirst(tell func(string) error) func(string) error {
	first := true
	return func(chunk string) error {
		if first {
			first = false
			return nil
		}
		return tell(chunk)
	}
}

// order sorts system messages before others.
func order(m providers.Message) string {
	if m.Role == providers.System {
		return "1"
	}
	return "2"
}

var faults = []fault{
	{"text is trimmed", "Answers/Text", "Response.Text is", answering(func(_ request, r *response) { r.Text = r.Text[:4] })},
	{"stop is unknown", "Answers/Text", "Response.Stop is", answering(func(_ request, r *response) { r.Stop = providers.StopUnknown })},
	{"usage is lost", "Answers/Usage", "Usage has Input 0", answering(func(_ request, r *response) { r.Usage = providers.Usage{} })},
	{"cached tokens are counted twice", "Answers/Usage", "Usage has Input 43", answering(func(_ request, r *response) { r.Usage.Input += r.Usage.CacheRead })},
	{"cached tokens are made up", "Answers/Usage", "CacheRead is 99", answering(func(_ request, r *response) { r.Usage.CacheRead = 99 })},
	{"reasoning is made up", "Answers/Usage", "Reasoning is 99", answering(func(_ request, r *response) { r.Usage.Reasoning = 99 })},
	{"calls are made up", "Answers/Usage", "counts what was not used", answering(func(_ request, r *response) { r.Usage.Calls = 2 })},
	{"no model is named", "Answers/Name", `Response.Model is ""`, answering(func(_ request, r *response) { r.Model = "" })},
	{"a model without a provider", "Answers/Name", "want provider:name", answering(func(_ request, r *response) { r.Model = "gpt" })},
	{"a cut answer passes for a whole one", "Answers/LengthStops", `Response.Stop is "end", want "length"`, answering(func(_ request, r *response) { r.Stop = providers.StopEnd })},
	{"a cut answer is an error", "Answers/LengthStops", "want an answer", func(m providers.Model) providers.Model {
		return providers.ModelFunc(func(ctx context.Context, req request) (response, error) {
			resp, err := m.Generate(ctx, req)
			if resp.Stop == providers.StopLength {
				return response{}, errors.New("max_tokens")
			}
			return resp, err
		})
	}},
	{"a refusal passes for an answer", "Answers/Refusal", "Stop of a refusal", answering(func(_ request, r *response) { r.Stop = providers.StopEnd })},
	{"a refusal has other words", "Answers/Refusal", "Text of a refusal", answering(func(_ request, r *response) { r.Text = "refused" })},
	{"only two messages are taken", "Answers/Conversation", "want an answer", asking(func(r *request) {
		if len(r.Messages) > 2 {
			panic("too many messages")
		}
	})},
	{"instructions are demanded", "Answers/NoInstructions", "want an answer", asking(func(r *request) {
		if r.Messages[0].Role != providers.System {
			panic("no instructions")
		}
	})},
	{"the system message is lost", "Requests/Messages", "was not sent", asking(func(r *request) { r.Messages = r.Messages[1:] })},
	{"messages are turned round", "Requests/Messages", "another order", asking(func(r *request) {
		r.Messages = slices.Clone(r.Messages)
		slices.Reverse(r.Messages)
	})},
	{"later system messages are moved to the front", "Requests/SystemBehindOthers", "in front of what was said before it", asking(func(r *request) {
		r.Messages = slices.Clone(r.Messages)
		slices.SortStableFunc(r.Messages, func(a, b providers.Message) int {
			return strings.Compare(order(a), order(b))
		})
	})},
	{"later system messages are lost", "Requests/SystemBehindOthers", "was sent 0 times", asking(func(r *request) {
		later := func(m providers.Message) bool { return order(m) == "1" && m.Text != r.Messages[0].Text }
		r.Messages = slices.DeleteFunc(slices.Clone(r.Messages), later)
	})},
	{"it is sent twice", "Requests/OneAttempt", "2 requests reached the stub", twice},
	{"MaxTokens is lost", "Requests/MaxTokens", `"4321" was not sent`, asking(func(r *request) { r.MaxTokens = 0 })},
	{"the temperature is another", "Requests/Temperature", `"0.25" was not sent`, asking(func(r *request) { r.Temperature = new(1.0) })},
	{"a temperature is made up", "Requests/NoTemperature", "a temperature was sent", asking(func(r *request) { r.Temperature = new(0.0) })},
	{"the schema is lost", "Requests/Output", "was not sent", asking(func(r *request) { r.Output = nil })},
	{"tools are lost", "Requests/Tools", "was not sent", asking(func(r *request) { r.Tools = nil })},
	{"tools lose their schemas", "Requests/Tools", `"place" was not sent`, asking(func(r *request) {
		r.Tools = slices.Clone(r.Tools)
		r.Tools[0].Input = nil
	})},
	{"the second call is lost", "Tools/Calls", "1 tool calls came, want 2", answering(func(_ request, r *response) { r.ToolCalls = r.ToolCalls[:1] })},
	{"calls have no IDs", "Tools/Calls", "want one of its own", answering(func(_ request, r *response) {
		for i := range r.ToolCalls {
			r.ToolCalls[i].ID = ""
		}
	})},
	{"calls share an ID", "Tools/Calls", "want one of its own", answering(func(_ request, r *response) { r.ToolCalls[1].ID = r.ToolCalls[0].ID })},
	{"arguments are a text", "Tools/Calls", "tool call 0 is weather", answering(func(_ request, r *response) { r.ToolCalls[0].Input = json.RawMessage(`"{}"`) })},
	{"calls end the answer", "Tools/Calls", `Response.Stop is "end"`, answering(func(_ request, r *response) { r.Stop = providers.StopEnd })},
	{"calls are lost in a stream", "Tools/StreamedCalls", "0 tool calls came", answering(func(req request, r *response) {
		if req.OnText != nil {
			r.ToolCalls = nil
		}
	})},
	{"calls are told as text", "Tools/StreamedCalls", "OnText got", asking(func(r *request) { _ = r.OnText("calling weather") })},
	{"results are lost", "Tools/RoundTrip", `Response.Text is ""`, asking(func(r *request) { r.Messages = r.Messages[:2] })},
	{"only one result is sent", "Tools/RoundTrip", "was not sent", asking(func(r *request) {
		if n := len(r.Messages); n > 2 {
			r.Messages = r.Messages[:n-1]
		}
	})},
	{"calls are not shown again", "Tools/RoundTrip", `"Oslo" was not sent`, asking(func(r *request) {
		r.Messages = slices.Clone(r.Messages)
		for i := range r.Messages {
			r.Messages[i].ToolCalls = nil
		}
	})},
	{"Extra is not sent back", "Tools/Extra", "was not sent", asking(func(r *request) {
		for _, m := range r.Messages {
			for i := range m.ToolCalls {
				m.ToolCalls[i].Extra = nil
			}
		}
	})},
	{"usage of tool calls is lost", "Tools/Usage", "Usage has Input 0", answering(func(_ request, r *response) { r.Usage = providers.Usage{} })},
	{"the first chunk is lost", "Streams/ExactlyText", "OnText got", telling(dropFirst)},
	{"the text of a stream is lost", "Streams/ExactlyText", "want Response.Text", answering(func(req request, r *response) {
		if req.OnText != nil {
			r.Text = ""
		}
	})},
	{"usage of a stream is lost", "Streams/SameAnswer", "Usage has Input 0", answering(func(req request, r *response) {
		if req.OnText != nil {
			r.Usage = providers.Usage{}
		}
	})},
	{"the name is lost in a stream", "Streams/SameAnswer", "want provider:name", answering(func(_ request, r *response) { r.Model = "" })},
	{"a stream is opened twice", "Streams/OneAttempt", "2 requests", twice},
	{"a cut stream passes for a whole one", "Streams/LengthStops", "Response.Stop is", answering(func(_ request, r *response) { r.Stop = providers.StopEnd })},
	{"the last chunk is lost", "Streams/LengthStops", "OnText got", telling(dropFirst)},
	{"OnText's error is ignored", "Streams/ErrorEndsCall", "no error", telling(func(tell func(string) error) func(string) error {
		return func(chunk string) error {
			_ = tell(chunk)
			return nil
		}
	})},
	{"OnText's error is replaced", "Streams/ErrorEndsCall", "wraps what OnText returned", telling(func(tell func(string) error) func(string) error {
		return func(chunk string) error {
			if tell(chunk) != nil {
				return errors.New("stream ended")
			}
			return nil
		}
	})},
	{"OnText is called on after its error", "Streams/ErrorEndsCall", "OnText was called 2 times", telling(func(tell func(string) error) func(string) error {
		return func(chunk string) error {
			_ = tell(chunk)
			return tell(chunk)
		}
	})},
	{"OnText's error is another kind", "Streams/ErrorEndsCall", "of kind canceled", kind(providers.Transient)},
	{"OnText is called after the end", "Streams/NothingAfterReturn", "after Generate had returned", late},
	{"a broken stream is an answer", "Streams/CutIsNoAnswer", "no error", swallow},
	{"a done context is ignored", "Contexts/CanceledBefore", "no error", deaf},
	{"a passed deadline is ignored", "Contexts/DeadlineBefore", "no error", deaf},
	{"giving up is not heard", "Contexts/CanceledWaiting", "does not return", deaf},
	{"giving up is an empty answer", "Contexts/CanceledWaiting", "no error", swallow},
	{"giving up is transient", "Contexts/CanceledWaiting", "want an error of kind canceled", kind(providers.Transient)},
	{"a deadline is not heard", "Contexts/DeadlineWaiting", "does not return", deaf},
	{"a deadline loses its error", "Contexts/DeadlineWaiting", "wraps the context's", failing(func(_ request, e *providers.Error) error {
		e.Err = nil
		return e
	})},
	{"a stream that stalls is an answer", "Contexts/CanceledInStream", "no error", swallow},
	{"the vendor's time is lost", "Failures/RateLimited", "RetryAfter is 0s", failing(func(_ request, e *providers.Error) error {
		e.RetryAfter = 0
		return e
	})},
	{"milliseconds are taken for seconds", "Failures/RateLimited", "RetryAfter is 7ms", failing(func(_ request, e *providers.Error) error {
		e.RetryAfter /= 1000
		return e
	})},
	{"a rate limit is tried again", "Failures/RateLimited", "2 requests", twice},
	{"a time is made up", "Failures/RateLimitedUntilUnknown", "RetryAfter is 1m0s", failing(func(_ request, e *providers.Error) error {
		e.RetryAfter = time.Minute
		return e
	})},
	{"no money is taken for a rate limit", "Failures/Quota", "of kind permanent", kind(providers.RateLimited)},
	{"a wrong key is tried again", "Failures/Unauthorized", "2 requests", twice},
	{"a key is in the message", "Failures/Unauthorized", "a secret is in the error", failing(func(_ request, e *providers.Error) error {
		e.Message += secret
		return e
	})},
	{"a key is in the cause", "Failures/Unauthorized", "a secret is in the error", failing(func(_ request, e *providers.Error) error {
		e.Err = errors.New("GET /?key=" + secret)
		return e
	})},
	{"too long is not marked", "Failures/TooLong", "TooLong is not set", failing(func(_ request, e *providers.Error) error {
		e.TooLong = false
		return e
	})},
	{"too long is a rate limit", "Failures/TooLong", "of kind invalid", kind(providers.RateLimited)},
	{"all is too long", "Failures/BadRequest", "TooLong is set", failing(func(_ request, e *providers.Error) error {
		e.TooLong = true
		return e
	})},
	{"the prompt is in the error", "Failures/BadRequest", "holds the prompt", failing(func(r request, e *providers.Error) error {
		e.Message += strings.ToValidUTF8(r.Messages[1].Text, "")
		return e
	})},
	{"an error of another type", "Failures/Overloaded", "want a *providers.Error", foreign},
	{"overload is for ever", "Failures/Overloaded", "of kind transient", kind(providers.Permanent)},
	{"a vendor's fault is the request's", "Failures/Broken", "of kind transient", kind(providers.Invalid)},
	{"half an answer is one", "Failures/Cut", "no error", swallow},
	{"no answer is one", "Failures/Empty", "no error", swallow},
	{"the usage of an empty answer is lost", "Failures/EmptyIsPaid", "Usage has Input 0", free},
	{"the usage of half an answer is lost", "Failures/CutIsPaid", "the answer was paid for", free},
	{"an answer that cannot be read is free", "Failures/GarbledIsPaid", "the answer was paid for", free},
	{"a usage below zero", "Failures/GarbledIsPaid", "the answer was paid for", failing(func(_ request, e *providers.Error) error {
		e.Usage.Output = -1
		return e
	})},
	{"a page is tried again", "Failures/PageIsPermanent", "of kind permanent", kind(providers.Transient)},
	{"a page is not named", "Failures/PageIsPermanent", "does not say that it is text/html", failing(func(_ request, e *providers.Error) error {
		e.Message = "read answer: invalid character '<'"
		return e
	})},
	{"a page is charged", "Failures/PageIsPermanent", "nobody was paid", failing(func(_ request, e *providers.Error) error {
		e.Usage.Calls = 1
		return e
	})},
	{"an error is told as text", "Failures/WhileStreaming", "OnText got", asking(func(r *request) { _ = r.OnText("Overloaded") })},
	{"a panic", "Failures/Broken", "want a *providers.Error", func(providers.Model) providers.Model {
		return providers.ModelFunc(func(context.Context, request) (response, error) { panic("nil pointer") })
	}},
	{"the request is changed", "Ownership/ChangesNothing", "has changed the request", asking(func(r *request) { r.Messages[0].Text += "." })},
	{"what is behind the messages is changed", "Ownership/ChangesNothing", "has changed the request", asking(func(r *request) {
		r.Messages = append(r.Messages, providers.Message{Role: providers.User, Text: "Think step by step."})
	})},
	{"the temperature is changed", "Ownership/ChangesNothing", "has changed the request", asking(func(r *request) { *r.Temperature = 1 })},
	{"the caller's messages are kept", "Ownership/KeepsNothing", "Response.Text is", remembering},
	{"the caller's answer is kept", "Ownership/ResponseIsTheCallers", "tool call 0 is", keeping},
	{"callers get each other's answers", "Concurrency/OwnAnswers", "the answer to a call beside others is", shared},
	{"callers get each other's streams", "Concurrency/OwnStreams", "the answer to a call beside others is", shared},
}

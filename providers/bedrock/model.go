package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/convene-go/convene/providers"
)

// model is one model of Bedrock. All fields are set once.
type model struct {
	name    string // provider:model
	dialect dialect
	timeout time.Duration
	wire    wire
}

// dialect is one way of asking models and of reading what they say.
type dialect interface {
	// operations are the names of the operation and of the one that streams.
	operations() (whole, stream string)
	// plan says how req's tools and schema are put to the model.
	plan(req providers.Request) plan
	// request returns the body that asks req as p says.
	request(req providers.Request, p plan) ([]byte, error)
	// answer reads a whole answer into r, as far as it can be read.
	answer(r *reply, body []byte) error
	// event adds an event of a stream to r, and returns the text that it brought.
	event(r *reply, kind string, data []byte) (string, error)
}

// reply is what a model said.
type reply struct {
	text     strings.Builder
	calls    []providers.ToolCall // their IDs may be missing
	stop     providers.Stop       // "": it did not say
	usage    providers.Usage
	streamed bool // text has been told
}

// stopOf translates why a model stopped, in both dialects.
func stopOf(reason string) providers.Stop {
	switch reason {
	case "":
		return ""
	case "end_turn", "stop_sequence":
		return providers.StopEnd
	case "tool_use":
		return providers.StopTools
	case "max_tokens", "model_context_window_exceeded":
		return providers.StopLength
	case "refusal", "content_filtered", "guardrail_intervened":
		return providers.StopFilter
	}
	return providers.StopUnknown
}

var (
	errUnusable = errors.New("the answer has neither text nor tool calls")
	errCallback = errors.New("OnText ended the call")
)

// String returns the model's name. All else is kept out of logs.
func (m *model) String() string { return m.name }

// GoString is String, for %#v.
func (m *model) GoString() string { return m.name }

// Generate makes one attempt.
func (m *model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if err := checkRequest(req); err != nil {
		e := &providers.Error{Kind: providers.Invalid, Message: err.Error(), Err: err}
		return providers.Response{}, m.fault(req, aws.Credentials{}, e)
	}
	attempt, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	ex := &exchange{}
	p := m.dialect.plan(req)
	r, err := m.ask(attempt, ex, req, p)
	if err == nil {
		var resp providers.Response
		if resp, err = m.response(r, req, p); err == nil {
			return resp, nil
		}
	}
	return providers.Response{}, m.fault(req, ex.keys, m.classify(ctx, attempt, ex, r, err))
}

// ask sends the request and reads the answer, of which it returns what there is
// beside an error too.
func (m *model) ask(ctx context.Context, ex *exchange, req providers.Request, p plan) (*reply, error) {
	r := new(reply)
	body, err := m.dialect.request(req, p)
	if err != nil {
		return r, fmt.Errorf("write request: %w", err)
	}
	operation, stream := m.dialect.operations()
	streams := req.OnText != nil && len(p.tools) == 0
	if streams {
		operation = stream
	}
	err = m.wire.post(ctx, ex, operation, body, func() error {
		switch {
		case ex.status < 200 || ex.status > 299:
			return readRefusal(ex)
		case streams && !strings.Contains(ex.header.Get("Content-Type"), "json"):
			r.streamed = true
			return readStream(ex.body, m.dialect, r, req.OnText)
		}
		data, err := io.ReadAll(ex.body)
		if err != nil {
			return err
		}
		return m.dialect.answer(r, data)
	})
	return r, err
}

// response makes a Response of what the model said.
func (m *model) response(r *reply, req providers.Request, p plan) (providers.Response, error) {
	resp := providers.Response{Text: r.text.String(), Stop: r.stop, Usage: r.usage, Model: m.name}
	var answer json.RawMessage
	for i, c := range r.calls {
		if p.answer != "" && c.Name == p.answer {
			answer = c.Input
			continue
		}
		if c.ID == "" { // unique in the conversation, of which this is the next turn
			c.ID = fmt.Sprintf("call_%d_%d", len(req.Messages), i)
		}
		resp.ToolCalls = append(resp.ToolCalls, c)
	}
	if answer != nil && len(resp.ToolCalls) == 0 {
		resp.Text = string(answer) // beside other calls it is none yet
	}
	switch {
	case resp.Stop == providers.StopFilter:
		resp.ToolCalls = nil
	case resp.Stop == providers.StopLength:
	case len(resp.ToolCalls) > 0:
		resp.Stop = providers.StopTools
	case resp.Stop == providers.StopTools:
		resp.Stop = providers.StopEnd
	case resp.Stop == "":
		resp.Stop = providers.StopUnknown
	}
	cutOff := resp.Stop == providers.StopLength || resp.Stop == providers.StopFilter
	if resp.Text == "" && len(resp.ToolCalls) == 0 && !cutOff {
		return providers.Response{}, errUnusable
	}
	if req.OnText != nil && !r.streamed && resp.Text != "" && resp.Stop != providers.StopFilter {
		return resp, tell(req.OnText, resp.Text)
	}
	return resp, nil
}

// tell passes text to the caller's OnText.
func tell(onText func(string) error, text string) error {
	if err := onText(text); err != nil {
		return fmt.Errorf("%w: %w", errCallback, err)
	}
	return nil
}

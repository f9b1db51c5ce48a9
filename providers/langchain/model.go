package langchain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
)

// model is one model of one vendor. All fields are set once.
type model struct {
	spec    providers.Spec
	vendor  vendor
	claude  claudeModel // of Claude alone
	timeout time.Duration
	redact  redact.Redactor
	llm     llms.Model
}

var (
	errUnusable = errors.New("the answer has neither text nor tool calls")
	errBroken   = errors.New("the vendor broke off the answer")
)

func (m *model) isClaude() bool { return m.vendor.dialect == claude{} }

// Generate makes one attempt.
func (m *model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if err := m.checkRequest(req); err != nil {
		return providers.Response{}, m.fault(req, &providers.Error{Kind: providers.Invalid, Message: err.Error(), Err: err})
	}
	attempt, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	ex := newExchange(m, req)
	answer, err := m.call(context.WithValue(attempt, exchangeKey{}, ex), ex)
	if err == nil {
		var resp providers.Response
		if resp, err = m.answer(answer, ex); err == nil {
			return resp, nil
		}
	}
	return providers.Response{}, m.fault(req, m.classify(ctx, attempt, ex, err))
}

// call asks langchaingo, which panics at some answers.
func (m *model) call(ctx context.Context, ex *exchange) (answer *llms.ContentResponse, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if ex.inCallback {
			panic(p) // the caller's own
		}
		answer, err = nil, fmt.Errorf("the answer cannot be read: %v", p)
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.llm.GenerateContent(ctx, standIn, options(ex.req)...)
}

// answer puts together what langchaingo read and what the wire has beside it.
func (m *model) answer(answer *llms.ContentResponse, ex *exchange) (providers.Response, error) {
	switch {
	case ex.wire.err != nil:
		return providers.Response{}, fmt.Errorf("the answer cannot be read: %w", ex.wire.err)
	case ex.wire.fault.present():
		return providers.Response{}, errVendor
	case len(answer.Choices) == 0 || answer.Choices[0] == nil:
		return providers.Response{}, errUnusable
	}
	choice := answer.Choices[0]
	resp := providers.Response{Text: choice.Content, ToolCalls: ex.wire.calls, Usage: ex.wire.usage, Model: m.spec.String()}
	ex.takeAnswer(&resp)
	resp.Stop = stopOf(choice.StopReason, resp)
	if ex.wire.refusal != "" {
		resp.Text, resp.ToolCalls, resp.Stop = ex.wire.refusal, nil, providers.StopFilter
	}
	empty := resp.Text == "" && len(resp.ToolCalls) == 0
	switch {
	case empty && resp.Stop != providers.StopLength && resp.Stop != providers.StopFilter:
		return providers.Response{}, errUnusable
	case strings.EqualFold(choice.StopReason, "network_error"): // GLM's own
		return providers.Response{}, errBroken
	case ex.req.OnText == nil, ex.streamed, resp.Text == "", ex.wire.refusal != "":
		return resp, nil
	}
	return resp, ex.tell(resp.Text)
}

// takeAnswer makes the text of an answer that came in another form: as the input
// of a tool, or with null where the schema has nothing.
func (ex *exchange) takeAnswer(resp *providers.Response) {
	if ex.typed.widened {
		resp.Text = withoutNulls(ex.req.Output, resp.Text)
	}
	isAnswer := func(c providers.ToolCall) bool { return ex.typed.tool != "" && c.Name == ex.typed.tool }
	at := slices.IndexFunc(resp.ToolCalls, isAnswer)
	if at < 0 {
		return
	}
	answer := string(resp.ToolCalls[at].Input)
	if resp.ToolCalls = slices.DeleteFunc(resp.ToolCalls, isAnswer); len(resp.ToolCalls) == 0 {
		resp.Text, resp.ToolCalls = answer, nil // otherwise it was given too early
	}
}

// stopOf translates a finish reason of any vendor. Servers say stop with tool
// calls too.
func stopOf(reason string, resp providers.Response) providers.Stop {
	switch reason = strings.ToLower(reason); {
	case reason == "length", reason == "max_tokens", reason == "model_context_window_exceeded":
		return providers.StopLength
	case strings.HasPrefix(reason, "content_filter"), filters[reason]:
		return providers.StopFilter
	case len(resp.ToolCalls) > 0:
		return providers.StopTools
	case reason == "stop", reason == "end_turn", reason == "stop_sequence":
		return providers.StopEnd
	case reason == "tool_use" && resp.Text != "": // the answer was a tool's input
		return providers.StopEnd
	}
	return providers.StopUnknown
}

// filters are the words of Anthropic, GLM and Gemini for a refusal.
var filters = map[string]bool{
	"refusal": true, "sensitive": true,
	"safety": true, "recitation": true, "blocklist": true, "prohibited_content": true, "spii": true,
}

// fault fills in what every error of m says, without secrets.
func (m *model) fault(req providers.Request, e *providers.Error) *providers.Error {
	e.Model = m.redact.Clean(m.spec.String())
	e.Message = m.speakable(e.Message, req)
	e.Err = causeError{text: m.speakable(e.Err.Error(), req), err: e.Err}
	return e
}

// speakable returns text without secrets and prompts, on one line, and not long.
func (m *model) speakable(text string, req providers.Request) string {
	return short(m.redact.Clean(beginning(withoutPrompt(text, req))))
}
